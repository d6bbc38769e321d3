"""Waiting for the acknowledgement of a request.

The acknowledgement timer does not blame the subscriber for a fault of the caller or the broker. It
starts again while the connection is lost, or if the event loop was blocked; and before it expires,
the broker must answer a ping, so that everything it sent earlier has been read, and after a moment
another one: the thread of the connection may have stopped meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ._fragments import MAX_ACK_WAIT
from ._message import Request
from ._runtime import Runtime
from ._transport import Transport

_GRACE = 0.1  # of the timeout: time to process what was read
_LATE = 0.25  # of the timeout: a loop that is later than this was blocked


def ack_limit(request: Request, runtime: Runtime, transport: Transport) -> float:
    """Return how long to wait for the acknowledgement of a request, in seconds."""
    limit = transport.ack_limit(runtime.round_trip)
    whole = len(request.body) <= transport.fragment_size
    return limit if whole else min(limit, MAX_ACK_WAIT * runtime.round_trip)


class AckTimer:
    """Calls a function once if no acknowledgement arrives in time.

    Args:
        loop: The caller's event loop.
        timeout: The time in seconds.
        acked: Returns whether the acknowledgement has arrived; it may arrive in another thread.
        expired: The function.
        transport: Tells whether the connection is lost, and pings the broker.
        due: When the acknowledgement was due, if that has passed; 0 begins the time now.
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
        *,
        due: float = 0.0,
    ) -> None:
        self._loop, self._timeout, self._transport = loop, timeout, transport
        self._acked, self._expired = acked, expired
        self._check_task: asyncio.Task[None] | None = None
        self._handle: asyncio.TimerHandle | None = None
        if due:
            self._due = due
            self._on_due()
        else:
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
        if responded and not self._acked():
            responded = await self._transport.responds(self._timeout)
        self._check_task = None
        if self._acked():
            return
        if not responded or self._transport.disconnected() or late > self._timeout * _LATE:
            self._arm()
        else:
            self._expired()

    def stop(self) -> None:
        """Cancel the timer."""
        if self._handle is not None:
            self._handle.cancel()
        if self._check_task is not None:
            self._check_task.cancel()
