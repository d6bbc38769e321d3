"""Pending requests: one response, or the stream of all; and the timers of acknowledgements.

The acknowledgement timer does not blame the subscriber for a fault of the caller or the broker. It
starts again while the connection is lost, or if the event loop was blocked; and before it expires,
the broker must answer a ping, so that everything it sent earlier has been read.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable

from .. import _control_headers
from .._errors import SubtrieError
from ._errors import AckTimeout, HTTPError, RequestTimeout
from ._message import Response, ResponseEnvelope
from ._metrics import Metrics
from ._routing import KnownResponders
from ._timers import Timeout, Timers, has_begun
from ._transport import Transport

_MOST_INSTANCES = 16_384  # responders of one multicast; bounds the memory of its caller
_GRACE = 0.1  # of the timeout: time to process what was read
_LATE = 0.25  # of the timeout: a loop that is later than this was blocked


class AckTimer:
    """Calls a function once if no acknowledgement arrives in time.

    Args:
        loop: The caller's event loop.
        timeout: The time in seconds.
        acked: Returns whether the acknowledgement has arrived; it may arrive in another thread.
        expired: The function.
        transport: Tells whether the connection is lost, and pings the broker.
    """

    __slots__ = (
        "_acked",
        "_check_task",
        "_due",
        "_expired",
        "_handle",
        "_loop",
        "_timeout",
        "_transport",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        timeout: float,
        acked: Callable[[], bool],
        expired: Callable[[], None],
        transport: Transport,
    ) -> None:
        self._loop, self._timeout, self._transport = loop, timeout, transport
        self._acked, self._expired = acked, expired
        self._check_task: asyncio.Task[None] | None = None
        self._arm()

    def _arm(self) -> None:
        self._due = self._loop.time() + self._timeout
        self._handle = self._loop.call_at(self._due, self._on_due)

    def _on_due(self) -> None:
        if self._acked():
            return
        late = self._loop.time() - self._due
        if self._transport.disconnected() or late > self._timeout * _LATE:
            self._arm()
        else:
            self._check_task = self._loop.create_task(self._check())

    async def _check(self) -> None:
        responded = await self._transport.responds(self._timeout)
        ends = self._loop.time() + self._timeout * _GRACE
        await asyncio.sleep(self._timeout * _GRACE)
        late = self._loop.time() - ends
        self._check_task = None
        if self._acked():
            return
        if not responded or self._transport.disconnected() or late > self._timeout * _LATE:
            self._arm()
        else:
            self._expired()

    def stop(self) -> None:
        """Cancel the timer."""
        self._handle.cancel()
        if self._check_task is not None:
            self._check_task.cancel()


class PendingRequest:
    """A request that waits for one response: it completes once, with a response or an error.

    A handler on the caller's own loop shares its timer: the timer first cancels the handler at its
    deadline, then ends the request.

    Attributes:
        loop: The caller's event loop.
        subject: The subject of the request.
        expires: When the time budget is used up, on the loop's clock.
        acked: Whether it was acknowledged.
        response: The response, or None.
        error: The error, or None.
        on_ack: Called with each acknowledgement, unless None.
        sent: When it was sent over the bus, on the monotonic clock; 0 if it was not.
        expects: The host that must respond; empty for any.
        message_id: The id by which its response is known; empty if it stays in this process.
    """

    __slots__ = (
        "_ack_timer",
        "_closed",
        "_deadline",
        "_future",
        "_handler",
        "_handling",
        "_metrics",
        "_passed",
        "_timeout",
        "_timers",
        "acked",
        "error",
        "expects",
        "expires",
        "loop",
        "message_id",
        "on_ack",
        "response",
        "sent",
        "subject",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        timers: Timers,
        metrics: Metrics,
        subject: str,
        timeout: float,
    ) -> None:
        self.loop, self._timers, self._metrics, self.subject = loop, timers, metrics, subject
        self.expires = loop.time() + timeout
        self.acked = False
        self.response: ResponseEnvelope | None = None
        self.error: SubtrieError | None = None
        self.on_ack: Callable[[ResponseEnvelope], None] | None = None
        self.sent = 0.0
        self.expects = self.message_id = ""
        self._future: asyncio.Future[None] | None = None
        self._ack_timer: AckTimer | None = None
        self._timeout: Timeout | None = None
        self._handler: asyncio.Task[None] | None = None
        self._deadline = 0.0
        self._handling = self._passed = self._closed = False

    @property
    def done(self) -> bool:
        """Whether it is complete."""
        return self.response is not None or self.error is not None

    def wait(self) -> asyncio.Future[None]:
        """Start the timer and return a future that is done when the request is complete."""
        future = self._future = self.loop.create_future()
        when = self._deadline if self._handling else self.expires
        self._timeout = self._timers.at(when, self._on_time)
        return future

    def await_ack(self, timeout: float, transport: Transport) -> None:
        """Start the acknowledgement timer."""
        if not self.acked and not self.done:
            self._ack_timer = AckTimer(
                self.loop, timeout, self._is_acked, self._on_ack_timeout, transport
            )

    def _is_acked(self) -> bool:
        return self.acked

    def receive(self, response: ResponseEnvelope) -> None:
        """Take an acknowledgement or a response; runs on the caller's loop."""
        self.acked = True
        if response.op == _control_headers.ACK:
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
        if asyncio._get_running_loop() is self.loop:
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
        if asyncio._get_running_loop() is self.loop:
            self.fail(error)
        else:
            with contextlib.suppress(RuntimeError):  # the caller's loop is closed
                self.loop.call_soon_threadsafe(self.fail, error)

    def _wake(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    # --- the deadline of a handler on the same loop

    def limit(self, task: asyncio.Task[None], deadline: float) -> bool:
        """Cancel a handler on the caller's own loop at a time on its clock.

        Args:
            task: The handler.
            deadline: The time.

        Returns:
            False if the request limits another handler, or is complete.
        """
        if self._handler is not None or self.done:
            return False
        self._handler, self._deadline, self._handling = task, deadline, True
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

    def _on_ack_timeout(self) -> None:
        self.fail(AckTimeout("ack timeout"))

    def close(self) -> None:
        """Stop waiting; a handler that still runs keeps its deadline."""
        self._closed = True
        if self._timeout is not None and (self._passed or not self._handling):
            self._timers.cancel(self._timeout)
        if self._ack_timer is not None:
            self._ack_timer.stop()


class ResponseStream(AsyncIterator[Response]):
    """The responses to one multicast, to be iterated over once.

    The stream ends when every responder that acknowledged has responded and no more
    acknowledgements are expected: after one round trip, or as soon as all responders of the last
    multicast to the same subject were seen.

    Attributes:
        loop: The caller's event loop.
        subject: The subject of the request.
        expires: When the time budget is used up, on the loop's clock.
        on_ack: Called with each acknowledgement, unless None.
        sent: When it was sent over the bus, on the monotonic clock; 0 if it was not.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        subject: str,
        timeout: float,
        known: KnownResponders,
        closed: Callable[[], None],
    ) -> None:
        self.loop, self.subject = loop, subject
        self.expires = loop.time() + timeout
        self.on_ack: Callable[[ResponseEnvelope], None] | None = None
        self.sent = 0.0
        self._known, self._closed = known, closed
        self._expected = known.get(subject)
        self._responses: deque[Response] = deque()
        self._error: BaseException | None = None
        self._changed = asyncio.Event()
        self._done = False
        self._no_more_acks = False
        self._instances: dict[str, bool] = {}  # seen; True once it has responded
        self._queues: set[str] = set()
        self._ack_timer: AckTimer | None = None
        self._timeout = loop.call_at(self.expires, self.expire)

    def await_acks(self, timeout: float, transport: Transport) -> None:
        """Start the acknowledgement timer."""
        if not self._done:
            self._ack_timer = AckTimer(
                self.loop, timeout, lambda: self._done, self._on_ack_timeout, transport
            )

    def receive(self, response: ResponseEnvelope) -> None:
        """Take an acknowledgement or a response; runs on the caller's loop."""
        if self._done:
            if response.op != _control_headers.ACK:
                self._known.drop(self.subject)
            return
        instance = f"{response.id}.{response.source}"
        if instance not in self._instances and len(self._instances) >= _MOST_INSTANCES:
            return
        # A queue name is what the responder says; its host is verified.
        queue = response.queue
        self._queues.add(instance if queue is None else f"{response.source} {queue}")
        if self._expected and self._queues == self._expected:
            self._no_more_acks = True
        if response.op == _control_headers.ACK:
            self._instances.setdefault(instance, False)
            if self.on_ack is not None:
                self.on_ack(response)
            return
        if self._instances.get(instance):
            return  # a second response of the same instance
        self._instances[instance] = True
        self._responses.append(response)
        self._changed.set()
        self._check()

    def fail(self, error: SubtrieError) -> None:
        """End the stream with an error: the request was not sent."""
        if not self._done:
            self._error = error
            self._finish()

    def fail_threadsafe(self, error: SubtrieError) -> None:
        """End the stream with an error, from any thread."""
        with contextlib.suppress(RuntimeError):  # the caller's loop is closed
            self.loop.call_soon_threadsafe(self.fail, error)

    def _on_ack_timeout(self) -> None:
        self._no_more_acks = True
        if not self._instances:
            self._known.drop(self.subject)
            self._finish()
        else:
            self._check()

    def _check(self) -> None:
        if self._no_more_acks and all(self._instances.values()):
            self._known.keep(self.subject, frozenset(self._queues))
            self._finish()

    def expire(self) -> None:
        """End the stream with a timeout, unless it has ended."""
        if not self._done:
            late = Response(408)
            late.error = RequestTimeout("timeout")
            self._responses.append(late)
            self._known.drop(self.subject)
            self._finish()

    def _finish(self) -> None:
        self._done = True
        self._timeout.cancel()
        if self._ack_timer is not None:
            self._ack_timer.stop()
        self._closed()
        self._changed.set()

    def __aiter__(self) -> ResponseStream:
        return self

    async def __anext__(self) -> Response:
        while not self._responses:
            if self._error is not None:
                raise self._error
            if self._done:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._responses.popleft()
