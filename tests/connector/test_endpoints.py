"""Endpoints: validated at registration, added and removed at run time."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from subtrie import AddressError, BusError, HostnameCollision
from subtrie.connector import AckTimeout, Headers
from subtrie.connector._codec import read_request

HOST = "shop.example"
URL = f"https://{HOST}"


@pytest.mark.requirement("S0-058")
async def test_unknown_methods_and_bad_routes_are_refused_at_registration(make_memory):
    shop = make_memory(HOST)
    with pytest.raises(AddressError) as refused:
        shop.endpoint("BREW", "/")(lambda: None)
    assert refused.value.status == 405
    for route in ("//id-x.example/", "/x{a}", "/{a...}/b", "//all.all/x"):
        with pytest.raises(AddressError):
            shop.endpoint("GET", route)(lambda: None)
    with pytest.raises(AddressError):
        await shop.subscribe("GET", "/{A}", lambda: None)
    with pytest.raises(BusError) as refused:  # no request fills these
        shop.endpoint("GET", "/")(lambda *everything: None)
    assert refused.value.reason == "endpoint"


@pytest.mark.parametrize(
    ("queue", "reason", "position"),
    [
        ("", "queue-empty", None),
        ("a b", "queue-whitespace", 1),
        ("a.*", "queue-wildcard", 2),
        (">", "queue-wildcard", 0),
        ("é/", "queue-character", 0),
        ("a/b", "queue-character", 1),
    ],
)
async def test_a_bad_queue_name_is_refused_for_the_right_reason(
    make_memory, queue, reason, position
):
    with pytest.raises(BusError) as refused:
        make_memory(HOST).endpoint("GET", "/", queue=queue)(lambda: None)
    assert (refused.value.reason, refused.value.position) == (reason, position)


async def test_a_refusal_without_a_bus_does_not_speak_of_the_bus(make_memory):
    shop = make_memory(HOST)
    for refused in (
        lambda: shop.endpoint("GET", "/", queue="a b")(lambda: None),
        lambda: shop.endpoint("GET", "/")(lambda **everything: None),
        lambda: Headers({"a b": "x"}),
        lambda: shop.publish("GET", URL),
        lambda: read_request(b"nonsense"),
    ):
        with pytest.raises(BusError) as error:
            refused()
        assert "bus" not in str(error.value).lower()


@pytest.mark.requirement("A5")
async def test_a_second_host_with_the_same_token_is_refused(make_memory):
    shop = make_memory(HOST)
    shop.endpoint("GET", "//a_b.c/x")(lambda: None)
    with pytest.raises(HostnameCollision):
        shop.endpoint("GET", "//a.b.c/x")(lambda: None)


async def test_a_host_whose_last_route_is_gone_no_longer_claims_its_token(make_memory):
    shop = make_memory(HOST)
    async with shop:
        endpoint = await shop.subscribe("GET", "//a_b.c/x", lambda: None)
        with pytest.raises(HostnameCollision):
            await shop.subscribe("GET", "//a.b.c/x", lambda: None)
        await endpoint.unsubscribe()
        await shop.subscribe("GET", "//a.b.c/x", lambda: None)
        with pytest.raises(HostnameCollision):
            await shop.subscribe("GET", "//a_b.c/x", lambda: None)


async def test_endpoints_come_and_go_at_run_time(make):
    shop, web = make(HOST), make("web.example")
    async with shop, web:
        endpoint = await shop.subscribe("GET", "/late", lambda: "late")
        assert (await web.request("GET", f"{URL}/late")).body == b"late"
        with pytest.raises(BusError):
            shop.endpoint("GET", "/too-late")(lambda: None)
        await endpoint.unsubscribe()
        await endpoint.unsubscribe()
        assert not endpoint.active
        with pytest.raises(AckTimeout):
            await web.request("GET", f"{URL}/late")


async def test_a_route_that_is_served_no_more_may_be_served_again(make):
    shop, web = make(HOST), make("web.example")
    async with web:
        async with shop:
            first = await shop.subscribe("GET", "/x", lambda: 1)
            assert (await web.request("GET", f"{URL}/x")).json() == 1
            await first.unsubscribe()
            assert shop.endpoints == ()
            second = await shop.subscribe("GET", "/x", lambda: 2)
            assert (await web.request("GET", f"{URL}/x")).json() == 2
            await second.unsubscribe()
        async with shop:
            with pytest.raises(AckTimeout):
                await web.request("GET", f"{URL}/x")


async def test_a_route_that_could_not_be_subscribed_may_be_subscribed_later(make, monkeypatch):
    async def lost(*_, **__):
        raise ConnectionError("lost")

    shop, web = make(HOST), make("web.example")
    async with shop, web:
        with monkeypatch.context() as patched:
            patched.setattr(shop._transport, "subscribe", lost)
            with pytest.raises(ConnectionError):
                await shop.subscribe("GET", "/x", lambda: 1)
        assert shop.endpoints == ()
        await shop.subscribe("GET", "/x", lambda: 2)
        assert (await web.request("GET", f"{URL}/x")).json() == 2


async def test_a_subscription_that_is_cancelled_leaves_none_at_the_broker(make_nats):
    """The connection's thread had made it, and nothing could end it."""
    shop, web = make_nats("shop.example"), make_nats("web.example")
    async with shop, web:
        for turns in range(4):
            subscribing = asyncio.ensure_future(shop.subscribe("GET", "/late", lambda: "late"))
            for _ in range(turns):
                await asyncio.sleep(0)
            subscribing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await subscribing
            if not subscribing.cancelled():  # it was there before
                await subscribing.result().unsubscribe()
            with pytest.raises(AckTimeout):
                await web.request("GET", "https://shop.example/late")
