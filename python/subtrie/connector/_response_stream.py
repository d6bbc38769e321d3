"""The responses to a multicast, as they arrive.

The stream ends when every responder that acknowledged has responded and no more acknowledgements
are expected: after one round trip, or as soon as all responders of the last multicast to the same
subject were seen.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from .. import _control_headers
from ._ack_timer import AckTimer
from ._errors import RequestTimeout
from ._message import Response
from ._routing import KnownResponders
from ._runtime import Runtime


class ResponseStream(AsyncIterator[Response]):
    """The responses to one multicast, to be iterated over once."""

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
        self.on_ack: Callable[[Response], None] | None = None
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
        self._timeout = loop.call_at(self.expires, self._on_timeout)
        self.round_trip = 0.0

    def await_acks(self, timeout: float, runtime: Runtime) -> None:
        """Start the acknowledgement timer."""
        self.round_trip = timeout
        if not self._done:
            self._ack_timer = AckTimer(self.loop, timeout, self._on_ack_timeout, runtime)

    def receive(self, response: Response) -> None:
        """Take an acknowledgement or a response; runs on the caller's loop."""
        if self._done:
            if response.headers.get(_control_headers.OP_CODE) != _control_headers.ACK:
                self._known.drop(self.subject)
            return
        instance = f"{response.id}.{response.source}"
        self._queues.add(response.queue or instance)
        if self._expected and self._queues == self._expected:
            self._no_more_acks = True
        if response.headers.get(_control_headers.OP_CODE) == _control_headers.ACK:
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

    def fail(self, error: BaseException) -> None:
        """End the stream with an error: the request was not sent."""
        if not self._done:
            self._error = error
            self._finish()

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

    def _on_timeout(self) -> None:
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
