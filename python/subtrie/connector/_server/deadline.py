"""The time limit of a handler: as ``asyncio.timeout``, for a fraction of its cost."""

from __future__ import annotations

import asyncio

from .._timers import Timers


class Deadline:
    """Cancels a task at a time on its loop's clock, unless it is stopped before."""

    __slots__ = ("_limit", "_passed", "_task", "_timers")

    def __init__(self, timers: Timers, when: float, task: asyncio.Task[None]) -> None:
        self._task = task
        self._passed = False
        self._timers = timers
        self._limit = timers.at(when, self._pass)

    def _pass(self) -> None:
        self._passed = True
        self._task.cancel()

    def stop(self) -> None:
        """The work is done."""
        self._timers.cancel(self._limit)

    def passed(self) -> bool:
        """Whether it was this that cancelled the task, and nobody else as well; takes it back."""
        return self._passed and self._task.uncancel() <= 0
