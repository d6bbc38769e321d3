"""Requests over the bus in flight: what ends them in time, and how few objects they hold."""

from __future__ import annotations

import asyncio
import gc
from types import SimpleNamespace

import pytest

from patience import PATIENCE, until
from subtrie.connector import AckTimeout, HTTPError, RequestTimeout
from subtrie.connector._envelope import PendingRequest
from subtrie.connector._overdue import OverdueRequests
from subtrie.connector._timers import Timers

from .test_timers import ManualLoop

HOST, URL = "shop.example", "https://shop.example"


async def test_requests_that_are_overdue_end_beside_those_that_wait_longer(make_nats):
    shop, web = make_nats(HOST), make_nats("web.example")
    release = asyncio.Event()

    @shop.endpoint("GET", "/wait")
    async def wait() -> str:
        await release.wait()
        return "done"

    async with shop, web:
        long = [asyncio.create_task(web.request("GET", f"{URL}/wait")) for _ in range(50)]
        await asyncio.sleep(0)
        for _ in range(3):  # the timer is set anew for what comes while the others wait
            with pytest.raises(RequestTimeout):
                await web.request("GET", f"{URL}/wait", timeout=0.05)
            with pytest.raises(AckTimeout):
                await web.request("GET", "https://missing.example/")
        several = await asyncio.gather(
            *(web.request("GET", f"{URL}/wait", timeout=0.1 + n / 100) for n in range(20)),
            *(web.request("GET", "https://missing.example/") for _ in range(20)),
            return_exceptions=True,
        )
        assert [type(each) for each in several] == [RequestTimeout] * 20 + [AckTimeout] * 20
        release.set()
        assert {each.text for each in await asyncio.gather(*long)} == {"done"}
        assert not web._client.responses.waiting
        assert web.metrics.ack_timeouts == 23


@pytest.fixture
def watched(make_memory, monkeypatch):
    """Return a clock, the timer of requests on it, and a function that makes one of them."""
    loop, waiting = ManualLoop(), {}
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    transport = SimpleNamespace(disconnected=lambda: True)
    overdue = OverdueRequests(waiting, transport)
    monkeypatch.undo()

    def request(timeout, *, ack=None, **more):
        call = PendingRequest(loop, Timers(loop), make_memory(HOST).metrics, "subject", timeout)
        for name, value in more.items():
            setattr(call, name, value)
        waiting[len(waiting)] = call
        if ack is not None:
            overdue.watch(call, ack)
        return call

    return loop, overdue, request


def test_a_request_that_is_acknowledged_ends_at_its_own_time(watched):
    loop, _, request = watched
    call = request(10.0, ack=1.0, acked=True)
    assert [each.when for each in loop.scheduled] == [101.0]
    loop.advance(1.0)
    assert (call.stop_ack_timer, [each.when for each in loop.scheduled]) == (None, [110.0])
    loop.advance(9.0)
    assert (type(call.error), loop.scheduled) == (RequestTimeout, [])


def test_a_request_whose_acknowledgement_is_due_has_a_timer_of_its_own(watched):
    loop, overdue, request = watched
    call = request(10.0, ack=1.0)
    loop.advance(1.0)
    timer = call.stop_ack_timer
    assert timer is not None
    assert sorted(each.when for each in loop.scheduled) == [102.0, 110.0], "as it is disconnected"
    overdue._look()
    assert call.stop_ack_timer == timer, "one is enough"


def test_a_request_whose_time_ends_before_its_acknowledgement_is_due_ends_then(watched):
    loop, _, request = watched
    request(9.0, ack=1.0, acked=True)
    call = request(2.0, ack=5.0)
    loop.advance(1.0)
    assert [each.when for each in loop.scheduled] == [102.0]
    loop.advance(1.0)
    assert type(call.error) is RequestTimeout


@pytest.mark.parametrize("more", [{"response": object()}, {"ack_due": 0.0}])
def test_a_request_that_is_done_or_not_watched_is_passed_over(watched, more):
    loop, overdue, request = watched
    call = request(10.0, **{"ack_due": 101.0, **more})
    loop.advance(2.0)
    overdue._look()
    assert (call.error, call.stop_ack_timer, loop.scheduled) == (None, None, [])


def test_the_pause_between_two_looks_grows_with_the_requests(watched):
    loop, _, request = watched
    for number in range(3):
        request(1.0 + 4e-6 * number, ack=0.5, acked=True)
    loop.advance(0.5)
    assert [each.when for each in loop.scheduled] == [101.0]
    loop.advance(0.5)
    (following,) = loop.scheduled
    assert following.when == pytest.approx(101.0 + 1e-6 + 3 * 10e-6, abs=1e-7)


async def test_a_request_in_flight_holds_few_objects_for_the_garbage_collector(make_nats):
    """There were 23 for each, most of them for its two timers and its headers."""
    shop, web = make_nats(HOST), make_nats("web.example")
    release = asyncio.Event()

    @shop.endpoint("GET", "/wait")
    async def wait() -> str:
        await release.wait()
        return ""

    count = 200

    async with shop, web:
        tasks = [asyncio.create_task(web.request("GET", f"{URL}/wait")) for _ in range(count)]
        waiting = web._client.responses.waiting
        while sum(type(each) is PendingRequest for each in waiting.values()) < count:
            await asyncio.sleep(0)
        shared = {id(asyncio.get_running_loop()), id(web._runtime.timers), id(web.metrics)}
        for call in [each for each in waiting.values() if type(each) is PendingRequest]:
            held = [
                type(each).__name__
                for each in gc.get_referents(call)
                if gc.is_tracked(each) and id(each) not in shared and each is not PendingRequest
            ]
            assert held == ["Future"]
        envelopes = [each for each in gc.get_objects() if type(each).__name__ == "RequestEnvelope"]
        mine = [each for each in envelopes if each.sender is web._runtime]
        assert len(mine) == count
        assert all(each._headers is None for each in mine), "written, and not kept"
        release.set()
        await asyncio.gather(*tasks)


def test_requests_end_together_within_the_resolution_of_the_clock(watched):
    loop, _, request = watched
    now = 101.0 + 1e-6
    calls = [request(1.0, ack=5.0), request(now - 100.0, ack=5.0), request(1.1, ack=5.0)]
    waits = request(5.0, ack=now - 100.0)
    assert calls[1].expires == waits.ack_due == now
    loop.advance(1.0)
    assert [type(each.error) for each in calls] == [RequestTimeout, RequestTimeout, type(None)]
    assert waits.stop_ack_timer is not None


async def test_no_timer_is_left_when_the_connector_has_stopped(make_nats):
    web = make_nats("web.example", round_trip=PATIENCE)  # the acknowledgement is not due yet
    async with web:
        asking = asyncio.create_task(web.request("GET", URL, timeout=PATIENCE))
        overdue = web._client._overdue
        await until(lambda: overdue._handle)
        handle = overdue._handle
    with pytest.raises(HTTPError) as ended:
        await asking
    assert ended.value.status == 503
    assert (handle.cancelled(), overdue._handle) == (True, None)
