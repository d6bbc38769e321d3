"""One request, one answer: or an error, or a time-out, and never two of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from ... import _control_headers
from .._errors import AckTimeout, HTTPError, RequestTimeout
from .._http.message import Response
from .._metrics import Metrics
from .._timers import Timers
from .ack_timer import AckTimer, Line


class PendingRequest:
    """A caller that waits for one answer."""

    __slots__ = (
        "_clock",
        "_metrics",
        "_timers",
        "_total",
        "acked",
        "expires",
        "future",
        "loop",
        "on_ack",
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
        self.future: asyncio.Future[Response] = loop.create_future()
        self.acked = False
        self.expires = loop.time() + timeout
        self.on_ack: Callable[[Response], None] | None = None
        self._clock: AckTimer | None = None
        self._total = timers.at(self.expires, self._timed_out)

    def await_ack(self, timeout: float, line: Line) -> None:
        """From now on an acknowledgement is expected."""
        if not self.acked and not self.future.done():
            self._clock = AckTimer(self.loop, timeout, self._unheard, line)

    def receive(self, response: Response) -> None:
        """Takes an acknowledgement or an answer; runs on the caller's loop."""
        if not self.acked:
            self.acked = True
            if self._clock is not None:
                self._clock.stop()
        if response.headers._values[_control_headers.OP_CODE][0] == _control_headers.ACK:
            if self.on_ack is not None:
                self.on_ack(response)
        elif not self.future.done():
            self.future.set_result(response)

    def take(self, response: Response) -> None:
        """Takes the answer from within the process, in the thread of whoever gives it."""
        self._metrics.deliveries["memory"] += 1
        try:
            here: object = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self.loop:
            self.receive(response)
        else:
            with contextlib.suppress(RuntimeError):  # its loop is closed: nobody waits any more
                self.loop.call_soon_threadsafe(self.receive, response)

    def fail(self, error: HTTPError) -> None:
        """Ends the wait with an error."""
        if not self.future.done():
            self.future.set_exception(error)

    def _unheard(self) -> None:
        self.fail(AckTimeout("ack timeout"))

    def _timed_out(self) -> None:
        self.fail(RequestTimeout("timeout"))

    def close(self) -> None:
        """Leaves nothing behind."""
        self._timers.cancel(self._total)
        if self._clock is not None:
            self._clock.stop()
