"""Ends requests over the bus that are not acknowledged or not answered in time.

One timer of the event loop serves all pending requests of a connector, and a request has no object
of its own for it: what a request in flight holds, the cyclic garbage collector looks through again
and again. When the timer fires, the pending requests are looked through, and it is set for the next
one that is due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from math import inf

from ._ack_timer import AckTimer
from ._envelope import PendingRequest
from ._errors import RequestTimeout
from ._responses import ResponseStream
from ._transport import Transport

#: Seconds between two looks for each pending request: looking takes a few hundredths of the time at
#: most, and with ten thousand of them a timeout is a tenth of a second late at most.
_PAUSE = 10e-6


class OverdueRequests:
    """The timer of the pending requests of a connector, on its own event loop.

    Args:
        waiting: The pending requests by message id.
        transport: Tells whether the connection is lost, and pings the broker.
    """

    def __init__(
        self, waiting: Mapping[str, PendingRequest | ResponseStream], transport: Transport
    ) -> None:
        self._waiting, self._transport = waiting, transport
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.TimerHandle | None = None
        self._armed = inf

    def watch(self, call: PendingRequest, limit: float) -> None:
        """End a request when it is overdue.

        Args:
            call: The request, which is among the pending ones.
            limit: The time for its acknowledgement in seconds.
        """
        call.ack_due = due = call.began + limit
        if call.expires < due:
            due = call.expires
        if due < self._armed:
            self._arm(due)

    def close(self) -> None:
        """Cancel the timer."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle, self._armed = None, inf

    def _arm(self, when: float) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._armed = when
        self._handle = self._loop.call_at(when, self._look)

    def _look(self) -> None:
        self._handle, self._armed = None, inf
        now = self._loop.time() + 1e-6  # the resolution of the loop's clock
        following, count = inf, 0
        for call in list(self._waiting.values()):
            if type(call) is not PendingRequest or not call.ack_due or call.done:
                continue
            count += 1
            when = call.expires
            if when <= now:
                call.fail(RequestTimeout("timeout"))
                continue
            due = call.ack_due
            # Its own timer asks the broker, and starts again if the connection is lost.
            if due < when and not call.acked and call.stop_ack_timer is None:
                if due <= now:
                    limit = due - call.began
                    timer = AckTimer(
                        self._loop, limit, call.is_acked, call.on_ack_timeout, self._transport,
                        due=due,
                    )  # fmt: skip
                    call.stop_ack_timer = timer.stop
                else:
                    when = due
            if when < following:
                following = when
        if following < inf:
            self._arm(max(following, now + count * _PAUSE))
