"""The distributed cache: values that replicas keep for each other, also over a shutdown."""

from __future__ import annotations

import asyncio
import hashlib
import re
from types import SimpleNamespace

import pytest

from patience import PATIENCE
from subtrie.connector import BusError, HTTPError, Response

HOST = "shop.example"
ALL, RESCUE = f"https://{HOST}:888/dcache/all", f"https://{HOST}:888/dcache/rescue"


async def _all(connector, action, key="", body=b"", **more):
    params = {"do": action, "key": key, **more}
    return [a async for a in connector.publish("PUT", ALL, params=params, body=body)]


async def test_peers_store_load_check_and_delete(make):
    one, two = make(HOST), make(HOST)
    async with one, two:
        statuses = {a.id: a.status for a in await _all(one, "store", "k", b"value")}
        assert statuses == {one.id: 404, two.id: 200}, "who asks keeps its own itself"
        (found,) = [a for a in await _all(one, "load", "k") if a.status == 200]
        assert (found.id, found.body) == (two.id, b"value")
        digest = hashlib.sha256(b"value").digest()
        (checked,) = [
            a for a in await _all(one, "checksum", "k", checksum=digest.hex()) if a.status == 200
        ]
        assert checked.body == digest
        assert {a.body for a in await _all(one, "len")} == {b"0", b"1"}
        assert {a.body for a in await _all(one, "weight")} == {b"0", b"5"}
        await _all(one, "checksum", "k", checksum="00")  # one of the two is wrong: both forget
        assert [a.status for a in await _all(one, "load", "k")] == [404, 404]
        for key in ("ab", "abc", "xab", "xbc", "z"):
            await _all(one, "store", key, b"1")
        await _all(one, "delete", prefix="ab")
        assert list(two._cache._held) == ["xab", "xbc", "z"]
        await _all(one, "delete", contains="b")
        assert {a.body for a in await _all(one, "len")} == {b"0", b"1"}
        await _all(one, "clear")
        assert {a.body for a in await _all(one, "len")} == {b"0"}
        (error, other) = await _all(one, "burn")
        assert {error.error.status, other.error.status} == {500}


async def test_only_the_services_own_host_may_use_the_cache(make):
    shop, web = make(HOST), make("web.example")
    async with shop, web:
        (refused,) = await _all(web, "load", "k")
        assert "foreign host 'web.example'" in str(refused.error)
        with pytest.raises(HTTPError, match="foreign host"):
            await web.request("PUT", RESCUE, params={"key": "k"}, body=b"mine now")


async def test_the_latest_values_are_handed_over_first(make_memory):
    """A shutdown may have no time for all of them."""
    one, two = make_memory(HOST), make_memory(HOST)
    async with one:
        async with two:
            for key in "abc":
                two._cache.hold(key, b"value")
            two._cache.value("a")
        assert list(one._cache._held) == ["a", "c", "b"]


@pytest.mark.parametrize(
    "url", [RESCUE, *(f"{ALL}?do={do}" for do in ("load", "store", "checksum", "delete"))]
)
async def test_a_value_has_a_key(make_memory, url):
    one, two = make_memory(HOST), make_memory(HOST)
    async with one, two:
        with pytest.raises(HTTPError, match="missing key"):
            await one.request("PUT", url, body=b"value", instance=two.id)
        assert len(two._cache) == 0


async def test_operations_on_the_values_of_a_replica_are_counted(make_memory):
    one, two = make_memory(HOST), make_memory(HOST)
    async with one, two:
        for action in ("load", "store", "load", "delete", "len", "checksum"):
            await _all(one, action, "k", b"value", checksum="")
        text = (await one.request("GET", f"https://{two.id}.{HOST}:888/metrics")).text
        own = (await one.request("GET", f"https://{one.id}.{HOST}:888/metrics")).text
    assert "microbus_cache_operations_total{" not in own, "who asks counts its own itself"
    lines = [
        each for each in text.splitlines() if each.startswith("microbus_cache_operations_total")
    ]
    assert {tuple(re.findall('(?:op|hit)="([a-z]+)"', each)): each[-3:] for each in lines} == {
        ("miss", "load"): "1.0", ("local", "load"): "1.0", ("store",): "1.0", ("delete",): "1.0",
    }  # fmt: skip


@pytest.mark.parametrize("which", ["key", "prefix", "contains"])
async def test_who_asks_to_delete_leaves_its_own_values_to_itself(make_memory, which):
    one, two = make_memory(HOST), make_memory(HOST)
    async with one, two:
        for each in (one, two):
            each._cache.hold("k", b"value")
        answers = [
            each async for each in one.publish("PUT", ALL, params={"do": "delete", which: "k"})
        ]
        assert [each.status for each in answers] == [200, 200]
        assert (len(one._cache), len(two._cache)) == (1, 0)


@pytest.mark.parametrize("which", ["key", "prefix", "contains"])
async def test_a_deletion_is_of_all_replicas_and_is_counted_by_each(make_memory, which):
    one, two = make_memory(HOST), make_memory(HOST)
    async with one, two:
        await one.cache.store("k", "value", replicate=True)
        assert (len(one._cache), len(two._cache)) == (1, 1)
        await one.cache.delete(**{which: "k"})
        assert (len(one._cache), len(two._cache)) == (0, 0)
        await one.cache.store("k", "value")
        counted = {}
        for each in (one, two):
            text = (await one.request("GET", f"https://{each.id}.{HOST}:888/metrics")).text
            counted[each.id] = dict(
                re.findall(r'^microbus_cache_operations_total{.*op="(\w+)".* (\S+)$', text, re.M)
            )
    assert counted == {
        one.id: {"store": "2.0", "delete": "1.0"}, two.id: {"store": "1.0", "delete": "2.0"}
    }  # fmt: skip


async def test_the_error_of_a_replica_is_that_of_the_operation(make_memory):
    one, two = make_memory(HOST), make_memory(HOST)

    def refuse(request):
        raise HTTPError("full", status=507)

    two._cache.all = refuse
    async with one, two:
        cache = one.cache
        for work in (cache.load("k"), cache.store("k", "v"), cache.delete("k"), cache.clear()):
            with pytest.raises(HTTPError, match="507: full"):
                await work
    assert len(one._cache) == 0


async def test_an_answer_without_a_value_is_none(make_memory):
    one, two = make_memory(HOST), make_memory(HOST)
    two._cache.all = lambda request: Response(204)
    async with one, two:
        assert await one.cache.load("k") is None
        one._cache.hold("k", b"value")
        assert await one.cache.load("k") == b"value"


async def test_a_stored_value_is_a_copy(make_memory):
    async with make_memory(HOST) as shop:
        value = bytearray(b"tea")
        await shop.cache.store("k", value)
        value[:] = b"milk"
        assert await shop.cache.load("k") == b"tea"


async def test_values_that_are_handed_over_are_counted(make_memory):
    cache, told = make_memory(HOST)._cache, []

    async def request(method, url, *, params, body):
        assert (method, url) == ("PUT", RESCUE)
        if len(told) == 2:
            raise HTTPError("full", status=507)
        told.append((params, body))

    for key in "abcd":
        cache.hold(key, key.encode())
    assert await cache.offload(SimpleNamespace(request=request), PATIENCE) == 2
    assert told == [({"key": "d"}, b"d"), ({"key": "c"}, b"c")]
    assert (len(cache), cache.size) == (0, 0)


async def test_the_cache_belongs_to_the_control_plane(make_memory):
    one, two = make_memory(HOST), make_memory(HOST)

    @two.middleware
    async def step(request, call_next):
        raise AssertionError(request.path)

    async with one, two:
        assert {each.status for each in await _all(one, "len")} == {200}
        assert (await one.request("PUT", f"{RESCUE}?key=k", instance=two.id)).status == 200


async def test_a_replica_without_time_hands_over_nothing(make_memory, caplog):
    caplog.set_level("INFO")
    one, two = make_memory(HOST), make_memory(HOST)
    async with one, two:
        for key in "ab":
            two._cache.hold(key, b"value")
        assert await two._cache.offload(two._client, 0) == 0
        assert (len(two._cache), two._cache.size) == (0, 0)
    assert "could not hand over 2 cached values" in caplog.text


async def test_a_replica_that_shuts_down_hands_over_its_values(make):
    one, two, three = make(HOST), make(HOST), make(HOST)
    async with one, two:
        async with three:
            for n in range(20):
                three._cache.hold(f"k{n}", b"%d" % n)
        assert len(three._cache) == 0
        assert len(one._cache) + len(two._cache) == 20
        values = {key: held[0] for each in (one, two) for key, held in each._cache._held.items()}
        assert values == {f"k{n}": b"%d" % n for n in range(20)}
        one._cache.hold("last", b"value")
    # the last replica has no other to hand its values to, and does not wait
    assert len(one._cache) == len(two._cache) == 0


def test_the_size_of_the_cache_is_limited(make_memory, monkeypatch):
    monkeypatch.setattr("subtrie.connector._peer_cache._CAPACITY", 100)
    cache = make_memory(HOST)._cache
    for n in range(50):
        cache.hold(f"k{n}", b"x" * 30)
    assert list(cache._held) == ["k47", "k48", "k49"]
    cache.hold("k47", b"y" * 40)
    assert list(cache._held) == ["k48", "k49", "k47"]
    cache.hold("huge", b"z" * 101)
    assert len(cache) == 0


def test_a_replica_keeps_32_mib(make_memory):
    cache, half = make_memory(HOST)._cache, bytes(16 << 20)
    cache.hold("a", half)
    cache.hold("b", half)
    assert list(cache._held) == ["a", "b"]
    cache.hold("c", b"x")
    assert list(cache._held) == ["b", "c"]


@pytest.mark.parametrize(
    ("action", "more", "evicted"),
    [("load", {}, "b"), ("load", {"bump": "true"}, "b"), ("load", {"bump": "false"}, "a"),
     ("checksum", {"checksum": hashlib.sha256(b"x" * 30).hexdigest()}, "a")],
)  # fmt: skip
async def test_only_a_use_keeps_a_value_from_being_evicted(
    make_memory, monkeypatch, action, more, evicted
):
    monkeypatch.setattr("subtrie.connector._peer_cache._CAPACITY", 100)
    one, two = make_memory(HOST), make_memory(HOST)
    async with one, two:
        for key in "abc":
            two._cache.hold(key, b"x" * 30)
        assert {each.status for each in await _all(one, action, "a", **more)} == {200, 404}
        two._cache.hold("d", b"x" * 30)
        assert {key for key in "abcd" if two._cache.value(key) is None} == {evicted}


@pytest.mark.parametrize(
    ("change", "kept"), [(str, 1), (str.upper, 1), (lambda text: text[:-1], 0), (lambda _: "", 0)]
)
async def test_a_value_of_another_checksum_is_forgotten(make_memory, change, kept):
    one, two = make_memory(HOST), make_memory(HOST)
    async with one, two:
        two._cache.hold("k", b"value")
        await _all(one, "checksum", "k", checksum=change(hashlib.sha256(b"value").hexdigest()))
        assert len(two._cache) == kept


async def test_handlers_share_values_through_the_cache(make):
    one, two, web = make(HOST), make(HOST), make("web.example")

    for each in (one, two):

        @each.endpoint("PUT", "/keep/{key}")
        async def keep(key: str, value: str, each=each) -> None:
            await each.cache.store(key, value)

    async with one, two, web:
        at_one = f"https://{one.id}.{HOST}"
        assert await one.cache.load("k") is None
        await web.request("PUT", f"{at_one}/keep/k", json={"value": "tea"})
        assert await one.cache.load("k") == await two.cache.load("k") == b"tea"
        assert (len(one._cache), len(two._cache)) == (1, 0), "the one that computed it has it"
        await two.cache.store("k", b"milk")
        assert await one.cache.load("k") == b"milk", "the older one is forgotten"
        assert (len(one._cache), len(two._cache)) == (0, 1)
        await one.cache.store("both", "x", replicate=True)
        assert len(two._cache) == 2
        assert await two.cache.load("both") == b"x", "all hold the same"
        two._cache.hold("both", b"y")
        assert await one.cache.load("both") is None, "two values for one key are none"
        assert await two.cache.load("both") is None
        for key in ("ab", "abc", "xbc", "z"):
            await one.cache.store(key, "1")
        await two.cache.delete("z")
        await two.cache.delete(prefix="ab")
        await two.cache.delete(contains="b")
        assert len(one._cache) == 0
        await one.cache.store("k", b"1")
        await two.cache.clear()
        assert await one.cache.load("k") is None
        for wrong in ({}, {"key": "a", "prefix": "b"}):
            with pytest.raises(BusError, match="cache"):
                await one.cache.delete(**wrong)
        with pytest.raises(BusError, match="cache"):
            await one.cache.load("")


async def test_two_values_of_other_replicas_are_none(make):
    one, two, three = make(HOST), make(HOST), make(HOST)
    async with one, two, three:
        two._cache.hold("k", b"tea")
        three._cache.hold("k", b"milk")
        assert await one.cache.load("k") is None
        three._cache.hold("k", b"tea")
        assert await one.cache.load("k") == b"tea"


async def test_a_load_is_a_use_of_the_value_and_is_counted_by_where_it_was(
    make_memory, monkeypatch
):
    monkeypatch.setattr("subtrie.connector._peer_cache._CAPACITY", 100)
    one, two = make_memory(HOST), make_memory(HOST)
    async with one, two:
        for key in "abc":
            two._cache.hold(key, b"x" * 30)
        one._cache.hold("local", b"x")
        for key in ("a", "local", "missing"):
            await one.cache.load(key)
        two._cache.hold("d", b"x" * 30)
        assert [two._cache.value(key) is None for key in "abcd"] == [False, True, False, False]
        text = (await one.request("GET", f"https://{one.id}.{HOST}:888/metrics")).text
    found = re.findall(r'^microbus_cache_operations_total{.*hit="(\w+)".* (\S+)$', text, re.M)
    assert sorted(found) == [("local", "1.0"), ("miss", "1.0"), ("remote", "1.0")]


async def test_the_old_value_is_gone_while_the_new_one_is_stored(make):
    one, two = make(HOST), make(HOST)
    async with one, two:
        one._cache.hold("k", b"old")
        storing = asyncio.create_task(one.cache.store("k", "new"))
        await asyncio.sleep(0)
        assert one._cache.value("k") is None
        await storing
        assert one._cache.value("k") == b"new"


def test_a_value_that_was_not_used_for_an_hour_is_forgotten(make_memory, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("subtrie.connector._system.monotonic", lambda: now[0])
    cache = make_memory(HOST)._cache
    cache.hold("a", b"1")
    cache.hold("b", b"22")
    now[0] += 3599
    assert cache.value("a") == b"1"
    now[0] += 1
    assert cache.value("b") is None
    assert cache.value("a") == b"1"
    assert cache.size == 1
