"""Acknowledgements composed as requests are read are those that the connector would compose."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import nats
import pytest

from patience import settled, until
from subtrie import microbus
from subtrie._core import engine
from subtrie.connector import Connector, Request
from subtrie.connector._codec import read_response

HOST = "shop.example"
HEAD = (
    "POST https://shop.example/x HTTP/1.1\r\nHost: shop.example\r\n"
    "Microbus-Op-Code: Req\r\nMicrobus-From-Id: id-raw\r\nMicrobus-Msg-Id: m1\r\n"
)
PLAIN = HEAD + "\r\n"
MANY = "".join(f"X-{n}: 1\r\n" for n in range(95))

#: Payloads, and the status of the acknowledgement; None if there is none.
PAYLOADS = {
    "plain": (PLAIN, 202),
    "lower case": (PLAIN.replace("Microbus-", "microbus-"), 202),
    "first of two ids": (HEAD + "Microbus-Msg-Id: m2\r\n\r\n", 202),
    "fragment": (HEAD + "Microbus-Fragment: 1/2\r\n\r\n", 100),
    "signed fragment": (HEAD + "Microbus-Fragment: +1/+2\r\n\r\n", 100),
    "whole fragment": (HEAD + "Microbus-Fragment: 1/1\r\n\r\n", 202),
    "unreadable fragment": (HEAD + "Microbus-Fragment: 1/2/3\r\n\r\n", 202),
    "absent fragment": (HEAD + "Microbus-Fragment:\r\n\r\n", 202),
    "short target": (PLAIN.replace("https://shop.example/x", "/x"), 202),
    "many headers": (HEAD + MANY + "\r\n", 202),
    "chunked": (HEAD + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 202),
    "no id": (PLAIN.replace("Microbus-Msg-Id: m1\r\n", ""), None),
    "empty id": (PLAIN.replace("m1", ""), None),
    "no instance": (PLAIN.replace("Microbus-From-Id: id-raw\r\n", ""), None),
    "wildcard instance": (PLAIN.replace("id-raw", "id-*"), None),
    "long instance": (PLAIN.replace("id-raw", "id-" + "a" * 126), None),
    "instance of 128": (PLAIN.replace("id-raw", "id-" + "a" * 125), 202),
    "strange target": (PLAIN.replace("https://shop.example/x", "https://[/x"), 202),
    "no message": ("hello", None),
}


@pytest.mark.requirement("S0-040")
async def test_the_acknowledgement_of_each_payload(make_nats, plane):
    shop = make_nats(HOST, locality="us-west")

    @shop.endpoint("POST", "/x")
    async def x():
        return None

    async with shop:
        client = await nats.connect(shop._transport.broker)
        acknowledged: dict[str, list[bytes]] = {}

        async def heard(message):
            if b"Op-Code: Ack" in message.data:
                acknowledged.setdefault(message.subject.split(".")[-2], []).append(message.data)

        await client.subscribe(f"{plane}.reply._.shop_example.>", cb=heard)
        for number, (payload, _) in enumerate(PAYLOADS.values()):
            subject = f"{plane}.safe.443.caller{number}.shop_example._.POST.x"
            await client.publish(subject, payload.encode())
        await client.publish(f"{plane}.safe.443.last.shop_example._.POST.x", PLAIN.encode())
        await settled(client)
        await until(lambda: "last" in acknowledged)
        await asyncio.sleep(0.1)
        by_status: dict[int, bytes] = {}
        for number, (name, (_, status)) in enumerate(PAYLOADS.items()):
            found = acknowledged.get(f"caller{number}", [])
            assert len(found) == (status is not None), name
            for each in found:
                assert each.startswith(b"HTTP/1.1 %d " % status), name
                assert b"\r\nMicrobus-Msg-Id: m1\r\n" in each, name
                assert each == by_status.setdefault(status, each), name
                assert each.count(b"Microbus-Locality: us-west\r\n") == 1
        await client.close()


@asynccontextmanager
async def no_replies_on_the_bus(broker, plane):
    """Check that the broker carries no reply of the shop to the web meanwhile."""
    client = await nats.connect(broker.url)
    bus: list[bytes] = []

    async def heard(message):
        bus.append(message.data)

    await client.subscribe(f"{plane}.reply._.shop_example.web_example.*", cb=heard)
    await settled(client)
    yield
    await settled(client)
    assert bus == [], "within the process nothing of it goes over the bus"
    await client.close()


async def test_watchers_see_acknowledgements_and_the_process_sends_none_over_the_bus(
    broker, plane, monkeypatch
):
    options = {"plane": plane, "nats": broker.url, "deployment": "TESTING"}
    shop, web = Connector(HOST, **options), Connector("web.example", **options)
    far = Connector("far.example", short_circuit=False, **options)
    shown: list[tuple[str, bytes]] = []
    far.watch(lambda direction, subject, payload: shown.append((direction, payload)))
    for each in (shop, far):
        each.endpoint("POST", "//shop.example:417/event", queue=each.host)(lambda: None)
    async with shop, web, far, no_replies_on_the_bus(broker, plane):
        answers = [a async for a in web.publish("POST", "https://shop.example:417/event")]
        assert sorted(each.source for each in answers) == ["far.example", "shop.example"]
    acks = [data for way, data in shown if way == "out" and b"Op-Code: Ack" in data]
    assert len(acks) >= 1


async def test_after_a_reconnect_the_process_sends_no_acknowledgement_over_the_bus(broker, plane):
    options = {"plane": plane, "nats": broker.url, "deployment": "TESTING"}
    shop, web = Connector(HOST, **options), Connector("web.example", **options)
    shop.endpoint("POST", "//shop.example:417/event", queue="shop")(lambda: None)
    async with shop, web:
        line = shop._transport.nats
        lost = line._session
        line.loop.call_soon_threadsafe(lost.abort, ConnectionError("cut"))
        await until(lambda: line._session not in (None, lost))
        async with no_replies_on_the_bus(broker, plane):
            for _ in range(3):
                answers = [a async for a in web.publish("POST", "https://shop.example:417/event")]
                assert [each.source for each in answers] == ["shop.example"]
            await line.flush()


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_the_reader_divides_a_stream_as_the_parser_does(chunk):
    stream = (
        b'INFO {"a":1}\r\nMSG a.b 7 2\r\nhi\r\nPING\r\nHMSG a.b 8 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n'
        b"PONG\r\n+OK\r\n-ERR 'No'\r\nMSG a.\xff 9 0\r\n\r\n"
    )
    reader = engine.DeliveryReader()
    items = []
    for at in range(0, len(stream), chunk):
        found, groups, acknowledgements = reader.feed(stream[at : at + chunk])
        assert (groups, acknowledgements) == ([], b"")
        items += found
    assert [item if isinstance(item, tuple) else item.op for item in items] == [
        "INFO",
        (7, "a.b", b"hi"),
        "PING",
        (8, "a.b", b"hi"),
        "PONG",
        "+OK",
        "-ERR",
        (9, "a.\udcff", b""),
    ]
    assert items[0].json == {"a": 1}
    assert items[6].message == "'No'"


@pytest.mark.skipif(engine.report.name != "native", reason="the reference composes none")
def test_the_reader_composes_only_for_subscriptions_and_hosts_that_it_was_told():
    subject = "p.safe.443.web_example.shop_example._.POST.x"
    data = PLAIN.encode()
    message = f"MSG {subject} 7 {len(data)}\r\n".encode() + data + b"\r\n"
    reader, take = engine.DeliveryReader(), print
    assert reader.feed(message) == ([(7, subject, data)], [], b"")
    reader.acknowledge(7, "p", HOST, (b"<", b">"), (b"(", b")"), take, "tag")
    reply = microbus.encode_reply(plane="p", source=HOST, host="web.example", id="id-raw")
    frame = f"PUB {reply} 4\r\n<m1>\r\n".encode()
    assert reader.feed(message * 2) == ([], [(take, [("tag", subject, data)] * 2)], frame * 2)
    reader.exclude(["web.example"])
    assert reader.feed(message) == ([(7, subject, data)], [], b"")
    reader.exclude([])
    assert reader.feed(message) == ([], [(take, [("tag", subject, data)])], frame)
    for other in (
        subject.replace("p.", "q.", 1),
        subject.replace("web_example", "Web_example"),
        subject.replace("safe.443", "danger.443"),
        "p.reply._.web_example.shop_example.id-1",
        "orders",
    ):
        changed = message.replace(subject.encode(), other.encode())
        assert reader.feed(changed) == ([(7, other, data)], [], b""), other
    reader.forget(7)
    assert reader.feed(message) == ([(7, subject, data)], [], b"")


@pytest.mark.skipif(engine.report.name != "native", reason="the reference composes none")
def test_acknowledged_messages_are_grouped_by_their_receiver():
    subject = "p.safe.443.web_example.shop_example._.POST.x"
    data = PLAIN.encode()
    messages = {
        sid: f"MSG {subject} {sid} {len(data)}\r\n".encode() + data + b"\r\n" for sid in range(4)
    }
    reader, receivers = engine.DeliveryReader(), [print, repr, print]
    for sid, receiver in enumerate(receivers):
        reader.acknowledge(sid, "p", HOST, (b"", b""), (b"", b""), receiver, f"tag {sid}")
    stream = b"".join(messages[sid] for sid in (0, 1, 3, 2, 0))
    items, groups, acknowledgements = reader.feed(stream)
    assert items == [(3, subject, data)]
    assert groups == [
        (print, [(f"tag {sid}", subject, data) for sid in (0, 2, 0)]),
        (repr, [("tag 1", subject, data)]),
    ]
    assert acknowledgements.count(b"PUB ") == 4


@pytest.mark.skipif(engine.report.name != "native", reason="the reference composes none")
@pytest.mark.parametrize(
    ("old", "new", "composed"),
    [
        ("id-raw", "id-" + "a" * 125, "<m1>"),
        ("id-raw", "id-" + "a" * 126, None),
        ("m1\r\n", "\r\n", None),
        ("m1\r\n", "m1\r\nMicrobus-Fragment: 1/1\r\n", "<m1>"),
        ("m1\r\n", "m1\r\nMicrobus-Fragment: 1/2\r\n", "(m1)"),
        ("m1\r\n", "m1\r\nMicrobus-Fragment: 1/-2\r\n", "<m1>"),
        ("m1\r\n", "m1\r\nMicrobus-Fragment: x/2\r\n", "<m1>"),
        ("m1\r\n", "m1\r\nMicrobus-Fragment: 1/x\r\n", "<m1>"),
        ("https://shop.example/x", "/x", None),
    ],
)
def test_the_reader_composes_for_a_plain_head_within_its_bounds(old, new, composed):
    subject = "p.safe.443.web_example.shop_example._.POST.x"
    data = PLAIN.replace(old, new).encode()
    reader = engine.DeliveryReader()
    reader.acknowledge(7, "p", HOST, (b"<", b">"), (b"(", b")"), print, "tag")
    message = f"MSG {subject} 7 {len(data)}\r\n".encode() + data + b"\r\n"
    items, groups, acknowledgements = reader.feed(message)
    assert (len(items), len(groups)) == ((1, 0) if composed is None else (0, 1))
    assert acknowledgements.decode().split("\r\n")[1:2] == ([] if composed is None else [composed])


#: What a message differs in from one for ``POST /x``: the token of its source, its request line,
#: its body, the rest of its subject; and the status of its response; None without acknowledgement.
ADMITTED = {
    "plain": ({}, 200),
    "another path in the request line": ({"line": "POST https://shop.example/y"}, 200),
    "another host in the request line": ({"line": "POST https://bank.example/x"}, 200),
    "another port in the request line": ({"line": "POST https://shop.example:444/x"}, 200),
    "another method in the request line": ({"line": "GET https://shop.example/x"}, 200),
    "a body that is no JSON": ({"body": b"\xff{"}, 400),
    "a body of zeros": ({"body": bytes(5000)}, 400),
    "a source in upper case": ({"source": "Web_example"}, None),
    "a source without a label": ({"source": "_"}, None),
    "a source with an empty label": ({"source": "web__example"}, None),
    "a source that ends with a separator": ({"source": "web_"}, None),
    "a source with a sign": ({"source": "web$example"}, None),
    "a source beyond ASCII": ({"source": "wéb_example"}, None),
    "a route without a subscription": ({"rest": "shop_example._.POST.y"}, None),
    "a method without a subscription": ({"rest": "shop_example._.GET.x"}, None),
    "a host without a subscription": ({"rest": "bank_example._.POST.x"}, None),
}


@pytest.mark.requirement("S0-040", "S0-041")
async def test_what_is_acknowledged_has_a_source_and_a_served_subscription(make_nats, plane):
    """Neither the request line nor the body decides, and each acknowledged one has one response."""
    shop = make_nats(HOST)
    seen: list[tuple[str, str, str]] = []

    async def x(request: Request) -> None:
        seen.append((request.method, request.url, request.source))
        request.json()

    shop.endpoint("POST", "/x")(x)
    shop.endpoint("POST", "/other")(lambda: None)
    async with shop:
        client = await nats.connect(shop._transport.broker)
        heard: dict[str, list[int]] = {}

        async def note(message):
            response = read_response(message.data)
            heard.setdefault(response.headers["Microbus-Msg-Id"], []).append(response.status)

        await client.subscribe(f"{plane}.reply._.shop_example.*.id-raw", cb=note)

        async def send(name: str, given: dict[str, Any]) -> None:
            source, rest = given.get("source", "caller"), given.get("rest", "shop_example._.POST.x")
            line, body = given.get("line", "POST https://shop.example/x"), given.get("body", b"")
            head = f"{line} HTTP/1.1\r\nHost: shop.example\r\nContent-Length: {len(body)}\r\n"
            head += "Microbus-Op-Code: Req\r\nMicrobus-From-Id: id-raw\r\n"
            payload = f"{head}Microbus-Msg-Id: {name}\r\n\r\n".encode() + body
            await client.publish(f"{plane}.safe.443.{source}.{rest}", payload)

        async def until_answered(name: str) -> None:
            async with asyncio.timeout(30):
                while len(heard.get(name, ())) < 2:
                    await asyncio.sleep(0.01)

        names = {name: name.replace(" ", "-") for name in ADMITTED}
        for name, (given, _) in ADMITTED.items():
            await send(names[name], given)
        await send("last", {})  # a server keeps the order of one client's messages
        for name, (_, status) in ADMITTED.items():
            if status is not None:
                await until_answered(names[name])
        await until_answered("last")
        expected = {names[name]: [202, status] for name, (_, status) in ADMITTED.items() if status}
        assert heard == expected | {"last": [202, 200]}
        served = sum(status is not None for _, status in ADMITTED.values()) + 1
        assert seen == [("POST", "https://shop.example:443/x", "caller")] * served

        await shop.endpoints[0].unsubscribe()
        await send("removed", {})
        await send("other", {"rest": "shop_example._.POST.other"})
        await until_answered("other")
        assert "removed" not in heard
        await client.close()
