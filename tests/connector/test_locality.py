"""Routing to the nearest replica, or to the one that the URL names."""

from __future__ import annotations

import pytest

from subtrie import microbus
from subtrie.connector import AckTimeout, HTTPError, Request
from subtrie.connector._routing import NearestReplicas

HOST = "shop.example"
NEAR = f"https://{HOST}/near"


async def _three(make):
    places = ("us-west-b-2", "us-east-a", "eu-central-a")
    replicas = [make(HOST, locality=place) for place in places]
    for replica in replicas:
        replica.endpoint("GET", "/near")(_say(replica.locality))
        replica.endpoint("GET", "/missing")(_missing)
        await replica.startup()
    return replicas


def _say(text):
    return lambda: text


async def _missing():
    raise HTTPError("no such thing", status=404)


@pytest.mark.requirement("S0-047")
async def test_each_locality_slot_is_subscribed(make):
    shop = make(HOST, locality="us-west-b-1")
    shop.endpoint("GET", "/x")(_say("x"))
    async with shop:
        (endpoint,) = shop.endpoints
        slots = [
            microbus.decode_subscription(place.pattern).slot for place in endpoint.registrations
        ]
        assert slots == ["", shop.id, "loc-us", "loc-us-west", "loc-us-west-b", "loc-us-west-b-1"]


@pytest.mark.parametrize("locality", ["us-west", ""])
async def test_a_response_tells_the_locality_and_a_request_does_not(make_nats, locality):
    shop, web = make_nats(HOST, locality=locality), make_nats("web.example", locality="us-west")
    seen = set()
    shop.endpoint("GET", "/")(lambda: None)

    @shop.watch
    def note(direction, subject, payload):
        if ".web_example.shop_example._.GET." in subject or subject.endswith(web.id):
            given = b"\r\nMicrobus-Locality: us-west\r\n" in payload
            seen.add((direction, given, payload.count(b"Microbus-Locality")))

    async with shop, web:
        await web.request("GET", f"https://{HOST}/")
    assert seen == {("in", False, 0), ("out", bool(locality), 1 if locality else 0)}


@pytest.mark.requirement("S0-048", "S0-049")
async def test_routing_narrows_to_the_nearest_replica_and_stays(make):
    replicas = await _three(make)
    async with make("edge.example", locality="us-west-b-1") as edge:
        seen = [(await edge.request("GET", NEAR)).body.decode() for _ in range(40)]
        assert seen[-10:] == ["us-west-b-2"] * 10
        key = ("GET", f"https://{HOST}:443/near")
        assert edge.nearest.nearest(key) == "us-west-b"
        await replicas[0].shutdown()
        again = [(await edge.request("GET", NEAR)).body.decode() for _ in range(20)]
        assert again[-5:] == ["us-east-a"] * 5
        assert edge.nearest.nearest(key) == "us"
    for replica in replicas[1:]:
        await replica.shutdown()


@pytest.mark.requirement("A75")
async def test_a_handlers_404_is_a_response_and_not_retried(make):
    replicas = await _three(make)
    async with make("edge.example", locality="us-west-b-1") as edge:
        for _ in range(20):
            await edge.request("GET", NEAR)
        sent = edge.metrics.ack_timeouts
        key = ("GET", f"https://{HOST}:443/missing")
        edge.nearest.learn(key, "us-west-b-2")
        with pytest.raises(HTTPError) as answered:
            await edge.request("GET", f"https://{HOST}/missing")
        assert not isinstance(answered.value, AckTimeout)
        assert edge.metrics.ack_timeouts == sent
        assert edge.nearest.nearest(key) == "us-west-b"
    for replica in replicas:
        await replica.shutdown()


@pytest.mark.requirement("A75")
async def test_a_near_replica_without_a_route_costs_the_other_routes_nothing(make):
    near, far = make(HOST, locality="us-west-b-2"), make(HOST, locality="eu-central-a")
    for replica in (near, far):
        replica.endpoint("GET", "/near")(_say(replica.locality))
    far.endpoint("GET", "/only-far")(_say("far"))
    async with near, far, make("edge.example", locality="us-west-b-1") as edge:
        for _ in range(20):
            await edge.request("GET", NEAR)
        assert edge.nearest.nearest(("GET", f"https://{HOST}:443/near")) == "us-west-b"
        sent = edge.metrics.ack_timeouts
        for n in range(10):
            assert (await edge.request("GET", f"https://{HOST}/only-far?n={n}")).body == b"far"
        assert edge.metrics.ack_timeouts == sent


async def test_the_time_that_a_near_replica_did_not_answer_is_not_given_to_the_others(make_nats):
    near = make_nats(HOST, locality="us-west-b-2")
    near.endpoint("GET", "/near")(_say("near"))
    far = make_nats(HOST, locality="eu-central-a")
    budgets = []

    @far.endpoint("GET", "/near")
    async def handle(request: Request) -> str:
        budgets.append(request.budget)
        return "far"

    async with far, make_nats("edge.example", locality="us-west-b-1") as edge:
        async with near:
            while not edge.nearest.nearest(("GET", f"https://{HOST}:443/near")):
                await edge.request("GET", NEAR)
        timeouts = edge.metrics.ack_timeouts
        assert (await edge.request("GET", NEAR, timeout=10)).body == b"far"
        assert edge.metrics.ack_timeouts == timeouts + 1
        assert budgets[-1] < 9.9  # an acknowledgement is waited for longer than that


@pytest.mark.requirement("A75")
async def test_a_slot_given_by_the_caller_is_kept(make):
    replicas = await _three(make)
    async with make("edge.example", locality="us-west-b-1") as edge:
        for _ in range(20):
            await edge.request("GET", NEAR)
        for _ in range(3):
            far = await edge.request("GET", f"https://loc-eu.{HOST}/near")
            assert far.locality == "eu-central-a"
            pinned = await edge.request("GET", f"https://{replicas[1].id}.{HOST}/near")
            assert pinned.id == replicas[1].id
        with pytest.raises(AckTimeout):
            await edge.request("GET", f"https://loc-mars.{HOST}/near")
    for replica in replicas:
        await replica.shutdown()


@pytest.mark.requirement("S0-044")
async def test_a_replica_that_leaves_while_pinned_is_an_ack_timeout(make):
    one, two, web = make(HOST), make(HOST), make("web.example")
    for replica in (one, two):
        replica.endpoint("GET", "/near")(_say("x"))
    async with one, web:
        await two.startup()
        pinned = f"https://{two.id}.{HOST}/near"
        assert (await web.request("GET", pinned)).id == two.id
        await two.shutdown()
        with pytest.raises(AckTimeout):
            await web.request("GET", pinned)
        assert (await web.request("GET", NEAR)).id == one.id


def test_a_responders_locality_can_only_narrow():
    nearest = NearestReplicas("us-west-b-1")
    key = ("GET", "a.b", "443")
    for told, known in (
        ("eu", ""),
        ("us-westx", "us"),
        ("us-west-dc", "us-west"),
        ("us", "us-west"),
        ("*.>", "us-west"),
        ("us-west-b-1-z", "us-west-b-1"),
    ):
        nearest.learn(key, told)
        assert nearest.nearest(key) == known
    nearest.forget(key)
    assert nearest.nearest(key) == ""


def test_a_learned_locality_expires_after_a_day():
    now = [0.0]
    nearest = NearestReplicas("us-west-b-1", lambda: now[0])
    key = ("GET", "a.b", "443")
    nearest.learn(key, "us-west-b-2")
    now[0] = 86_000.0
    assert nearest.nearest(key) == "us-west-b"
    now[0] = 86_401.0
    assert nearest.nearest(key) == ""
    nearest.learn(key, "us-east")
    assert nearest.nearest(key) == "us"


@pytest.mark.requirement("A75")
@pytest.mark.parametrize("slot", ["LOC-EU", "loc-eu", "Loc-eu-central"])
async def test_a_slot_may_be_written_in_capitals(make, slot):
    replicas = await _three(make)
    async with make("edge.example", locality="us-west-b-1") as edge:
        for _ in range(20):
            await edge.request("GET", NEAR)
        far = await edge.request("GET", f"https://{slot}.{HOST}/near?next=://id-1.x")
        assert far.locality == "eu-central-a"
        # A slot that stands anywhere else is none: the nearest is asked.
        near = await edge.request("GET", f"{NEAR}?next=https://id-1.x/")
        assert near.locality == "us-west-b-2"
    for replica in replicas:
        await replica.shutdown()


async def test_a_call_that_is_repeated_without_a_locality_is_answered_by_the_same_host(make_memory):
    near, web = make_memory(HOST, locality="us-west-b"), make_memory("web.example", locality="us")
    other = make_memory("other.example")
    near.endpoint("GET", "/near")(_say("near"))
    other.endpoint("GET", f"//{HOST}/near")(_say("other"))
    async with web:
        async with near:
            assert (await web.request("GET", NEAR, source=HOST)).text == "near"
        async with other:
            with pytest.raises(HTTPError) as refused:
                await web.request("GET", NEAR, source=HOST)
            assert refused.value.status == 502
            assert (await web.request("GET", NEAR)).text == "other"
