"""Metrics that a service defines, and the round trips of acknowledgements."""

from __future__ import annotations

import pytest

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
