"""Envelopes: requests and responses on their way, and the requests that wait for a response.

In process these objects themselves are delivered: each receiver has its own headers, the bytes of
the body are shared. A handler on the caller's own loop shares the timer of the pending request.
"""

from __future__ import annotations

import asyncio
import contextlib
import types
from asyncio import _get_running_loop
from collections.abc import Awaitable, Callable, Generator
from contextvars import ContextVar
from typing import Any, Protocol

from .._core import control_headers
from .._core.errors import SubtrieError
from ._errors import AckTimeout, HTTPError, RequestTimeout
from ._headers import Headers, HeaderValues
from ._message import Request, Response
from ._metrics import Metrics
from ._runtime import Runtime
from ._timers import Timeout, Timers, has_begun

_NO_VALUES: HeaderValues = {}


class Limit(Protocol):
    """A deadline of a running handler: of its own, or that of a caller on the same loop."""

    def stop(self) -> None:
        """Cancel the deadline: the handler is done."""

    def passed(self) -> bool:
        """Return whether the deadline alone cancelled the handler; takes the cancellation back."""


class RequestEnvelope(Request):
    """A request on its way.

    Attributes:
        sender: The runtime of the sender, if the headers are not written yet.
        given: The headers that the sender gave; never modified.
        message_id: The id by which the response is matched.
        depth: The number of calls in the chain.
        caller: The pending request, if the sender is in this process.
        deadline: When the handler must be done, on the clock of its loop.
        limit: The deadline that is armed, or None.
        task: The task of the handler, if it runs over more than one turn of the loop.
        expects: The host that must respond; empty for any.
    """

    __slots__ = (
        "caller",
        "deadline",
        "depth",
        "expects",
        "given",
        "limit",
        "message_id",
        "sender",
        "task",
    )

    def __init__(
        self,
        method: str,
        url: str,
        path: str,
        url_query: str,
        body: bytes,
        given: HeaderValues = _NO_VALUES,
        sender: Runtime | None = None,
        budget: float = 0.0,
        depth: int = 0,
        message_id: str = "",
    ) -> None:
        # The slots of ``Request``, without the cost of a second call.
        self.method, self.url, self.path, self.url_query = method, url, path, url_query
        self.body, self.budget, self.depth, self.message_id = body, budget, depth, message_id
        self.arguments = {}
        self.source = "" if sender is None else sender.host
        self.attested = False
        self.actor = self._headers = self._query = None
        self.given, self.sender = given, sender
        self.caller: PendingRequest | None = None
        self.deadline = 0.0
        self.expects = ""
        self.limit: Limit | None = None
        self.task: asyncio.Task[None] | None = None

    def again(self, url: str, budget: float) -> RequestEnvelope:
        """Return a request to be sent once more, to another URL of the same path.

        Args:
            url: The URL.
            budget: The time that is left, in seconds.
        """
        again = RequestEnvelope(
            self.method, url, self.path, self.url_query, self.body, self.given, self.sender, budget,
            self.depth,
        )  # fmt: skip
        again.expects = self.expects
        return again

    def _written_headers(self) -> Headers:
        values = self.given.copy()
        if self.sender is not None:
            values |= self.sender.sender_headers(control_headers.REQUEST)
            values[control_headers.CALL_DEPTH] = [str(self.depth)]
            values[control_headers.TIME_BUDGET] = [control_headers.duration(self.budget)]
            values[control_headers.MSG_ID] = [self.identified()]
        return Headers.of(values)

    def identified(self) -> str:
        """Return the message id; one that stays in this process has none until it is read."""
        if not self.message_id and self.sender is not None:
            self.message_id = self.sender.ids.message()
        return self.message_id

    def header(self, name: str) -> str:
        """Return the first value of a header that the sender gave; empty if there is none.

        The headers are not written for it.

        Args:
            name: The name in canonical form.
        """
        values = self.given if self._headers is None else self._headers.lists
        several = values.get(name)
        return several[0] if several else ""

    @classmethod
    def of(cls, request: Request) -> RequestEnvelope:
        """Return an envelope of a request: headers of its own, the same body.

        Args:
            request: The request.
        """
        copy = cls(request.method, request.url, request.path, request.url_query, request.body)
        copy.headers, copy.source = request.headers.copy(), request.source
        return copy

    def received(self) -> RequestEnvelope:
        """Return the request for another receiver: headers of its own, the same body."""
        copy = self.of(self)
        copy.budget, copy.depth, copy.message_id = self.budget, self.depth, self.message_id
        copy.caller = self.caller
        return copy


class ResponseEnvelope(Response):
    """A response or an acknowledgement on its way.

    Attributes:
        op: The operation code.
        message_id: The id of the request, once it was received.
        request: The request, on the side of the responder.
        given: The headers that the handler gave; never modified.
        sender: The runtime of the responder, if the headers are not written yet.
        group: The queue name of the endpoint, or None.
    """

    __slots__ = ("given", "group", "message_id", "op", "request", "sender")

    def __init__(self, status: int, body: bytes, given: HeaderValues = _NO_VALUES) -> None:
        self.status, self.body, self.given = status, body, given
        self.source = self.op = self.message_id = ""
        self.error = self._headers = None
        self.sender: Runtime | None = None
        self.request: RequestEnvelope | None = None
        self.group: str | None = None

    def sealed(
        self, op: str, sender: Runtime, group: str | None, request: RequestEnvelope
    ) -> ResponseEnvelope:
        """Say who responds to which request; returns the response itself.

        Args:
            op: The operation code.
            sender: The responder.
            group: The queue name of the endpoint, or None.
            request: The request.
        """
        self.op, self.sender, self.group, self.request = op, sender, group, request
        self.source = sender.host
        return self

    def _written_headers(self) -> Headers:
        values = self.given.copy()
        if self.sender is not None:
            values |= self.sender.sender_headers(self.op, self.group)
            assert self.request is not None
            values[control_headers.MSG_ID] = [self.request.identified()]
        return Headers.of(values)

    @property
    def id(self) -> str:
        """The id of the responding instance."""
        if self._headers is None and self.sender is not None:
            return self.sender.id
        return super().id

    @property
    def locality(self) -> str:
        """The locality of the responder, such as ``us-west-b-1``; empty if not announced."""
        if self._headers is None and self.sender is not None:
            return self.sender.locality
        return super().locality

    @classmethod
    def of(cls, response: Response) -> ResponseEnvelope:
        """Return an envelope of a response: headers of its own, the same body.

        Args:
            response: The response.
        """
        copy = cls(response.status, response.body)
        copy.headers, copy.source = response.headers.copy(), response.source
        copy.error = response.error
        return copy

    def received(self) -> ResponseEnvelope:
        """Return the response for another receiver: headers of its own, the same body."""
        copy = self.of(self)
        copy.op, copy.message_id = self.op, self.message_id
        return copy


class PendingRequest:
    """A request that waits for one response: it completes once, with a response or an error.

    A handler on the caller's own loop shares its timer: the timer first cancels the handler at its
    deadline, then ends the request. If that handler begins in the next turn of the loop, the caller
    waits for this turn first: most handlers are done then, and neither a future nor a timer is
    needed.

    Attributes:
        loop: The caller's event loop.
        subject: The subject of the request.
        began: When it was made, on the loop's clock.
        expires: When the time budget is used up, on the loop's clock.
        acked: Whether it was acknowledged.
        response: The response, or None.
        error: The error, or None.
        on_ack: Called with each acknowledgement, unless None.
        sent: When it was sent over the bus, on the monotonic clock; 0 if it was not.
        expects: The host that must respond; empty for any.
        message_id: The id by which its response is known; empty if it stays in this process.
        stop_ack_timer: Stops the timer of the acknowledgement, unless None.
        ack_due: When its acknowledgement is due, if the timer of all requests watches it; else 0.
    """

    __slots__ = (
        "_begins", "_closed", "_deadline", "_future", "_handler", "_handling", "_metrics",
        "_passed", "_timeout", "_timers", "ack_due", "acked", "began", "error", "expects",
        "expires", "loop", "message_id", "on_ack", "response", "sent", "stop_ack_timer",
        "subject",
    )  # fmt: skip

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        timers: Timers,
        metrics: Metrics,
        subject: str,
        timeout: float,
    ) -> None:
        self.loop, self._timers, self._metrics, self.subject = loop, timers, metrics, subject
        self.began = loop.time()
        self.expires = self.began + timeout
        self.acked = False
        self.response: ResponseEnvelope | None = None
        self.error: SubtrieError | None = None
        self.on_ack: Callable[[ResponseEnvelope], None] | None = None
        self.sent = 0.0
        self.expects = self.message_id = ""
        self._future: asyncio.Future[None] | None = None
        self.stop_ack_timer: Callable[[], None] | None = None
        self._timeout: Timeout | None = None
        self._handler: asyncio.Task[None] | None = None
        self._deadline = self.ack_due = 0.0
        self._begins = self._handling = self._passed = self._closed = False

    @property
    def done(self) -> bool:
        """Whether it is complete."""
        return self.response is not None or self.error is not None

    def wait(self) -> Awaitable[None]:
        """Return what is done when the request is complete, to be awaited at once."""
        return self._after_a_turn() if self._begins else self._wait()

    @types.coroutine
    def _after_a_turn(self) -> Generator[Any, None, None]:
        yield  # the task of the handler was scheduled before that of the caller
        if self.response is None and self.error is None:
            yield from self._wait()

    def _wait(self) -> asyncio.Future[None]:
        """Start the timer and return a future that is done when the request is complete."""
        future = self._future = self.loop.create_future()
        if self.ack_due:
            return future
        when = self._deadline if self._handling else self.expires
        self._timeout = self._timers.at(when, self._on_time)
        return future

    def is_acked(self) -> bool:
        """Return whether it was acknowledged."""
        return self.acked

    def receive(self, response: ResponseEnvelope) -> None:
        """Take an acknowledgement or a response; runs on the caller's loop."""
        self.acked = True
        if response.op == control_headers.ACK:
            if self.on_ack is not None:
                self.on_ack(response)
        elif self.response is None and self.error is None:
            self.response = response
            self._wake()

    def take(self, response: ResponseEnvelope) -> None:
        """Take the response of a handler in this process, in the handler's thread."""
        self._metrics.deliveries["memory"] += 1
        if self.expects and self.expects != response.source:
            why = f"{response.source} responded, not {self.expects}"
            self.fail_threadsafe(HTTPError(why, status=502))
            return
        if _get_running_loop() is self.loop:
            if self.response is None and self.error is None:
                self.response = response
                future = self._future
                if future is not None and not future.done():
                    future.set_result(None)
        else:
            with contextlib.suppress(RuntimeError):  # the caller's loop is closed
                self.loop.call_soon_threadsafe(self.receive, response)

    def fail(self, error: SubtrieError) -> None:
        """Complete the request with an error; runs on the caller's loop."""
        if self.response is None and self.error is None:
            self.error = error
            self._wake()

    def fail_threadsafe(self, error: SubtrieError) -> None:
        """Complete the request with an error, from any thread."""
        if _get_running_loop() is self.loop:
            self.fail(error)
        else:
            with contextlib.suppress(RuntimeError):  # the caller's loop is closed
                self.loop.call_soon_threadsafe(self.fail, error)

    def _wake(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    # --- the deadline of a handler on the same loop

    def limit(self, task: asyncio.Task[None], deadline: float, *, begins: bool) -> bool:
        """Cancel a handler on the caller's own loop at a time on its clock.

        Args:
            task: The handler.
            deadline: The time.
            begins: Whether it begins in the next turn of the loop.

        Returns:
            False if the request limits another handler, or is complete.
        """
        if self._handler is not None or self.done:
            return False
        self._handler, self._deadline, self._handling, self._begins = task, deadline, True, begins
        return True

    def stop(self) -> None:
        """Cancel the deadline: the handler is done."""
        self._handling = False
        if self._closed and self._timeout is not None:
            self._timers.cancel(self._timeout)

    def passed(self) -> bool:
        """Return whether the deadline alone cancelled the handler; takes the cancellation back."""
        return self._passed and self._handler is not None and self._handler.uncancel() <= 0

    # --- the ends

    def _on_time(self) -> None:
        if self._handling and not self._passed and self._handler is not None:
            if not has_begun(self._handler):
                self.loop.call_soon(self._on_time)
                return
            self._passed = True
            self._handler.cancel()
            self._timeout = self._timers.at(self.expires, self._on_time)
        else:
            self.fail(RequestTimeout("timeout"))

    def on_ack_timeout(self) -> None:
        """Complete the request: nothing has acknowledged it in time."""
        self.fail(AckTimeout("ack timeout"))

    def close(self) -> None:
        """Stop waiting; a handler that still runs keeps its deadline."""
        self._closed = True
        if self._timeout is None:
            if self._handling:  # the caller was cancelled before it began to wait
                self._timeout = self._timers.at(self._deadline, self._on_time)
        elif self._passed or not self._handling:
            self._timers.cancel(self._timeout)
        if self.stop_ack_timer is not None:
            self.stop_ack_timer()


Envelope = RequestEnvelope | ResponseEnvelope

#: The request that the running task handles, or None: its own calls inherit from it.
current_request: ContextVar[RequestEnvelope | None] = ContextVar("subtrie_inbound", default=None)

#: With a tracer provider, the client writes the trace context of the current span instead.
_FORWARDED = ("Accept-Language", "Microbus-Actor", "Traceparent", "Tracestate")
_FORWARDED_BY_PREFIX = ("X-Forwarded-", "Microbus-Baggage-")


def forwarded_headers(request: RequestEnvelope) -> HeaderValues:
    """Return the headers that are forwarded to nested calls."""
    written = request._headers
    values = request.given if written is None else written.lists
    return {
        name: each
        for name, each in values.items()
        if name in _FORWARDED or name.startswith(_FORWARDED_BY_PREFIX)
    }
