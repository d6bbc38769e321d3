"""The acknowledgement timer: without one within a round trip, there is no subscriber.

The timer does not blame the subscriber for a fault of the caller or the broker. It starts again
while the connection is lost, or if the event loop was blocked; and before it expires, the broker
must answer a ping, so that everything it sent earlier has been read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ._runtime import Runtime

_GRACE = 0.1  # of the timeout: time to process what was read
_LATE = 0.25  # of the timeout: a loop that is later than this was blocked


class AckTimer:
    """Calls a function once if no acknowledgement arrives in time."""

    __slots__ = ("_check_task", "_due", "_expired", "_handle", "_loop", "_runtime", "_timeout")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        timeout: float,
        expired: Callable[[], None],
        runtime: Runtime,
    ) -> None:
        self._loop, self._timeout, self._expired, self._runtime = loop, timeout, expired, runtime
        self._check_task: asyncio.Task[None] | None = None
        self._arm()

    def _arm(self) -> None:
        self._due = self._loop.time() + self._timeout
        self._handle = self._loop.call_at(self._due, self._on_due)

    def _on_due(self) -> None:
        if self._runtime.disconnected() or self._loop.time() - self._due > self._timeout * _LATE:
            self._arm()
        else:
            self._check_task = self._loop.create_task(self._check())

    async def _check(self) -> None:
        responded = await self._runtime.responds(self._timeout)
        ends = self._loop.time() + self._timeout * _GRACE
        await asyncio.sleep(self._timeout * _GRACE)
        late = self._loop.time() - ends
        self._check_task = None
        if not responded or self._runtime.disconnected() or late > self._timeout * _LATE:
            self._arm()
        else:
            self._expired()

    def stop(self) -> None:
        """Cancel the timer."""
        self._handle.cancel()
        if self._check_task is not None:
            self._check_task.cancel()
