"""Watchers see every message on the bus, and change nothing."""

from __future__ import annotations

from tests.interop.differences import field


async def test_a_watcher_sees_sent_and_received_messages_in_order(make_nats):
    shop, web = make_nats("shop.example"), make_nats("web.example")
    shop.endpoint("POST", "/echo")(lambda number: {"got": number})
    seen: dict[str, list[tuple[str, str, bytes]]] = {}
    for each in (shop, web):
        kept = seen.setdefault(each.host, [])
        assert each.watch(lambda *told, kept=kept: kept.append(told)) is not None
    async with shop, web:
        for kept in seen.values():
            kept.clear()
        answer = await web.request("POST", "https://shop.example/echo", json={"number": 7})
        assert answer.json() == {"got": 7}
    exchange = [m for m in seen["web.example"] if m[0] == "out" and ".POST.echo" in m[1]]
    assert len(exchange) == 1
    message_id = field(exchange[0][2], "Msg-Id")

    def of_this(host: str) -> list[tuple[str, str]]:
        return [
            (direction, field(payload, "Op-Code"))
            for direction, _, payload in seen[host]
            if field(payload, "Msg-Id") == message_id
        ]

    assert of_this("web.example") == [("out", "Req"), ("in", "Ack"), ("in", "Res")]
    assert of_this("shop.example") == [("in", "Req"), ("out", "Ack"), ("out", "Res")]


async def test_a_watcher_sees_nothing_of_local_messages(make_memory):
    shop, web = make_memory("shop.example"), make_memory("web.example")
    shop.endpoint("GET", "/x")(lambda: "x")
    seen = []
    shop.watch(lambda *told: seen.append(told))
    async with shop, web:
        assert (await web.request("GET", "https://shop.example/x")).body == b"x"
    assert not seen


async def test_a_failing_watcher_stops_nothing(make_nats, caplog):
    shop, web = make_nats("shop.example"), make_nats("web.example")
    shop.endpoint("GET", "/x")(lambda: "x")

    @shop.watch
    def broken(direction, subject, payload):
        raise RuntimeError("cannot look")

    async with shop, web:
        assert (await web.request("GET", "https://shop.example/x")).body == b"x"
    assert "a watcher failed" in caplog.text
