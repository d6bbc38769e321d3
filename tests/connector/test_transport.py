"""The transports of one connector: subscriptions on all of them or on none, and what is left."""

from __future__ import annotations

import asyncio

import pytest

from subtrie import BusError, Dispatcher, PatternError
from subtrie.connector._transport import Transport


def transport(broker: str, *, short_circuit: bool = True) -> Transport:
    return Transport(
        "shop.example", broker=broker, short_circuit=short_circuit, creds=None,
        allow_readable_creds=False,
    )  # fmt: skip


def nothing(*_: object) -> bool:
    raise AssertionError("nothing is delivered")


async def test_without_a_transport_the_error_says_what_is_switched_off():
    with pytest.raises(BusError, match="short_circuit False") as refused:
        await transport("", short_circuit=False).open()
    assert refused.value.reason == "no-transport"


async def test_a_pattern_that_cannot_be_subscribed_in_process_is_not_on_the_bus_either(
    broker, plane
):
    bus, before = transport(broker.url), len(Dispatcher.shared())
    await bus.open()
    with pytest.raises(PatternError):  # the server takes any character
        await bus.subscribe([f"{plane}.a", f"{plane}.\u00e9"], None, nothing, nothing)
    assert len(Dispatcher.shared()) == before
    assert bus.nats._subscriptions == {}
    await bus.close()


async def test_a_subscription_may_be_removed_after_the_connection(broker, plane):
    bus, before = transport(broker.url), len(Dispatcher.shared())
    await bus.open()
    made = await bus.subscribe([f"{plane}.a"], None, nothing, nothing)
    await bus.close()
    await bus.unsubscribe(made)
    assert len(Dispatcher.shared()) == before


async def test_a_closed_transport_is_told_no_more_by_the_connection_it_shared(broker):
    one, two = transport(broker.url), transport(broker.url)
    await asyncio.gather(one.open(), two.open())
    assert one.nats is two.nats
    await one.close()
    assert two.nats.on_violation == [two._on_violation]
    await two.close()
