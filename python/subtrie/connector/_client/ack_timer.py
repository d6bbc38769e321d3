"""When nobody acknowledged within one round trip, nobody is there: fairly measured.

The clock stands still while the connection is away. A loop that was blocked gets the time to read
what has arrived, and before the verdict the connection itself must answer as fast as an
acknowledgement has to: a caller's own fault, or a broker's, is no proof that nobody is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

_GRACE = 0.1  # of the time-out: time to handle what was read
_LATE = 0.25  # of the time-out: a loop that is later than this was blocked


class Line(Protocol):
    """The connection that acknowledgements come by."""

    def disconnected(self) -> bool:
        """Whether it is lost right now."""
        ...

    async def responds(self, timeout: float) -> bool:
        """Whether it answers in time; then everything sent before the answer has been read."""
        ...


class AckTimer:
    """Calls back once when no acknowledgement came in time."""

    __slots__ = ("_due", "_expired", "_handle", "_line", "_loop", "_timeout", "_trial")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        timeout: float,
        expired: Callable[[], None],
        line: Line,
    ) -> None:
        self._loop, self._timeout, self._expired, self._line = loop, timeout, expired, line
        self._trial: asyncio.Task[None] | None = None
        self._arm()

    def _arm(self) -> None:
        self._due = self._loop.time() + self._timeout
        self._handle = self._loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        if self._line.disconnected() or self._loop.time() - self._due > self._timeout * _LATE:
            self._arm()
        else:
            self._trial = self._loop.create_task(self._try())

    async def _try(self) -> None:
        answered = await self._line.responds(self._timeout)
        ends = self._loop.time() + self._timeout * _GRACE
        await asyncio.sleep(self._timeout * _GRACE)
        late = self._loop.time() - ends
        self._trial = None
        if not answered or self._line.disconnected() or late > self._timeout * _LATE:
            self._arm()
        else:
            self._expired()

    def stop(self) -> None:
        """No longer needed."""
        self._handle.cancel()
        if self._trial is not None:
            self._trial.cancel()
