"""Metrics that a service defines, and the round trips of acknowledgements."""

from __future__ import annotations

import asyncio

import pytest

from subtrie.connector import AckTimeout, RequestTimeout

HOST, URL = "shop.example", "https://shop.example"


async def test_the_metrics_of_a_service_are_shown_beside_those_of_the_connector(make):
    shop, web = make(HOST), make("web.example")
    orders = shop.metrics.counter("tea_orders", "Orders placed")
    stock = shop.metrics.gauge("tea_stock")
    waits = shop.metrics.histogram("tea_waits_seconds", bounds=(0.1, 1.0))

    @shop.endpoint("GET", "/order")
    async def order(kind: str) -> None:
        orders.add(kind=kind)
        stock.set(5)
        stock.add(-2)
        for seconds in (0.05, 0.5, 5.0):
            waits.observe(seconds, kind=kind)

    async with shop, web:
        for kind in ("tea", "tea", 'a"b'):
            await web.request("GET", f"{URL}/order", params={"kind": kind})
        assert shop.metrics.counter("tea_orders") is orders
        text = (await web.request("GET", f"{URL}:888/metrics")).text
        acks = (await shop.request("GET", "https://web.example:888/metrics")).text
    own = [line for line in text.splitlines() if line.startswith("tea_")]
    assert all(f'service="{HOST}"' in line for line in own)
    assert any(line.endswith(" 2.0") and 'kind="tea"' in line for line in own)
    assert any('kind="a\\"b"' in line for line in own)
    assert next(line for line in own if line.startswith("tea_stock")).endswith(" 3.0")
    assert sum('le="+Inf"' in line and line.endswith(" 6.0") for line in own) == 1
    count = [
        x
        for x in acks.splitlines()
        if x.startswith("microbus_client_ack_roundtrip") and "_count" in x
    ]
    sent_over_nats = not shop._transport.short_circuit
    assert (float(count[0].rpartition(" ")[2]) >= 4) == sent_over_nats


async def test_wrong_uses_of_metrics_are_refused(make_memory):
    metrics = make_memory(HOST).metrics
    for name in ("microbus_x", "1x", "a-b", ""):
        with pytest.raises(ValueError, match="not a valid name"):
            metrics.counter(name)
    metrics.counter("orders")
    with pytest.raises(ValueError, match="is a counter already"):
        metrics.gauge("orders")
    with pytest.raises(ValueError, match="cannot"):
        metrics.counter("orders").add(-1)
    with pytest.raises(ValueError, match="cannot be set"):
        metrics.counter("orders").set(1)
    with pytest.raises(ValueError, match="no observations"):
        metrics.gauge("stock").observe(1)


async def test_callbacks_log_messages_and_multicasts_are_counted_as_in_go(make_nats):
    shop, web = make_nats(HOST), make_nats("web.example")
    ran = asyncio.Event()

    @shop.every(0.01)
    async def count_stock():
        if ran.is_set():
            raise KeyError("stock")
        ran.set()

    async with shop, web:
        await ran.wait()
        shop.log.warning("low on %s", "tea")
        shop.log.debug("not enabled")
        answers = [each async for each in web.publish("GET", "https://all:888/ping")]
        assert len(answers) == 2
        text = (await web.request("GET", f"{URL}:888/metrics")).text
        mine = (await shop.request("GET", "https://web.example:888/metrics")).text
    lines = [line for line in text.splitlines() if not line.startswith("#")]

    def value(name, *labels):
        found = [x for x in lines if x.startswith(name) and all(each in x for each in labels)]
        return sum(float(each.rpartition(" ")[2]) for each in found)

    callbacks = "microbus_callback_duration_seconds_count"
    assert value(callbacks, 'name="OnStartup"', 'type="lifecycle"', 'error="OK"') == 1
    assert value(callbacks, 'name="count_stock"', 'type="ticker"', 'error="OK"') == 1
    logged = "microbus_log_messages_total"
    assert value(logged, 'message="low on %s"', 'severity="WARNING"') == 1
    assert value(logged, "not enabled") == 0
    lines = mine.splitlines()
    # Of the announcement, the multicast and the request, each from both.
    assert value("microbus_client_ack_roundtrip_latency_seconds_count") >= 3


async def test_each_timeout_is_counted_once(make):
    shop, web = make(HOST), make("web.example")
    released = asyncio.Event()

    @shop.endpoint("GET", "/late")
    async def late():
        try:
            await released.wait()
        except asyncio.CancelledError:
            await released.wait()

    async with shop, web:
        for _ in range(2):
            with pytest.raises(RequestTimeout):
                await web.request("GET", f"{URL}/late", timeout=0.5)
        with pytest.raises(AckTimeout):
            await web.request("GET", "https://missing.example/")
        released.set()
        assert (web.metrics.timeouts, web.metrics.ack_timeouts) == (2, 1)
