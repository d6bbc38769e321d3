"""One request, one answer: or an error, or a time-out, and never two of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from ... import _control_headers as frame
from .._errors import AckTimeout, HTTPError, RequestTimeout
from .._http.message import Response
from .._metrics import Counts
from .._timers import Timers
from .ack_timer import AckClock, Line


class Unicast:
    """A caller that waits for one answer."""

    __slots__ = (
        "_clock",
        "_counts",
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
        counts: Counts,
        subject: str,
        timeout: float,
    ) -> None:
        self.loop, self._timers, self._counts, self.subject = loop, timers, counts, subject
        self.future: asyncio.Future[Response] = loop.create_future()
        self.acked = False
        self.expires = loop.time() + timeout
        self.on_ack: Callable[[Response], None] | None = None
        self._clock: AckClock | None = None
        self._total = timers.at(self.expires, self._timed_out)

    def await_ack(self, timeout: float, line: Line) -> None:
        """From now on an acknowledgement is expected."""
        if not self.acked and not self.future.done():
            self._clock = AckClock(self.loop, timeout, self._unheard, line)

    def hear(self, response: Response) -> None:
        """Takes an acknowledgement or an answer; runs on the caller's loop."""
        if not self.acked:
            self.acked = True
            if self._clock is not None:
                self._clock.stop()
        if response.headers._values[frame.OP_CODE][0] == frame.ACK:
            if self.on_ack is not None:
                self.on_ack(response)
        elif not self.future.done():
            self.future.set_result(response)

    def take(self, response: Response) -> None:
        """Takes the answer from within the process, in the thread of whoever gives it."""
        self._counts.deliveries["memory"] += 1
        try:
            here: object = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self.loop:
            self.hear(response)
        else:
            with contextlib.suppress(RuntimeError):  # its loop is closed: nobody waits any more
                self.loop.call_soon_threadsafe(self.hear, response)

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
