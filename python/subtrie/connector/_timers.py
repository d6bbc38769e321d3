"""Timeouts on one event-loop timer: cheap to add and cheap to cancel.

Most timeouts of a connector are cancelled. They are kept in a heap with one loop timer for the
earliest; cancelled ones stay in the heap and are removed when they are more than half of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from inspect import CORO_CREATED, getcoroutinestate
from math import inf
from types import CoroutineType

#: Time, sequence number, and the function to call; None once cancelled.
Timeout = list[object]

_SWEEP_AT = 512  # cancelled timeouts before the heap is first rebuilt


class Timers:
    """The timeouts of one event loop; to be used on that loop only."""

    __slots__ = ("_armed", "_cancelled", "_handle", "_heap", "_loop", "_number")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heap: list[Timeout] = []
        self._armed = inf
        self._handle: asyncio.TimerHandle | None = None
        self._cancelled = 0
        self._number = 0

    def __len__(self) -> int:
        return len(self._heap) - self._cancelled

    def at(self, when: float, call: Callable[[], None]) -> Timeout:
        """Call ``call`` at a time on the loop's clock; return a handle for ``cancel``.

        Args:
            when: The time, on the loop's clock.
            call: The function to call.
        """
        self._number += 1
        limit: Timeout = [when, self._number, call]
        heappush(self._heap, limit)
        if when < self._armed:
            self._arm(when)
        return limit

    def cancel(self, limit: Timeout) -> None:
        """Cancel a timeout; does nothing if it has fired."""
        if limit[2] is None:
            return
        limit[2] = None
        self._cancelled += 1
        if self._cancelled > _SWEEP_AT and self._cancelled * 2 > len(self._heap):
            self._heap = [each for each in self._heap if each[2] is not None]
            heapify(self._heap)
            self._cancelled = 0

    def close(self) -> None:
        """Forget cancelled timeouts; the deadline of a handler that still runs stays.

        It may be that of another service on this loop, which shares the timer of its caller.
        """
        self._heap = [each for each in self._heap if each[2] is not None]
        heapify(self._heap)
        self._cancelled = 0
        if not self._heap and self._handle is not None:
            self._handle.cancel()
            self._armed, self._handle = inf, None

    def _arm(self, when: float) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._armed = when
        self._handle = self._loop.call_at(when, self._fire)

    def _fire(self) -> None:
        self._armed, self._handle = inf, None
        now = self._loop.time() + 1e-6  # the resolution of the loop's clock
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
                self._cancelled -= 1
            else:
                limit[2] = None
                try:
                    call()  # type: ignore[operator]
                except Exception as error:
                    context = {"message": "a timeout callback failed", "exception": error}
                    self._loop.call_exception_handler(context)
            heap = self._heap  # a callback may have rebuilt it


def has_begun(task: asyncio.Task[None]) -> bool:
    """Return whether a task has run at all: cancelled before, it could not respond."""
    work = task.get_coro()
    return not isinstance(work, CoroutineType) or getcoroutinestate(work) != CORO_CREATED


class Deadline:
    """Cancels a task at a time on its loop's clock: as ``asyncio.timeout``, at less cost."""

    __slots__ = ("_passed", "_task", "_timeout", "_timers")

    def __init__(self, timers: Timers, when: float, task: asyncio.Task[None]) -> None:
        self._task = task
        self._passed = False
        self._timers = timers
        self._timeout = timers.at(when, self._on_timeout)

    def _on_timeout(self) -> None:
        if not has_begun(self._task):
            self._task.get_loop().call_soon(self._on_timeout)
            return
        self._passed = True
        self._task.cancel()

    def stop(self) -> None:
        """Cancel the deadline: the handler is done."""
        self._timers.cancel(self._timeout)

    def passed(self) -> bool:
        """Return whether the deadline alone cancelled the task; takes the cancellation back."""
        return self._passed and self._task.uncancel() <= 0
