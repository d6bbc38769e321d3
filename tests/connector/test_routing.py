"""The choice between the transports if a connector has both."""

from __future__ import annotations

import asyncio

import pytest

from subtrie import Dispatcher
from subtrie.connector import AckTimeout, Connector

HOST = "shop.example"
URL = f"https://{HOST}"


@pytest.fixture
def both(broker, plane):
    """Makes connectors on both transports; ``far`` ones are reached over NATS only."""

    def make(host, *, far=False):
        return Connector(host, plane=plane, nats=broker.url, short_circuit=not far)

    return make


def _say(text):
    return lambda: text


@pytest.mark.requirement("A20")
async def test_a_unicast_prefers_this_process(both):
    near, far, web = both(HOST), both(HOST, far=True), both("web.example")
    for replica in (near, far):
        replica.endpoint("GET", "/")(_say(replica.id))
    async with far, web:
        async with near:
            for _ in range(20):
                assert (await web.request("GET", URL)).id == near.id
            assert far.metrics.deliveries["nats"] <= 20, "nothing but control traffic"
            assert (await web.request("GET", f"https://{far.id}.{HOST}/")).id == far.id
        assert (await web.request("GET", URL)).id == far.id, "else the bus"
        with pytest.raises(AckTimeout):
            await web.request("GET", "https://nobody.example/")


@pytest.mark.requirement("A20")
async def test_a_multicast_goes_over_the_bus_and_reaches_each_subscriber_once(both):
    near, far, web = both("near.example"), both("far.example", far=True), both("web.example")
    heard = []
    for listener in (near, far, web):
        listener.endpoint("POST", f"//{HOST}:417/event", queue=None)(
            lambda request, me=listener.host: heard.append((me, len(request.body)))
        )
    async with near, far, web:
        for size in (3, 300_000):
            heard.clear()
            url = f"{URL}:417/event"
            answers = [a async for a in web.publish("POST", url, body=bytes(size))]
            assert sorted(a.source for a in answers) == [
                *("far.example", "near.example", "web.example")
            ]
            assert sorted(heard) == [
                ("far.example", size),
                ("near.example", size),
                ("web.example", size),
            ]
        assert near.metrics.deliveries["nats"] > 0


async def test_responses_to_a_local_caller_are_delivered_in_process(both):
    near, web = both(HOST), both("web.example")
    near.endpoint("GET", "/")(lambda request: request.attested)
    near.endpoint("POST", ":417/event", queue=None)(_say("heard"))
    async with near, web:
        await asyncio.sleep(0.3)  # announcements are over
        before = web.metrics.deliveries["nats"]
        for _ in range(10):
            assert (await web.request("GET", URL)).json() is True
        # A multicast goes over the bus, and is answered in process alone.
        counted = web.metrics.deliveries["memory"]
        assert [a.text async for a in web.publish("POST", f"{URL}:417/event")] == ["heard"]
        assert web.metrics.deliveries["memory"] == counted + 2, "its acknowledgement and response"
        await asyncio.sleep(0.3)  # a copy over the bus would have arrived
        assert web.metrics.deliveries["nats"] == before


async def test_one_handle_unsubscribes_both_transports(both, plane):
    near, far = both(HOST), both("far.example", far=True)
    async with near, far:
        endpoint = await near.subscribe("GET", "/late", _say("late"))
        subject = f"{plane}.safe.443.x.shop_example._.GET.late"
        assert len(Dispatcher.shared().handlers(subject)) == 1
        assert (await far.request("GET", f"{URL}/late")).body == b"late"
        await endpoint.unsubscribe()
        assert Dispatcher.shared().handlers(subject) == ()
        with pytest.raises(AckTimeout):
            await far.request("GET", f"{URL}/late")
