"""A live peer, in both directions: our own example, or any program with the same protocol.

``SUBTRIE_INTEROP_PEER`` names another program, such as one built on Go Microbus.
"""

from __future__ import annotations

import json
import os

import pytest

from examples.interop.peer import service
from subtrie.connector import AckTimeout, HTTPError
from tests.interop.peer_process import HIS, OURS, URL, PeerService, call, joined


async def test_we_call_the_peer(server):
    ours = joined(server)
    heard = []

    @ours.endpoint("POST", f"//{HIS}:417/on-event")
    async def overheard(request):
        heard.append((request.source, request.body))

    ours.endpoint("GET", "/back")(lambda request: f"back to {request.source}")
    async with PeerService(server.url) as his, ours:
        hello = await ours.request("GET", f"{URL}/hello/a%20b")
        assert b"a b" in hello.body
        assert (hello.source, hello.id, hello.queue) == (HIS, his.id, HIS)
        for size in (0, 10, 300_000, 1_000_000):
            body = os.urandom(size)
            headers = {"Content-Type": "application/octet-stream"}
            assert (
                await ours.request("POST", f"{URL}/echo", body=body, headers=headers)
            ).body == body
        for port in ("1234", "80", "443"):
            for method in ("GET", "PUT", "DELETE", "PATCH"):
                assert (await ours.request(method, f"{URL}:{port}/any")).status == 200
        for path in ("a/b/c.txt", "", "d%2fe"):
            answer = await ours.request("GET", f"{URL}/files/{path}")
            assert path.replace("%2f", "/").encode() in answer.body
        assert (await ours.request("GET", URL)).status == 200
        assert len((await ours.request("GET", f"{URL}/big", params={"n": 500_001})).body) == 500_001
        with pytest.raises(HTTPError) as failed:
            await ours.request("GET", f"{URL}/fail")
        assert failed.value.status == 418
        assert (await ours.request("GET", f"{URL}/slow?ms=10")).status == 200
        with pytest.raises(HTTPError):
            await ours.request("GET", f"{URL}/slow?ms=3000", timeout=0.6)
        assert (await ours.request("POST", f"{URL}:666/mint")).status == 200
        back = await ours.request("GET", f"{URL}/relay", params={"u": f"https://{OURS}/back"})
        assert back.body == f"back to {HIS}".encode()
        pinned = await ours.request("GET", f"https://{his.id}.{HIS}/hello/x")
        assert pinned.id == his.id
        assert (await ours.request("POST", f"{URL}/fire", body=b"news")).status == 200
        await his.event(f"EVENT {HIS} news")
        assert heard == [(HIS, b"news")]
        answers = [a async for a in ours.publish("POST", f"{URL}:417/on-event", body=b"ours")]
        assert {a.source for a in answers} == {HIS, OURS}
        await his.event(f"EVENT {OURS} ours")
        pings = [a async for a in ours.publish("GET", "https://all:888/ping")]
        assert {a.source for a in pings} == {HIS, OURS}
        for method, url in (("GET", f"{URL}/nothing"), ("POST", f"{URL}/hello/x")):
            with pytest.raises(AckTimeout):
                await ours.request(method, url)


async def test_the_peer_calls_us(server, tmp_path):
    ours = joined(server, version=5)
    service(ours)
    big = tmp_path / "big"
    big.write_bytes(b"x" * 400_000)
    url = f"https://{OURS}"
    async with ours:

        async def status(*arguments):
            return [answer["status"] for answer in await call(server.url, *arguments)]

        (hello,) = await call(server.url, "GET", f"{url}/hello/a%20b")
        assert (hello["status"], json.loads(hello["body"])["hello"]) == (200, "a b")
        assert json.loads(hello["body"])["from"] == HIS
        assert ours.id in json.dumps(hello["headers"])
        (echo,) = await call(server.url, "POST", f"{url}/echo", f"@{big}")
        assert echo["body"] == "x" * 400_000
        (large,) = await call(server.url, "GET", f"{url}/big?n=300000")
        assert len(large["body"]) == 300_000
        (files,) = await call(server.url, "GET", f"{url}/files/a/b/c.txt")
        assert files["body"] == "a/b/c.txt"
        (fail,) = await call(server.url, "GET", f"{url}/fail")
        assert fail["status"] == 418
        assert "short and stout" in fail["error"]
        assert await status("PUT", f"{url}:1234/any") == [200]
        assert await status("POST", f"{url}:666/mint") == [200]
        assert await status("GET", f"{url}") == [200]
        assert await status("GET", f"{url}/nothing") == [404]
        assert await status("--timeout", "600ms", "GET", f"{url}/slow?ms=3000") in ([408], [500])
        assert await status("--timeout", "20ms", "GET", f"{url}/slow?ms=1") == [408]
        pings = await call(server.url, "--multicast", "GET", f"https://{OURS}:888/ping")
        assert [json.loads(ping["body"]) for ping in pings] == [{"pong": 0}]
        lying = ("--header", "Microbus-From-Host: victim.example")
        (hello,) = await call(server.url, *lying, "GET", f"{url}/hello/x")
        assert json.loads(hello["body"])["from"] == HIS
        (described,) = await call(server.url, "GET", f"{url}:888/openapi.json")
        assert "/hello/{name}" in described["body"]


async def test_two_replicas_one_of_each_kind_share_the_work(server):
    mixed = joined(server, HIS)
    service(mixed)
    caller = joined(server)
    async with PeerService(server.url) as his, mixed, caller:
        answers = [await caller.request("GET", f"{URL}/hello/x") for _ in range(60)]
        assert {answer.id for answer in answers} == {his.id, mixed.id}


async def test_the_nearest_replica_is_found(server):
    near = joined(server, locality="us-west-b-1")
    far = joined(server, HIS, locality="eu-1")
    service(far)
    async with PeerService(server.url, "--locality", "us-west-b-2") as his, far, near:
        answers = [await near.request("GET", f"{URL}/hello/x") for _ in range(40)]
        assert {answer.id for answer in answers[-10:]} == {his.id}
        assert answers[-1].locality == "us-west-b-2"
