"""The time limit of a handler: as ``asyncio.timeout``, for half its cost on every request."""

from __future__ import annotations

import asyncio


class Deadline:
    """Cancels the running task ``seconds`` from now, unless it is stopped before."""

    __slots__ = ("_handle", "_passed", "_task")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task: asyncio.Task[object] = task
        self._passed = False
        self._handle = loop.call_later(seconds, self._pass)

    def _pass(self) -> None:
        self._passed = True
        self._task.cancel()

    def stop(self) -> None:
        """The work is done."""
        self._handle.cancel()

    def passed(self) -> bool:
        """Whether it was this that cancelled the task, and nobody else as well; takes it back."""
        return self._passed and self._task.uncancel() <= 0
