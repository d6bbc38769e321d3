"""Faults: every request still ends in exactly one response, error or timeout."""

from __future__ import annotations

import asyncio
import time

import pytest

from patience import PATIENCE, until
from subtrie.connector import HTTPError, Request, RequestTimeout
from subtrie.connector._broker import connection as broker_connection
from subtrie.connector._broker.shared import open_connections
from subtrie.connector._envelope import PendingRequest

from .nats_server import NatsServer

HOST = "shop.example"
URL = f"https://{HOST}"


def asking_now(connector):
    """The requests it waits for; announcements aside."""
    return [
        call
        for call in connector._client.responses.waiting.values()
        if isinstance(call, PendingRequest)
    ]


async def test_a_server_killed_and_restarted_under_load(make_nats, tmp_path):
    server = NatsServer(tmp_path).start()
    shop, web = make_nats(HOST, nats=server.url), make_nats("web.example", nats=server.url)

    @shop.endpoint("GET", "/{n}")
    async def echo(n: int):
        return n

    outcomes: list[object] = []
    stop = asyncio.Event()

    async def ask(start):
        n = start
        while not stop.is_set():
            n += 10
            try:
                answer = await web.request("GET", f"{URL}/{n}", timeout=3)
                outcomes.append(answer.json() == n)
            except HTTPError as error:
                outcomes.append(error.status)
                await asyncio.sleep(0.01)

    try:
        async with shop, web:
            asking = [asyncio.create_task(ask(start)) for start in range(10)]
            await until(lambda: outcomes.count(True) > 100)
            await asyncio.to_thread(server.kill)
            await asyncio.sleep(0.3)
            await asyncio.to_thread(server.start)
            before = outcomes.count(True)
            await until(lambda: outcomes.count(True) > before + 100)
            stop.set()
            await asyncio.gather(*asking)
            assert set(outcomes) <= {True, 404, 408}, set(outcomes)
            assert asking_now(web) == []
            assert (await web.request("GET", f"{URL}/5")).json() == 5
            late = await shop.subscribe("GET", "/late/x", lambda: "late")
            assert (await web.request("GET", f"{URL}/late/x")).body == b"late"
            await late.unsubscribe()
    finally:
        server.stop()


async def test_an_unreachable_server_is_a_clear_error(make_nats):
    server = make_nats(HOST, nats="nats://127.0.0.1:1")
    before, broker_connection.CONNECT_LIMIT = broker_connection.CONNECT_LIMIT, 0.3
    try:
        with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:1"):
            await server.startup()
    finally:
        broker_connection.CONNECT_LIMIT = before
    assert open_connections() == 0


async def test_a_cancelled_caller_cancels_nothing_but_itself(make):
    shop, web = make(HOST), make("web.example")
    begun, finished = asyncio.Event(), asyncio.Event()

    @shop.endpoint("GET", "/")
    async def work():
        begun.set()
        await asyncio.sleep(0.05)
        finished.set()

    async with shop, web:
        asking = asyncio.create_task(web.request("GET", URL))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(finished.wait(), PATIENCE)
        assert asking_now(web) == []


async def test_a_caller_cancelled_before_the_handler_begins_leaves_it_its_deadline(make_memory):
    shop, web = make_memory(HOST), make_memory("web.example")

    @shop.endpoint("GET", "/", timeout=0.2)
    async def work():
        await asyncio.sleep(60)

    async with shop, web:
        asking = asyncio.create_task(web.request("GET", URL))
        await asyncio.sleep(0)  # it is sent
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await until(lambda: _statuses(shop) == [408])
        assert asking_now(web) == []


@pytest.mark.parametrize("timeouts", [(0.2, 0.5), (0.5, 0.2)])
async def test_two_services_that_take_one_request_have_deadlines_of_their_own(
    make_memory, timeouts
):
    # Each subscribes the route with a queue of its own, so each gets the request.
    shop, audit, web = (make_memory(host) for host in (HOST, "audit.example", "web.example"))
    took = []

    def add(service, timeout):
        @service.endpoint("GET", f"//{HOST}/", timeout=timeout)
        async def work():
            begun = time.monotonic()
            try:
                await asyncio.sleep(60)
            finally:
                took.append((timeout, time.monotonic() - begun))

    add(shop, timeouts[0])
    add(audit, timeouts[1])
    async with shop, audit, web:
        with pytest.raises(HTTPError) as late:
            await web.request("GET", f"{URL}/")
        assert late.value.status == 408
        await until(lambda: len(took) == 2)
        assert sorted(timeout for timeout, _ in took) == sorted(timeouts)
        for timeout, seconds in took:
            assert seconds > timeout - 0.05, "not at the deadline of the other"
        await until(lambda: _statuses(shop) == _statuses(audit) == [408])


async def test_a_handler_keeps_its_deadline_when_its_caller_shuts_down(make_memory):
    # Handler and caller share a timer, on one loop; another service has answered the caller.
    shop, audit, web = (make_memory(host) for host in (HOST, "audit.example", "web.example"))
    ended = []

    @shop.endpoint("GET", f"//{HOST}/", timeout=0.5)
    async def slow():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    @audit.endpoint("GET", f"//{HOST}/")
    async def fast():
        return 1

    async with shop, audit:
        async with web:
            assert (await web.request("GET", f"{URL}/")).json() == 1
        await until(lambda: ended)


def _statuses(connector):
    served = connector.metrics.served
    return [status for labels, _, status, _ in served if labels.name == "work"]


async def test_crashing_handlers_do_not_affect_others(make):
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("GET", "/{n}")
    async def odd(n: int):
        if n % 2:
            raise SystemError("odd")
        return n

    async with shop, web:
        results = await asyncio.gather(
            *(web.request("GET", f"{URL}/{n}") for n in range(40)), return_exceptions=True
        )
        for n, result in enumerate(results):
            if n % 2:
                assert (type(result), result.status) == (HTTPError, 500)
            else:
                assert result.json() == n


@pytest.mark.parametrize("stage", ["before", "handling", "nested", "returning"])
async def test_a_deadline_may_pass_at_every_stage(make, stage):
    shop, stock, web = (make(h, round_trip=0.1) for h in (HOST, "stock.example", "web.example"))

    @shop.endpoint("GET", "/")
    async def work():
        if stage == "handling":
            await asyncio.sleep(5)
        elif stage == "nested":
            await shop.request("GET", "https://stock.example/")
        elif stage == "returning":
            # a thread cannot be stopped; its result comes after the caller has timed out
            await asyncio.shield(asyncio.to_thread(time.sleep, 0.45))
        return "late"

    @stock.endpoint("GET", "/")
    async def slow():
        await asyncio.sleep(5)

    async with shop, stock, web:
        with pytest.raises(HTTPError) as late:
            await web.request("GET", URL, timeout=0.05 if stage == "before" else 0.4)
        assert late.value.status == 408
        assert asking_now(web) == []


async def test_a_request_with_no_time_left_is_not_sent(make):
    shop, web = make(HOST, round_trip=0.2), make("web.example", round_trip=0.2)
    called = []

    @shop.endpoint("GET", "/")
    async def work():
        await asyncio.sleep(0.15)
        with pytest.raises(RequestTimeout):
            await shop.request("GET", "https://web.example/")
        return "told"

    web.endpoint("GET", "/")(lambda: called.append(1))
    async with shop, web:
        assert (await web.request("GET", URL, timeout=0.5)).body == b"told"
        assert called == []


async def test_threads_may_send_requests_through_their_own_loops(make_memory):
    shop = make_memory(HOST)
    shop.endpoint("GET", "/{n}")(lambda n: n)
    async with shop:

        def elsewhere(n):
            return asyncio.run(shop.request("GET", f"{URL}/{n}")).body

        answers = await asyncio.gather(*(asyncio.to_thread(elsewhere, n) for n in range(20)))
        assert answers == [b"%d" % n for n in range(20)]


async def test_a_mixed_load_loses_and_duplicates_nothing(make):
    shop, web = make(HOST), make("web.example")
    served: list[int] = []

    @shop.endpoint("POST", "/{n}")
    async def echo(n: int, request: Request):
        served.append(n)
        if n % 7 == 0:
            raise HTTPError("seven", status=409)
        return request.body

    async with shop, web:

        async def ask(n):
            try:
                body = b"%d" % n * (40_000 if n % 50 == 0 else 1)
                answer = await web.request("POST", f"{URL}/{n}", body=body)
                return answer.body == body
            except HTTPError as error:
                return error.status

        for batch in range(5):
            numbers = range(batch * 100, batch * 100 + 100)
            results = await asyncio.gather(*(ask(n) for n in numbers))
            assert results == [409 if n % 7 == 0 else True for n in numbers]
        assert sorted(served) == list(range(500))


async def test_a_handler_that_blocks_the_loop_causes_no_false_404(make):
    """Caller and handler share the loop, which cannot acknowledge while it is blocked."""
    shop, web = make(HOST, round_trip=0.1), make("web.example", round_trip=0.1)

    @shop.endpoint("GET", "/block/{n}")
    async def block(n: int):
        time.sleep(0.15)
        return n

    @shop.endpoint("GET", "/quick/{n}")
    async def quick(n: int):
        return n

    async with shop, web:
        paths = [f"/quick/{n}" if n % 5 else f"/block/{n}" for n in range(20)]
        answers = await asyncio.gather(*(web.request("GET", URL + path) for path in paths))
        assert [answer.json() for answer in answers] == list(range(20))


async def test_a_full_connection_fails_at_once(make_nats, monkeypatch):
    """An error at publishing is raised at once, as an ``HTTPError``."""
    web = make_nats("web.example")
    async with web:
        with pytest.raises(HTTPError) as refused:  # the headers alone are more than a message
            await web.request("GET", URL, headers={"X-Large": "x" * 200_000})
        assert refused.value.status == 431
        with monkeypatch.context() as patched:
            patched.setattr(broker_connection, "MAX_WAITING", 0)
            with pytest.raises(HTTPError, match="publish failed: full") as refused:
                await web.request("GET", URL)
            assert refused.value.status == 503
            answers = web.publish("GET", URL)
            with pytest.raises(HTTPError, match="publish failed: full"):
                await anext(answers)
        assert asking_now(web) == []
