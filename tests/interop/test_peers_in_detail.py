"""A live peer, looked at closely: what travels in headers, what is cut up, what goes wrong."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Awaitable

import pytest

from examples.interop.peer import service
from subtrie._core.control_headers import seconds_of
from subtrie.connector import AckTimeout, HTTPError, Response
from tests.interop.peer_process import EXACT, HIS, OURS, URL, PeerService, call, joined


def relayed(url: str, method: str = "GET") -> dict[str, str]:
    """The arguments by which the peer is asked to ask."""
    return {"u": url, "m": method}


async def status_of(answer: Awaitable[Response]) -> int:
    """The status, whether it is an error or not."""
    try:
        return (await answer).status
    except HTTPError as error:
        return error.status


async def test_what_belongs_to_the_whole_chain_travels_through_the_peer(server):
    us, seen = joined(server, version=5), []
    us.endpoint("GET", "/seen")(lambda request: seen.append(request))
    chain = {
        "Microbus-Baggage-Who": "customer 7",
        "X-Forwarded-For": "1.2.3.4",
        "X-Forwarded-Proto": "https",
        "Accept-Language": "de, en;q=0.5",
    }
    async with PeerService(server.url, "--version", "9") as his, us:
        params = relayed(f"https://{OURS}/seen")
        headers = {**chain, "X-Private": "ours alone"}
        answer = await us.request("GET", f"{URL}/relay", params=params, headers=headers, timeout=10)
    (request,) = seen
    got = request.headers
    assert {name: got.get(name) for name in chain} == chain
    assert "X-Private" not in got
    assert (request.source, got["Microbus-From-Id"]) == (HIS, his.id)
    assert got["Microbus-From-Version"] == answer.headers["Microbus-From-Version"] == "9"
    assert got["Microbus-Call-Depth"] == "2"
    assert 5 < seconds_of(got["Microbus-Time-Budget"]) < 10
    assert not request.attested


async def test_a_chain_ends_at_its_64th_call(server):
    us = joined(server)
    depths = []

    @us.endpoint("GET", "/deeper")
    async def deeper(request):
        depths.append(int(request.headers["Microbus-Call-Depth"]))
        url = f"https://{OURS}/deeper"
        return (await us.request("GET", f"{URL}/relay", params=relayed(url))).body

    async with PeerService(server.url), us:
        status = await status_of(us.request("GET", f"https://{OURS}/deeper", timeout=120))
    assert status == 508 or not EXACT
    assert depths == list(range(1, 64, 2))  # every other call is the peer's


async def test_every_method_and_path_arrives_as_it_was_sent(server):
    us, seen = joined(server), []
    us.endpoint("ANY", ":0/seen")(lambda request: seen.append((request.method, request.url)))
    async with PeerService(server.url), us:
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "PATCH"):
            answer = await us.request(method, f"{URL}:1234/any?a=1&b=%26")
            assert answer.status == 200
            assert not EXACT or answer.json()["method"] == method  # HEAD has a body here
        for path, told in (
            ("a//b", "a//b"),
            ("a/", "a/"),
            ("%C3%BC/%2a/%3E", "ü/*/>"),
            ("a.b_c~d/%25", "a.b_c~d/%"),
            ("%20", " "),
        ):
            assert told in (await us.request("GET", f"{URL}/files/{path}")).body.decode()
        assert (await us.request("GET", f"{URL}/")).status == 200
        for query in ("?q=ü", "?q=%C3%BC&r=%zz&&=&s", "?a=1;b=[2]"):  # as their caller wrote them
            assert (await us.request("GET", f"{URL}/any{query}")).status == 200
            params = relayed(f"https://{OURS}:81/seen{query}", "PUT")
            await us.request("GET", f"{URL}/relay", params=params)
            assert seen.pop() == ("PUT", f"https://{OURS}:81/seen{query}")
        with pytest.raises(AckTimeout):
            await us.request("GET", f"{URL}:666/any")  # :0 is any port but the trust root's
        with pytest.raises(AckTimeout):
            await us.request("POST", f"{URL}:443/mint")


async def test_the_peer_sends_methods_and_paths_as_they_are(server):
    us = joined(server)
    service(us)
    async with us:
        for method in ("HEAD", "PATCH"):
            (told,) = await call(server.url, method, f"https://{OURS}:1234/any?a=1")
            assert json.loads(told["body"])["method"] == method
        (told,) = await call(server.url, "GET", f"https://{OURS}/any?q=ü&r=%zz")
        assert json.loads(told["body"])["url"] == f"https://{OURS}:443/any?q=ü&r=%zz"
        (told,) = await call(server.url, "GET", f"https://{OURS}/files/a//%C3%BC/%2a/")
        assert told["body"] == "a//ü/*/"
        assert [a["status"] for a in await call(server.url, "GET", f"https://{OURS}:666/any")] == [
            404
        ]


async def test_bytes_that_are_not_text_in_both_directions(server, tmp_path):
    us = joined(server)
    service(us)
    body = os.urandom(300_001)
    (tmp_path / "body").write_bytes(body)
    async with us:
        (told,) = await call(server.url, "POST", f"https://{OURS}/echo", f"@{tmp_path / 'body'}")
        assert base64.b64decode(told["body_b64"]) == body
        (empty,) = await call(server.url, "POST", f"https://{OURS}/echo")
        assert (empty["status"], empty["body"]) == (200, "")


async def test_errors_keep_status_and_properties_through_the_peer(server):
    us = joined(server)

    @us.endpoint("GET", "/no")
    async def no():
        raise HTTPError("not that many", status=409, properties={"most": 7, "of": ["tea"]})

    @us.endpoint("GET", "/teapot")
    async def teapot():
        return Response(418, b"a normal answer")

    async with PeerService(server.url), us:
        with pytest.raises(HTTPError) as failed:
            await us.request("GET", f"{URL}/fail")
        assert failed.value.status == 418
        if EXACT:
            assert failed.value.message == "short and stout"
            assert failed.value.properties == {"pot": "small"}
            with pytest.raises(HTTPError) as failed:
                await us.request("GET", f"{URL}/relay", params=relayed(f"https://{OURS}/no"))
            assert (failed.value.status, failed.value.message) == (409, "not that many")
            assert failed.value.properties == {"most": 7, "of": ["tea"]}
            with pytest.raises(HTTPError, match="ack timeout") as failed:
                await us.request("GET", f"{URL}/relay", params=relayed("https://nobody.example/"))
            assert failed.value.status == 404
            params = relayed(f"https://{OURS}/teapot")
            answer = await us.request("GET", f"{URL}/relay", params=params)
            assert (answer.status, answer.body) == (418, b"a normal answer")
        (told,) = await call(server.url, "GET", f"https://{OURS}/no")
        assert told["status"] == 409
        assert "not that many" in told["error"]


async def test_time_runs_out_where_it_should(server):
    us = joined(server)
    service(us)
    async with PeerService(server.url), us:
        with pytest.raises(HTTPError) as late:  # not above one round trip: nothing is handled
            await us.request("GET", f"{URL}/slow?ms=1", timeout=0.02)
        assert late.value.status == 408
        with pytest.raises(HTTPError) as late:
            await us.request("GET", f"{URL}/slow?ms=5000", timeout=0.7)
        assert late.value.status in (408, 500)
        assert (await us.request("GET", f"{URL}/slow?ms=600")).status == 200
        (told,) = await call(server.url, "--timeout", "5s", "GET", f"https://{OURS}/slow?ms=600")
        assert told["body"] == "done"


async def test_a_multicast_reaches_every_queue_and_everyone_without_one(server):
    us, other = joined(server), joined(server, "third.example")
    heard: list[tuple[str, bytes]] = []

    def hears(connector, name, **queue):
        @connector.endpoint("POST", f"//{HIS}:417/on-event", **queue)
        async def on_event(request):
            heard.append((name, request.body))

    hears(us, "us")
    hears(other, "without", queue=None)
    replica = joined(server, "third.example")
    hears(replica, "without as well", queue=None)
    body = b"0123456789abcdef" * 40_000  # in three fragments
    async with PeerService(server.url) as his, us, other, replica:
        for _ in range(2):  # the second time the responders are known
            heard.clear()
            answers = [a async for a in us.publish("POST", f"{URL}:417/on-event", body=body)]
            assert sorted(a.source for a in answers) == [
                HIS,
                OURS,
                "third.example",
                "third.example",
            ]
            assert not any(a.error for a in answers)
            assert sorted(heard) == [("us", body), ("without", body), ("without as well", body)]
            await his.event(f"EVENT {OURS} {body.decode()}")
            his.events.clear()
        before = heard.copy()
        fired = await us.request("POST", f"{URL}/fire", body=body)
        assert fired.status == 200
        assert not EXACT or fired.json() == {"answers": 4}
        assert sorted(heard) == sorted(before * 2)  # from us, then from the peer
        await his.event(f"EVENT {HIS} {body.decode()}")


async def test_the_peer_multicasts_and_gets_every_answer(server):
    us, other = joined(server, locality="eu-1"), joined(server, locality="us-1")
    for each, name in ((us, "one"), (other, "two")):

        @each.endpoint("POST", ":417/on-event", queue=None)
        async def on_event(request, name=name):
            if name == "two":
                raise HTTPError("two cannot", status=409)
            return f"{name} heard {len(request.body)} bytes from {request.source}"

    big = "x" * 400_000
    async with us, other:
        url = f"https://{OURS}:417/on-event"
        answers = await call(server.url, "--multicast", "POST", url, big[:9])
        assert sorted(a["status"] for a in answers) == [200, 409]
        (good,) = [a for a in answers if a["status"] == 200]
        assert good["body"] == f"one heard 9 bytes from {HIS}"
        assert good["headers"]["Microbus-Locality"] == ["eu-1"]
        assert "Microbus-Queue" not in good["headers"]
        pings = await call(server.url, "--multicast", "GET", "https://all:888/ping")
        assert len(pings) == 3  # the caller receives its own too
        (pong,) = await call(server.url, "GET", f"https://{us.id}.all:888/ping")
        assert pong["headers"]["Microbus-From-Id"] == [us.id]
        assert await call(server.url, "--multicast", "GET", f"https://{OURS}/nothing") == []


async def test_the_control_plane_of_the_peer(server):
    async with PeerService(server.url) as his, joined(server) as us:
        pong = await us.request("GET", f"https://{his.id}.all:888/ping")
        assert (pong.json(), pong.id) == ({"pong": 0}, his.id)
        assert pong.queue is None
        described = (await us.request("GET", f"{URL}:888/openapi.json")).json()
        assert described["openapi"].startswith("3.")
        assert any("/hello/{name}" in path for path in described["paths"])
        refreshed = await us.request("POST", f"{URL}:888/config-refresh")
        assert refreshed.json() == {}
        answers = [a async for a in us.publish("GET", f"{URL}:888/metrics")]
        assert [a.error.status if a.error else a.status for a in answers] in ([200], [501])


async def test_localities_written_by_the_caller(server):
    us = joined(server, locality="us-west-b-1")
    service(us)
    async with PeerService(server.url, "--locality", "eu-central-a") as his, us:
        for slot in ("loc-eu", "loc-eu-central", "loc-eu-central-a", his.id):
            answer = await us.request("GET", f"https://{slot}.{HIS}/hello/x")
            assert (answer.id, answer.locality) == (his.id, "eu-central-a")
        with pytest.raises(AckTimeout):
            await us.request("GET", f"https://loc-us.{HIS}/hello/x")
        for slot in ("loc-us", "loc-us-west-b", us.id):
            (told,) = await call(server.url, "GET", f"https://{slot}.{OURS}/hello/x")
            assert told["headers"]["Microbus-Locality"] == ["us-west-b-1"]
        (told,) = await call(server.url, "GET", f"https://loc-eu.{OURS}/hello/x")
        assert told["status"] == 404


async def test_the_peer_finds_the_nearest_of_us(server):
    near, far = joined(server, locality="us-west-b-2"), joined(server, locality="eu-1")
    for each in (near, far):
        each.endpoint("GET", "/where")(lambda each=each: each.locality)
    # A caller without a locality, so that it does not route to near replicas itself.
    asking = joined(server, "asking.example")
    async with PeerService(server.url, "--locality", "us-west-b-1"), near, far, asking:
        url = f"https://{OURS}/where"
        where = [
            (await asking.request("GET", f"{URL}/relay", params=relayed(url))).body.decode()
            for _ in range(40)
        ]
        assert set(where[-10:]) == {"us-west-b-2"}
        await near.shutdown()
        (left,) = {
            (await asking.request("GET", f"{URL}/relay", params=relayed(url))).body for _ in "ab"
        }
        assert left == b"eu-1"


async def test_much_at_once(server):
    us = joined(server)
    service(us)

    async def echo(n: int) -> bool:
        body = bytes([n]) * (300_000 + n)
        return (await us.request("POST", f"{URL}/echo", body=body)).body == body

    async def relay(n: int) -> bool:
        params = relayed(f"https://{OURS}/big?n={n}")
        return len((await us.request("GET", f"{URL}/relay", params=params)).body) == n

    async with PeerService(server.url), us:
        done = await asyncio.gather(
            *(echo(n) for n in range(6)), *(relay(n) for n in range(40)), relay(500_000)
        )
        assert all(done)
