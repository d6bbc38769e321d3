"""Limits of subjects, heads and single headers: what exceeds them is answered."""

from __future__ import annotations

import asyncio

import nats
import pytest

from patience import settled, until
from subtrie import AddressError
from subtrie._core.control_headers import nanoseconds_of
from subtrie.connector import HTTPError, Request, Response, _server
from subtrie.connector._codec import read_response

HOST, URL = "shop.example", "https://shop.example"
LONG = "y" * 70_000

pytestmark = pytest.mark.requirement("A37")


async def test_a_request_over_the_limits_fails_at_its_caller(make):
    shop, web = make(HOST), make("web.example")
    seen = []

    @shop.endpoint("GET", "/order/{id...}")
    async def order(request: Request) -> None:
        seen.append(request.url)

    async with shop, web:
        for path in ("x" * 5_000, "x/" * 70):
            with pytest.raises(AddressError) as refused:
                await web.request("GET", f"{URL}/order/{path}")
            assert refused.value.status == 414
        for more in (
            {"headers": {"X": LONG}},
            {"params": {"q": LONG}},
            {"headers": {f"X-{n}": "y" * 1000 for n in range(66)}},
            {"headers": {"X": "é" * 32_000}},
        ):
            with pytest.raises(HTTPError) as large:
                await web.request("GET", f"{URL}/order/1", **more)
            assert large.value.status == 431
        assert seen == []
        await web.request("GET", f"{URL}/order/1", headers={"X": "y" * 60_000})
        assert len(seen) == 1


async def test_the_longest_head_of_a_request_leaves_room_for_the_control_headers(make):
    shop, web = make(HOST), make("web.example")
    shop.endpoint("GET", "/order")(lambda: None)
    free = 65_536 - 2048 - len(f"{URL}:443/order") - len("X: \r\n")
    async with shop, web:
        await web.request("GET", f"{URL}/order", headers={"X": "y" * free})
        with pytest.raises(HTTPError, match="exceeds 63488 bytes") as large:
            await web.request("GET", f"{URL}/order", headers={"X": "y" * (free + 1)})
        assert large.value.status == 431


async def test_a_response_whose_head_is_too_long_is_an_error(make):
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("GET", "/long")
    async def long() -> Response:
        return Response(200, headers={"X": LONG})

    async with shop, web:
        with pytest.raises(HTTPError) as large:
            await web.request("GET", f"{URL}/long")
    assert large.value.status == 500


async def test_forwarded_headers_count(make):
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("GET", "/first")
    async def first() -> int:
        try:
            await shop.request("GET", f"{URL}/second", headers={"X": "y" * 40_000})
        except HTTPError as error:
            return error.status
        return 0

    shop.endpoint("GET", "/second")(lambda: None)
    async with shop, web:
        baggage = {"Microbus-Baggage-X": "y" * 40_000}
        assert (await web.request("GET", f"{URL}/first", headers=baggage)).json() == 431


class Stranger:
    """A program that publishes any bytes, and collects what it is answered."""

    def __init__(self, url, plane):
        self.url, self.plane, self.answers = url, plane, []

    async def __aenter__(self):
        self.client = await nats.connect(self.url)

        async def note(message):
            self.answers.append(read_response(message.data))

        await self.client.subscribe(f"{self.plane}.reply._.*.web_example.id-stranger", cb=note)
        await settled(self.client)
        return self

    async def __aexit__(self, *_):
        await self.client.close()

    async def send(self, rest, *headers, subject=""):
        subject = subject or f"{self.plane}.safe.443.web_example.shop_example._.GET.{rest}"
        lines = [f"GET {URL}:443/{rest} HTTP/1.1", f"Host: {HOST}:443", *headers]
        await self.client.publish(subject, "\r\n".join([*lines, "", ""]).encode())
        for _ in range(100):
            if len(self.answers) == 2:
                break
            await asyncio.sleep(0.01)
        found = [answer.status for answer in self.answers]
        self.answers.clear()
        return found


async def test_a_received_request_over_the_limits_is_answered(make_nats, plane):
    shop, seen = make_nats(HOST), []
    shop.endpoint("GET", "/order/{id...}")(lambda request: seen.append(request.url))
    to = ("Microbus-From-Id: id-stranger", "Microbus-Msg-Id: AAAAAAAA", "Microbus-Op-Code: Req")
    async with shop, Stranger(shop._transport.broker, plane) as stranger:
        assert await stranger.send("order.1", *to) == [202, 200]
        assert await stranger.send("order.1", *to, f"X: {LONG}") == [202, 431]
        assert await stranger.send("order.1", f"A: {LONG}", *to) == [202, 431]
        assert await stranger.send("order." + "x" * 1500, *to) == [202, 414]
        assert await stranger.send("order" + ".x" * 70, *to) == [202, 414]
        long_locality = f"Microbus-Locality: {'l' * 2000}"
        assert await stranger.send("order.1", *to, long_locality) == [202, 431]
        assert len(seen) == 1
        # Without the sender's address there is no answer.
        assert await stranger.send("order.1", f"X: {LONG}") == []
        forged = f"{plane}.safe.443.Web_Example.shop_example._.GET.order" + ".x" * 70
        assert await stranger.send("order.1", *to, subject=forged) == []
        assert shop.metrics.rejects["malformed"] == 1
        assert shop.metrics.rejects["source"] == 1


async def test_each_control_header_has_its_longest_value(make_nats, plane):
    shop, seen = make_nats(HOST), []
    shop.endpoint("GET", "/order")(lambda request: seen.append(1))
    to = ("Microbus-From-Id: id-stranger", "Microbus-Op-Code: Req", f"X: {'x' * 2000}")
    async with shop, Stranger(shop._transport.broker, plane) as stranger:
        for name, longest in (
            ("Queue", 255), ("Locality", 255), ("Time-Budget", 64), ("Call-Depth", 64),
            ("Fragment", 64), ("From-Version", 64), ("Msg-Id", 128),
        ):  # fmt: skip
            others = to if name == "Msg-Id" else (*to, "Microbus-Msg-Id: AAAAAAAA")
            value = f"Microbus-{name}: {'1' * longest}"
            assert await stranger.send("order", *others, value) == [202, 200], name
            if name != "Msg-Id":
                assert await stranger.send("order", *others, value + "1") == [202, 431], name
    assert len(seen) == 7


async def test_a_request_without_a_call_depth_is_the_first_of_its_chain(make_nats, plane):
    shop, depths = make_nats(HOST), []

    @shop.endpoint("GET", "/first")
    async def first():
        await shop.request("GET", f"{URL}/second")

    @shop.endpoint("GET", "/second")
    async def second(request: Request):
        depths.append(request.headers["Microbus-Call-Depth"])

    to = ("Microbus-From-Id: id-stranger", "Microbus-Msg-Id: AAAAAAAA", "Microbus-Op-Code: Req")
    async with shop, Stranger(shop._transport.broker, plane) as stranger:
        assert await stranger.send("first", *to) == [202, 200]
        assert depths == ["1"]


async def test_a_response_with_a_long_control_header_is_not_kept(make_nats, plane):
    web = make_nats("web.example")
    async with web, Stranger(web._transport.broker, plane) as stranger:
        reply = f"{plane}.reply._.shop_example.web_example.{web.id}"
        for name in ("Queue", "Locality", "Msg-Id", "From-Id"):
            head = f"HTTP/1.1 202 Accepted\r\nMicrobus-{name}: {'q' * 2000}\r\n"
            head += "Microbus-Op-Code: Ack\r\nContent-Length: 0\r\n\r\n"
            await stranger.client.publish(reply, head.encode())
        await settled(stranger.client)
        for _ in range(200):
            if web.metrics.rejects["malformed"] == 4:
                break
            await asyncio.sleep(0.01)
        assert web.metrics.rejects == {"malformed": 4}


def test_a_long_duration_counts_as_absent():
    assert nanoseconds_of("1" * 60 + "ms") == nanoseconds_of("1" * 100) == 0
    assert nanoseconds_of("20s") == 20_000_000_000


@pytest.mark.parametrize("acknowledged", [False, True])
@pytest.mark.parametrize(("most", "bodies"), [(2, 1000), (1000, 2)])
async def test_requests_wait_for_the_loop_up_to_a_limit_and_give_their_places_back(
    make_memory, plane, monkeypatch, acknowledged, most, bodies
):
    head = f"GET {URL}:443/ HTTP/1.1\r\nHost: {HOST}\r\nMicrobus-Op-Code: Req\r\n"
    payload = f"{head}Microbus-From-Id: id-1\r\nMicrobus-Msg-Id: m\r\n\r\n".encode()
    subject = f"{plane}.safe.443.web_example.shop_example._.GET._"
    monkeypatch.setattr(_server, "_MOST_WAITING", most)
    monkeypatch.setattr(_server, "_MOST_BODIES", bodies)
    async with make_memory(HOST, max_body=len(payload)) as shop:
        server, begun, refused = shop._server, [], []
        await until(lambda: not shop._runtime._background)  # it has announced itself
        server.runner.start = lambda *given: begun.append(given[1].source)
        server.runner.refuse = lambda *given: refused.append((given[1], given[3]))
        endpoint = server.own_endpoints[0]
        for round_of_two in (1, 2, 3):
            if acknowledged:
                begin = server._receive_acknowledged([(endpoint, subject, payload)] * 4)
                if begin is not None:
                    begin()
            else:
                for _ in range(4):
                    server.receive_payload(endpoint, subject, payload)
            await until(lambda count=2 * round_of_two: len(begun) >= count)
            assert len(begun) == len(refused) == 2 * round_of_two
        reply_to = f"{plane}.reply._.shop_example.web_example.id-1"
        assert (set(begun), set(refused)) == ({"web.example"}, {(subject, reply_to)})
