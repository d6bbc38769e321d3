"""Attacks of hostile peers: places, bytes, answers for others, long headers."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading

import pytest

from patience import until, wait_until
from subtrie.connector import (
    Client,
    Headers,
    HTTPError,
    RequestTimeout,
    _control,
    _runner,
    _server,
    _threads,
)
from subtrie.connector._envelope import ResponseEnvelope
from subtrie.connector._fragments import Reassembler
from subtrie.connector._identity import _return_subject, return_subject
from subtrie.connector._limits import Backlog
from subtrie.connector._message import Request
from subtrie.connector._responses import ResponseStream
from subtrie.connector._routing import KnownResponders
from subtrie.connector._runner import Places
from subtrie.connector._threads import MAX_THREADS, SharedThreads

HOST = "shop.example"


def part(size=1):
    headers = Headers({"Microbus-Fragment": "1/2"})
    return Request("POST", "https://shop.example/", headers=headers, body=b"x" * size)


def test_one_source_does_not_lock_others_out_of_fragmented_requests():
    held = Reassembler(max_body=1000, max_fragments=8, silence=1.0)
    for n in range(1024):
        held.begin(("evil.example", "id-e", str(n)), 2, now=0, ends=9)
    with pytest.raises(HTTPError) as caught:
        held.begin(("evil.example", "id-e", "more"), 2, now=0, ends=9)
    assert caught.value.status == 503
    for n in range(400):
        key = (f"shop{n % 4}.example", "id-s", str(n))
        held.begin(key, 2, now=0, ends=9)
        assert key in held
    assert len(held) == 1024
    with pytest.raises(RequestTimeout):
        held.add(("evil.example", "id-e", "0"), 1, 2, part(), now=0)


def test_bytes_of_fragments_are_bounded_and_shared():
    held = Reassembler(max_body=1000, max_fragments=8, silence=1.0)
    for n in range(8):
        key = ("evil.example", "id-e", str(n))
        held.begin(key, 3, now=0, ends=9)
        held.add(key, 1, 3, part(990), now=0)
    key = ("shop.example", "id-s", "1")
    held.begin(key, 2, now=0, ends=9)
    assert held.add(key, 1, 2, part(500), now=0) is None
    assert held.add(key, 2, 2, part(400), now=0).body == b"x" * 900
    assert len(held) == 7
    key = ("evil.example", "id-e", "more")
    held.begin(key, 3, now=0, ends=9)
    held.add(key, 1, 3, part(990), now=0)
    held.begin(("evil.example", "id-e", "last"), 3, now=0, ends=9)
    with pytest.raises(HTTPError) as caught:
        held.add(("evil.example", "id-e", "last"), 1, 3, part(990), now=0)
    assert caught.value.status == 503
    for key in list(held._open):
        held._end(key)
    assert (held._size, dict(held._places), dict(held._bytes)) == (0, {}, {})


async def test_requests_at_work_are_bounded_and_shared(make):
    shop, evil, web = make(HOST, max_at_work=4), make("evil.example"), make("web.example")
    go = asyncio.Event()

    @shop.endpoint("GET", "/slow")
    async def slow():
        await go.wait()

    async def status(caller):
        try:
            return (await caller.request("GET", f"https://{HOST}/slow", timeout=10)).status
        except HTTPError as error:
            return error.status

    async with shop, evil, web:
        evils = [asyncio.ensure_future(status(evil)) for _ in range(10)]
        while sum(each.done() for each in evils) < 6:
            await asyncio.sleep(0.01)
        webs = [asyncio.ensure_future(status(web)) for _ in range(4)]
        while sum(each.done() for each in webs) < 2:
            await asyncio.sleep(0.01)
        assert (await web.request("GET", f"https://{HOST}:888/ping")).status == 200
        go.set()
        assert sorted(await asyncio.gather(*evils)) == [200] * 4 + [503] * 6
        assert sorted(await asyncio.gather(*webs)) == [200] * 2 + [503] * 2
        assert shop._server.runner.places.taken == 0
        assert await status(web) == 200


def test_places_are_given_back():
    places = Places(2)

    def take(source: str) -> bool:
        admitted = places.admits(source)
        if admitted:
            places.take(source)
        return admitted

    assert [take("a") for _ in range(3)] == [True, True, False]
    assert take("b")
    assert not take("b")
    for source in "aab":
        places.give(source)
    assert (places.taken, dict(places._by_source)) == (0, {})
    with pytest.raises(ValueError, match="max_at_work"):
        Places(0)


async def test_a_typed_client_takes_no_response_of_another_host(make):
    shop, evil, web = make(HOST), make("evil.example"), make("web.example")
    client, lenient = Client(HOST), Client(HOST, source=None)
    delegated = Client(HOST, source="evil.example")

    async def who() -> str:
        raise NotImplementedError

    calls = [each.call("GET", "/who")(who) for each in (client, lenient, delegated)]
    shop.endpoint("GET", "/who", queue=None)(lambda: "shop")

    @evil.endpoint("GET", f"//{HOST}/who", queue=None)
    async def forged():
        return "evil"

    async with evil, web:
        with pytest.raises(HTTPError) as caught:
            await calls[0].within(1.0)(web)
        assert caught.value.status in (404, 408, 502)
        assert await calls[1](web) == await calls[2](web) == "evil"
        assert (await web.request("GET", f"https://{HOST}/who")).source == "evil.example"
        if web._transport.nats is not None:  # the true answer comes, and the other is not taken
            async with shop:
                for _ in range(10):
                    assert await calls[0](web) == "shop"


async def test_a_queue_name_of_another_service_suppresses_no_responses():
    known = KnownResponders()

    def response(source, queue, op):
        made = ResponseEnvelope(200, source.encode())
        made.headers = Headers({"Microbus-Queue": queue, "Microbus-From-Id": "id-1"})
        made.source, made.op = source, op
        return made

    def stream():
        return ResponseStream(asyncio.get_running_loop(), "s", 1.0, known, lambda: None)

    first = stream()
    for op in ("Ack", "Res"):
        first.receive(response(HOST, HOST, op))
    first._on_ack_timeout()
    assert [each.source async for each in first] == [HOST]
    second = stream()
    for op in ("Ack", "Res"):
        second.receive(response("evil.example", HOST, op))
    for op in ("Ack", "Res"):
        second.receive(response(HOST, HOST, op))
    second._on_ack_timeout()
    assert [each.source async for each in second] == ["evil.example", HOST]


def test_a_long_instance_id_fills_no_cache():
    before = _return_subject.cache_info().currsize
    for n in range(50):
        assert return_subject("p", "a.b", "c.d", "id-" + "x" * 60_000 + str(n)) is None
    assert _return_subject.cache_info().currsize == before


async def test_requests_that_wait_for_a_blocked_loop_are_bounded(make_nats, monkeypatch):
    monkeypatch.setattr(_server, "_MOST_WAITING", 20)
    shop, web = make_nats(HOST), make_nats("web.example")
    blocking, released = threading.Event(), threading.Event()

    @shop.endpoint("GET", "/block")
    async def block():
        blocking.set()
        assert released.wait(30)

    @shop.endpoint("GET", "/hello")
    async def hello() -> str:
        return "hello"

    async def serve():
        async with shop:
            ready.set()
            while not done.is_set():
                await asyncio.sleep(0.01)

    async def ask():
        try:
            return (await web.request("GET", f"https://{HOST}/hello")).status
        except HTTPError as error:
            return error.status

    ready, done = threading.Event(), threading.Event()
    served = asyncio.create_task(asyncio.to_thread(asyncio.run, serve()))
    try:
        await asyncio.to_thread(ready.wait, 20)
        async with web:
            blocked = asyncio.create_task(web.request("GET", f"https://{HOST}/block"))
            await asyncio.to_thread(blocking.wait, 20)
            asked = [asyncio.create_task(ask()) for _ in range(100)]
            while sum(each.done() for each in asked) < 80:
                await asyncio.sleep(0.01)
            released.set()
            statuses = await asyncio.gather(*asked)
            await blocked
            assert await ask() == 200
    finally:
        released.set()
        done.set()
        await served
    assert (statuses.count(200), statuses.count(503)) == (20, 80)
    assert shop.metrics.rejects["overload"] == 80


def test_a_backlog_is_bounded_in_bytes_too():
    backlog = Backlog(10, 1000)
    assert backlog.add(600)
    assert not backlog.add(401)
    assert backlog.add(400)
    assert not backlog.add(1)
    backlog.remove(600)
    assert backlog.add(600)


def test_the_places_in_excess_are_bounded():
    places = Places(10)
    for source, most in (("a", 10), ("b", 5), ("c", 3), ("d", 2)):
        for _ in range(most):
            assert places.admits(source)
            places.take(source)
    assert places.taken == 20
    assert not places.admits("e"), "it holds less than its share, but twice the number is taken"


async def test_ten_thousand_requests_of_four_bodies_may_wait_for_the_event_loop(make_memory):
    async with make_memory(HOST, max_body=1000) as shop:
        backlog = shop._server._backlog
        for _ in range(10_000):
            assert backlog.add(0)
        assert not backlog.add(0)
    async with make_memory(HOST, max_body=1000) as shop:
        assert not shop._server._backlog.add(4001)
        assert shop._server._backlog.add(4000)


async def test_bytes_at_work_are_bounded_and_shared(make_nats):
    size = 100_000
    shop = make_nats(HOST, max_body=size)
    evil, web = make_nats("evil.example"), make_nats("web.example")
    go = asyncio.Event()

    @shop.endpoint("POST", "/slow")
    async def slow(request: Request) -> None:
        await go.wait()

    async def status(caller):
        try:
            made = await caller.request(
                "POST", f"https://{HOST}/slow", body=b"x" * (size // 2), timeout=30
            )
            return made.status
        except HTTPError as error:
            return error.status

    async with shop, evil, web:
        places = shop._server.runner.places
        most, evils = 2 * _runner.MOST_BODIES, []  # of these requests
        for number in range(20):
            evils.append(asyncio.ensure_future(status(evil)))
            if number < most:  # one by one: those that wait for the loop are bounded too
                await until(lambda taken=(number + 1) * size // 2: places.taken_bytes >= taken)
        await until(lambda: sum(each.done() for each in evils) >= 20 - most)
        assert places.taken_bytes == _runner.MOST_BODIES * size
        webs = [asyncio.ensure_future(status(web)) for _ in range(4)]
        await until(lambda: places.taken_bytes == (_runner.MOST_BODIES + 2) * size)
        go.set()
        assert (await asyncio.gather(*evils)).count(200) <= most
        assert await asyncio.gather(*webs) == [200] * 4
        assert (places.taken, places.taken_bytes, places._bytes) == (0, 0, {})


def test_bytes_of_places_are_given_back_and_bounded_in_sum():
    places = Places(100, 10)
    for source in "aaaaaaabbbcccddeeff":
        if places.admits(source, 2):
            places.take(source)
            places.add_bytes(source, 2)
    # All that there is, then a half, a third and so on in excess of it, up to as much again.
    assert places._bytes == {"a": 10, "b": 4, "c": 2, "d": 2, "e": 2}
    assert places.taken_bytes == 20
    for source in "aaaaabbcde":
        places.give(source)
        places.add_bytes(source, -2)
    assert (places.taken, places.taken_bytes, places._bytes) == (0, 0, {})


async def test_blocking_functions_of_one_source_leave_threads_for_others(make):
    shop, evil, web = make(HOST), make("evil.example"), make("web.example")
    go, seen = threading.Event(), []

    @shop.endpoint("GET", "/block")
    def block():
        seen.append(1)
        go.wait()

    @shop.endpoint("GET", "/quick")
    def quick():
        return "done"

    async with shop, evil, web:
        evils = [
            asyncio.ensure_future(evil.request("GET", f"https://{HOST}/block", timeout=60))
            for _ in range(3 * MAX_THREADS)
        ]
        try:
            await until(lambda: len(seen) == MAX_THREADS)
            for _ in range(3):
                made = await web.request("GET", f"https://{HOST}/quick", timeout=30)
                assert made.body == b"done"
            assert len(seen) == MAX_THREADS
        finally:
            go.set()
        await asyncio.gather(*evils)
        assert len(seen) == 3 * MAX_THREADS


def test_calls_that_wait_for_a_thread_take_turns_by_source():
    threads, go, order = SharedThreads(1), threading.Event(), []
    first = threads.submit("a", go.wait)
    second = threads.submit("b", go.wait)  # in excess
    waiting = [threads.submit("a", lambda n=n: order.append(f"a{n}")) for n in range(3)]
    waiting += [threads.submit("c", lambda n=n: order.append(f"c{n}")) for n in range(2)]
    threads.submit("e", lambda: order.append("e")).cancel()
    try:
        cancelled = threads.submit("d", lambda: order.append("d"))
        cancelled.cancel()
        threads.forget("d", cancelled)
        assert "d" not in threads._waiting
        cancelled = threads.submit("c", lambda: order.append("cancelled"))
        cancelled.cancel()
        for _ in range(2):
            threads.forget("c", cancelled)
            assert list(threads._waiting["c"]) == waiting[3:]
    finally:
        go.set()
    for each in (first, second, *waiting):
        each.result(60)
    assert sorted(order) == ["a0", "a1", "a2", "c0", "c1"]
    assert order.index("c1") < 4 or order.index("a2") == 4
    wait_until(lambda: threads._taken == 0)
    for call, error in ((lambda: 1 / 0, ZeroDivisionError), (sys.exit, SystemExit)):
        with pytest.raises(error):
            threads.submit("a", call).result(60)


async def test_a_call_in_a_thread_has_the_context_of_its_task():
    variable = contextvars.ContextVar("variable", default="none")
    variable.set("of the task")
    assert await _threads.run_in_thread("a", variable.get) == "of the task"


async def test_a_task_that_is_cancelled_leaves_nothing_that_waits_for_a_thread(monkeypatch):
    threads, go = SharedThreads(1), threading.Event()
    monkeypatch.setattr(_threads, "_threads", threads)
    calls = [threads.submit(source, go.wait) for source in "ab"]
    try:
        task = asyncio.ensure_future(_threads.run_in_thread("a", go.wait))
        await until(lambda: "a" in threads._waiting)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert threads._waiting == {}
    finally:
        go.set()
    for each in calls:
        each.result(60)


@pytest.mark.parametrize(
    ("most", "sources", "taken"),
    [(5, "aaaaaaabbbcccddeeff", {"a": 5, "b": 2, "c": 1, "d": 1, "e": 1}),
     (2, "aabbccdd", {"a": 2, "b": 1, "c": 1})],
)  # fmt: skip
def test_threads_are_bounded_in_sum_and_by_source_and_given_back(most, sources, taken):
    threads, go = SharedThreads(most), threading.Event()
    calls = [threads.submit(source, go.wait) for source in sources]
    try:
        assert threads._by_source == taken
        wait_until(lambda: sum(each.running() for each in calls) == 2 * most)
    finally:
        go.set()
    for each in calls:
        each.result(60)
    wait_until(lambda: threads._taken == 0)
    with threads._lock:
        assert (threads._by_source, threads._waiting) == ({}, {})


def test_all_calls_of_a_source_begin_that_fit_when_its_share_rises():
    """One began for each thread that was given back, and the others waited beside free threads."""
    threads, go, leave = SharedThreads(24), threading.Event(), threading.Event()
    calls = [threads.submit("b", go.wait) for _ in range(24)]
    last = threads.submit("a", leave.wait)
    calls += [threads.submit(source, go.wait) for source in "cd" * 7 + "d" * 4]
    try:
        assert threads._by_source == {"a": 1, "b": 24, "c": 6, "d": 6}  # a fourth is for each
        leave.set()
        last.result(60)
        wait_until(lambda: threads._by_source == {"b": 24, "c": 7, "d": 8})
        later = threads.submit("d", go.wait)
        assert {source: list(some) for source, some in threads._waiting.items()} == {
            "d": [*calls[-3:], later]
        }
    finally:
        leave.set()
        go.set()
    for each in (*calls, later):
        each.result(60)


async def test_requests_to_the_control_plane_are_bounded(make, monkeypatch):
    monkeypatch.setattr(_runner, "MAX_CONTROL", 8)
    shop, evil = make(HOST), make("evil.example")
    asked, go = [], asyncio.Event()
    shop.config("Limit", default="1")

    async with shop, evil:

        async def read():
            asked.append(1)
            await go.wait()
            return True, {}, []

        shop._configuration._read = read

        async def status():
            try:
                url = f"https://{HOST}:888/config-refresh"
                return (await evil.request("POST", url, timeout=30)).status
            except HTTPError as error:
                return error.status

        evils = [asyncio.ensure_future(status()) for _ in range(40)]
        # The announcements of the two connectors may have had places too.
        await until(lambda: sum(each.done() for each in evils) >= 32)
        go.set()
        statuses = await asyncio.gather(*evils)
        assert set(statuses) == {200, 503}
        assert 4 <= statuses.count(200) <= 8
        assert len(asked) <= 2, "one reads, and one more for those who asked meanwhile"
        assert shop._server.runner.control_places.taken == 0


async def test_a_running_refresh_serves_all_who_ask(make_memory):
    shop, texts = make_memory(HOST, configurator="optional"), []
    shop.config("Limit", default="1")
    async with shop:
        configuration, value = shop._configuration, "old"

        async def read():
            texts.append(value)
            await asyncio.sleep(0.05)
            return True, {}, []

        configuration._read = read
        first = [asyncio.ensure_future(configuration.refresh()) for _ in range(3)]
        await until(lambda: texts)
        value = "new"  # what is being read may be old: all who ask now share another reading
        await asyncio.gather(*(configuration.refresh() for _ in range(1000)), *first)
        assert texts in (["old", "new"], ["old", "old", "new"])
        await configuration.refresh()
        assert texts[-2:] == ["new", "new"]
        asking = [asyncio.ensure_future(configuration.refresh()) for _ in range(2)]
        await asyncio.sleep(0)
    assert all(each.done() for each in asking) or await asyncio.wait(asking)


async def test_the_description_is_made_once_while_the_endpoints_stay(make_memory, monkeypatch):
    made, shop = [], make_memory(HOST)
    describe = _control.description
    monkeypatch.setattr(_control, "description", lambda *a: (made.append(1), describe(*a))[1])
    url = f"https://{HOST}:888/openapi.json"

    @shop.endpoint("GET", "/one")
    async def one() -> str:
        return ""

    async with shop:
        for _ in range(3):
            body = (await shop.request("GET", url)).body
        assert len(made) == 1
        await shop.endpoints[0].unsubscribe()
        assert (await shop.request("GET", url)).body != body
        assert len(made) == 2


@pytest.mark.parametrize("plain", [False, True])
async def test_a_large_typed_body_is_decoded_off_the_loop(make, monkeypatch, plain):
    shop, web = make(HOST, max_body=1 << 20), make("web.example", max_body=1 << 20)
    threads: list[int] = []

    if plain:

        @shop.endpoint("POST", "/")
        def total(items: list[int]) -> int:
            return sum(items)

    else:

        @shop.endpoint("POST", "/")
        async def total(items: list[int]) -> int:
            threads.append(threading.get_ident())
            return sum(items)

    arguments = shop.endpoints[0].arguments
    decode = arguments._given
    monkeypatch.setattr(
        arguments, "_given", lambda each: (threads.append(threading.get_ident()), decode(each))[1]
    )
    shop.endpoints[0].bind = arguments.binder()

    async with shop, web:
        for count, moves in ((10, False), (_threads.LARGE_BODY, True)):
            threads.clear()
            body = {"items": [1] * count}
            made = await web.request("POST", f"https://{HOST}/", json=body, timeout=60)
            assert made.json() == count
            assert (threads[0] != threading.get_ident()) == moves
            if not plain:
                assert threads[1] == threading.get_ident(), "the handler runs on the loop"
        with pytest.raises(HTTPError) as caught:
            await web.request(
                "POST", f"https://{HOST}/", json={"items": ["x"] * _threads.LARGE_BODY}
            )
        assert caught.value.status == 400


async def test_a_large_typed_response_is_decoded_off_the_loop(make, monkeypatch):
    shop, web = make(HOST, max_body=1 << 20), make("web.example", max_body=1 << 20)
    client = Client(HOST)

    @shop.endpoint("GET", "/")
    async def items(count: int, bad: bool = False) -> list:
        return (["x"] if bad else [1]) * count

    @client.call("GET", "/")
    async def numbers(count: int, bad: bool = False) -> list[int]: ...

    threads: list[int] = []
    read = numbers._result.read
    monkeypatch.setattr(
        numbers._result, "read", lambda each: (threads.append(threading.get_ident()), read(each))[1]
    )
    async with shop, web:
        for count, moves in ((10, False), (_threads.LARGE_BODY, True)):
            threads.clear()
            assert await numbers(web, count) == [1] * count
            assert (threads[0] != threading.get_ident()) == moves
        with pytest.raises(HTTPError) as caught:
            await numbers(web, _threads.LARGE_BODY, bad=True)
        assert caught.value.status == 502
