"""Requests and responses on their way, and what ends a request that waits: each choice alone."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from types import SimpleNamespace

import pytest

from subtrie._core import control_headers
from subtrie.connector import HTTPError, Request, Response
from subtrie.connector._envelope import (
    PendingRequest,
    RequestEnvelope,
    ResponseEnvelope,
    forwarded_headers,
)
from subtrie.connector._timers import Timers

HOST, URL = "shop.example", "https://shop.example:443/a"
GIVEN = {"X-Mark": ["1"]}


def request(**more) -> RequestEnvelope:
    """Return a request with a value of its own in each field that a caller sets."""
    made = RequestEnvelope("PUT", URL, "/a", "q=1", b"body", GIVEN, budget=7.0, depth=3)
    made.message_id, made.expects = "AAAAAAAA", HOST
    for name, value in more.items():
        setattr(made, name, value)
    return made


def pending(timeout: float = 60.0, **more) -> PendingRequest:
    """Return a request that waits on the running loop."""
    loop = asyncio.get_running_loop()
    metrics = SimpleNamespace(deliveries={"memory": 0})
    made = PendingRequest(loop, Timers(loop), metrics, "subject", timeout)
    for name, value in more.items():
        setattr(made, name, value)
    return made


def response(status=200, op=control_headers.RESPONSE, source=HOST) -> ResponseEnvelope:
    made = ResponseEnvelope(status, b"%d" % status, GIVEN)
    made.op, made.source = op, source
    return made


# --- copies


def test_a_request_that_is_sent_again_is_the_same_at_another_url():
    first = request(caller=object(), deadline=5.0)
    again = first.again("https://other.example/a", 4.0)
    for name in ("method", "path", "url_query", "body", "given", "sender", "depth", "expects"):
        assert getattr(again, name) == getattr(first, name), name
    assert (again.url, again.budget) == ("https://other.example/a", 4.0)
    assert (again.message_id, again.caller, again.deadline) == ("", None, 0.0)


def test_each_receiver_of_a_request_has_headers_of_its_own():
    sent = request(caller=object(), source="web.example")
    received = sent.received()
    for name in ("method", "url", "path", "url_query", "body", "source", "budget", "depth",
                 "message_id", "caller"):  # fmt: skip
        assert getattr(received, name) == getattr(sent, name), name
    received.headers.add("X-Mark", "2")
    assert (sent.headers.all("X-Mark"), GIVEN) == (["1"], {"X-Mark": ["1"]})
    plain = Request("PUT", URL, headers={"X-Mark": "1"}, body=b"body")
    plain.source = "web.example"
    of = RequestEnvelope.of(plain)
    assert (of.method, of.url, of.body, of.source) == ("PUT", URL, b"body", "web.example")
    of.headers["X-Mark"] = "2"
    assert plain.headers["X-Mark"] == "1"


def test_the_headers_of_the_sender_are_not_added_to_those_that_were_given():
    ids = SimpleNamespace(message=lambda: "BBBBBBBB")
    sender = SimpleNamespace(ids=ids, sender_headers=lambda op: {"Microbus-Op-Code": [op]})
    sent = request(sender=sender, message_id="")
    assert sent.headers["Microbus-Op-Code"] == control_headers.REQUEST
    assert sent.headers["Microbus-Msg-Id"] == "BBBBBBBB"
    assert GIVEN == {"X-Mark": ["1"]}


def test_each_receiver_of_a_response_has_headers_of_its_own():
    error = HTTPError("no", status=404)
    sent = response(404, control_headers.ERROR)
    sent.message_id, sent.error = "AAAAAAAA", error
    received = sent.received()
    for name in ("status", "body", "source", "error", "op", "message_id"):
        assert getattr(received, name) == getattr(sent, name), name
    received.headers.add("X-Mark", "2")
    assert (sent.headers.all("X-Mark"), GIVEN) == (["1"], {"X-Mark": ["1"]})
    plain = Response(404, b"x", headers={"X-Mark": "1"})
    plain.source, plain.error = HOST, error
    of = ResponseEnvelope.of(plain)
    assert (of.status, of.body, of.source, of.error) == (404, b"x", HOST, error)


FORWARDED = [
    "Accept-Language", "Microbus-Actor", "Traceparent", "Tracestate", "X-Forwarded-For",
    "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix", "X-Forwarded-Path",
    "Microbus-Baggage-Tenant",
]  # fmt: skip
OTHERS = [
    "Accept", "Accept-Encoding", "Authorization", "Content-Type", "Cookie", "Forwarded",
    "Microbus-Baggage", "Microbus-From-Host", "Microbus-Msg-Id", "X-Forwarded", "X-Mark",
]  # fmt: skip


@pytest.mark.parametrize("written", [False, True])
def test_the_headers_that_go_along_with_nested_calls(written):
    given = {name: [name.lower(), "2"] for name in [*FORWARDED, *OTHERS]}
    made = RequestEnvelope("GET", URL, "/a", "", b"", given)
    expected = {name: given[name] for name in FORWARDED}
    if written:  # as of a request that came over the bus: then its headers are what counts
        assert made.headers.all("X-Mark") == ["x-mark", "2"]
        made.headers["Traceparent"] = "3"
        expected["Traceparent"] = ["3"]
    assert forwarded_headers(made) == expected


# --- what a request that waits receives


@pytest.mark.parametrize("op", [control_headers.ACK, control_headers.RESPONSE])
async def test_whatever_comes_back_acknowledges_a_request(op):
    call, acks = pending(), []
    call.on_ack = acks.append
    call.receive(response(op=op))
    assert (call.is_acked(), call.done) == (True, op != control_headers.ACK)
    assert len(acks) == (op == control_headers.ACK)
    call = pending()
    call.receive(response(op=op))  # without a function that is told
    assert call.is_acked()


@pytest.mark.parametrize("by", ["receive", "take", "fail"])
@pytest.mark.parametrize("then", ["receive", "take", "fail"])
async def test_a_request_completes_once(by, then):
    call, outcomes = pending(), []
    call.wait()
    for number, how in enumerate((by, then), 201):
        if how == "fail":
            call.fail(HTTPError("failed", status=number))
        else:
            getattr(call, how)(response(number))
        outcomes.append((call.response or call.error).status)
        assert (call.response is None) is (by == "fail")
        assert (call.error is None) is (by != "fail")
    assert outcomes == [201, 201]
    await call._future
    call.close()


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize(
    ("expects", "source", "right"),
    [("", HOST, True), (HOST, HOST, True), (HOST, "evil.example", False)],
)
async def test_a_response_in_process_is_of_the_host_that_was_asked(
    elsewhere, expects, source, right
):
    call = pending(expects=expects)
    waiting = call.wait()
    if elsewhere:
        thread = threading.Thread(target=call.take, args=(response(source=source),))
        thread.start()
        await asyncio.to_thread(thread.join)
    else:
        call.take(response(source=source))
    await waiting
    call.close()
    assert call._metrics.deliveries["memory"] == 1
    if right:
        assert (call.response.status, call.error) == (200, None)
    else:
        assert call.response is None
        assert call.error.status == 502
        assert "evil.example responded, not shop.example" in str(call.error)


# --- the deadline of a handler that shares the timer of its caller


async def test_a_request_limits_one_handler_and_none_once_it_is_complete():
    async def handler() -> None:
        pass

    tasks = [asyncio.ensure_future(handler()) for _ in range(2)]
    for complete in ("", "response", "error"):
        call = pending()
        if complete == "response":
            call.receive(response())
        elif complete:
            call.fail(HTTPError("failed", status=500))
        taken = [call.limit(task, call.began, begins=False) for task in tasks]
        assert taken == [not complete, False], complete
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("cancelled_too", [False, True])
async def test_a_deadline_takes_back_its_own_cancellation_alone(cancelled_too):
    call, passed = pending(), []

    async def handler() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            passed.append((call.passed(), asyncio.current_task().cancelling()))

    task = asyncio.ensure_future(handler())
    assert call.limit(task, call.began, begins=True)
    call._on_time()  # before the handler has begun: cancelled now, it could not respond
    assert task.cancelling() == 0
    await asyncio.sleep(0)
    if cancelled_too:
        task.cancel()
    await asyncio.wait((task,))
    assert passed == [(not cancelled_too, int(cancelled_too))]
    assert not call.done, "the caller waits until its own time is over"
    call.close()


async def test_a_handler_that_is_done_has_no_deadline():
    call = pending(timeout=0.05)
    task = asyncio.ensure_future(asyncio.Event().wait())
    await asyncio.sleep(0)
    assert call.limit(task, call.began + 0.01, begins=False)
    call.stop()
    assert not call.passed()
    await call.wait()
    assert call.error.status == 408
    assert (task.cancelling(), call._timeout[0]) == (0, call.expires)
    task.cancel()


async def test_a_handler_that_goes_on_after_its_deadline_ends_no_later_than_the_request():
    call, ended = pending(), asyncio.Event()

    async def handler() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await ended.wait()
        await ended.wait()

    task = asyncio.ensure_future(handler())
    await asyncio.sleep(0)
    assert call.limit(task, call.began, begins=False)
    call._on_time()
    await asyncio.sleep(0)
    assert (call.done, call._timeout is not None) == (False, True)
    assert call._timeout[0] == call.expires
    call._on_time()
    assert call.error.status == 408
    ended.set()
    await task


@pytest.mark.parametrize(("handling", "passed", "kept"), [
    (False, False, 0), (True, False, 1), (True, True, 0),
])  # fmt: skip
async def test_a_call_that_is_closed_keeps_the_timer_of_a_handler_alone(handling, passed, kept):
    call = pending()
    task = asyncio.ensure_future(asyncio.Event().wait())
    await asyncio.sleep(0)
    if handling:
        assert call.limit(task, call.expires, begins=False)
    waiting = call.wait()
    assert len(call._timers) == 1
    if passed:
        call._timers.cancel(call._timeout)
        call._on_time()
        assert len(call._timers) == 1
    call.close()
    assert len(call._timers) == kept
    task.cancel()
    waiting.cancel()
