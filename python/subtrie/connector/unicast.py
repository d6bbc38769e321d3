"""One request, one answer: or an error, or a time-out, and never two of them.

Nobody acknowledged within one round trip: ``AckTimeout``. The clock for that stands still while
the connection is away, and a loop that was blocked gets the time to read what has arrived: a
caller's own fault is no proof that nobody is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from . import frame
from .counts import Counts
from .errors import AckTimeout, HTTPError, RequestTimeout
from .message import Response
from .timers import Timers

_GRACE = 0.1  # of an acknowledgement time-out: time to read what came while the timer was due


class AckClock:
    """Calls back when no acknowledgement came in time, fairly measured."""

    __slots__ = ("_away", "_due", "_expired", "_handle", "_loop", "_timeout")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        timeout: float,
        expired: Callable[[], None],
        away: Callable[[], bool],
    ) -> None:
        self._loop, self._timeout, self._expired, self._away = loop, timeout, expired, away
        self._arm()

    def _arm(self) -> None:
        self._due = self._loop.time() + self._timeout
        self._handle = self._loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        late = self._loop.time() - self._due
        if self._away() or late > self._timeout / 4:
            self._arm()
        else:
            self._handle = self._loop.call_later(self._timeout * _GRACE, self._after_grace)

    def _after_grace(self) -> None:
        late = self._loop.time() - self._due - self._timeout * _GRACE
        if late > self._timeout / 4:
            self._arm()
        else:
            self._expired()

    def stop(self) -> None:
        """No longer needed."""
        self._handle.cancel()


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

    def await_ack(self, timeout: float, away: Callable[[], bool]) -> None:
        """From now on an acknowledgement is expected."""
        if not self.acked and not self.future.done():
            self._clock = AckClock(self.loop, timeout, self._unheard, away)

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
        elif not self.loop.is_closed():
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
