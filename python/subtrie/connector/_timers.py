"""Time limits by the thousand: most are called off, so making and ending one must cost next to
nothing.

One timer of the loop stands for all: it rings when the earliest limit is due. Limits that were
called off are swept out once they are more than half.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import inf

#: When, number, and what to call; None once it is called off.
Limit = list[object]

_SWEEP_AT = 512


class Timers:
    """The limits of one event loop; used from that loop alone."""

    __slots__ = ("_armed", "_dead", "_handle", "_heap", "_loop", "_number")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heap: list[Limit] = []
        self._armed = inf
        self._handle: asyncio.TimerHandle | None = None
        self._dead = 0
        self._number = 0

    def __len__(self) -> int:
        return len(self._heap) - self._dead

    def at(self, when: float, call: Callable[[], None]) -> Limit:
        """Has something called at a time on the loop's clock."""
        self._number += 1
        limit: Limit = [when, self._number, call]
        heappush(self._heap, limit)
        if when < self._armed:
            self._arm(when)
        return limit

    def cancel(self, limit: Limit) -> None:
        """Calls a limit off; nothing to do where it was reached."""
        if limit[2] is None:
            return
        limit[2] = None
        self._dead += 1
        if self._dead > _SWEEP_AT and self._dead * 2 > len(self._heap):
            self._heap = [each for each in self._heap if each[2] is not None]
            heapify(self._heap)
            self._dead = 0

    def close(self) -> None:
        """No limit rings any more."""
        self._heap.clear()
        self._dead = 0
        self._armed = inf
        if self._handle is not None:
            self._handle.cancel()

    def _arm(self, when: float) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._armed = when
        self._handle = self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        self._armed, self._handle = inf, None
        now = self._loop.time() + 1e-6  # what the loop's clock cannot tell apart
        heap = self._heap
        while heap:
            when, _, call = heap[0]
            if call is not None:
                assert isinstance(when, float)
                if when > now:
                    self._arm(when)
                    return
            limit = heappop(heap)
            if call is None:
                self._dead -= 1
            else:
                limit[2] = None
                try:
                    call()  # type: ignore[operator]
                except Exception as error:
                    context = {"message": "a time limit failed", "exception": error}
                    self._loop.call_exception_handler(context)
            heap = self._heap  # a sweep puts another in its place
