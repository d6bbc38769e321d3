"""Tickers: functions that run every so many seconds while a service serves requests.

A run that takes longer than the interval delays the next one; runs never overlap. An exception is
logged and the next run takes place. In a test with a clock of its own, that clock runs them.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from ._clock import ManualClock
from ._runtime import Runtime

logger = logging.getLogger("subtrie.connector")

Tick = Callable[[], Awaitable[None] | None]


class Ticker:
    """One function and its interval.

    Args:
        call: The function.
        seconds: The interval.
        at_once: Whether the first run is at the start, not after the first interval.
    """

    def __init__(self, call: Tick, seconds: float, *, at_once: bool) -> None:
        if not seconds > 0:
            raise ValueError(f"the interval of a ticker must be above 0, not {seconds!r}")
        self._call, self._seconds = call, float(seconds)
        self._first = 0.0 if at_once else self._seconds
        self._busy = self._stopping = False
        self._task: asyncio.Task[None] | None = None
        self._of_test: tuple[ManualClock, object] | None = None

    def start(self, runtime: Runtime) -> None:
        """Begin to run on the running loop.

        Args:
            runtime: The service, for the log and the metrics.
        """
        self._stopping = False
        if (clock := runtime.clock) is not None:
            self._of_test = (
                clock,
                clock.add(self._seconds, self._first, partial(self._tick, runtime)),
            )
            return
        # Not within a request that happens to be handled.
        self._task = asyncio.get_running_loop().create_task(
            self._run(runtime), context=contextvars.Context()
        )

    async def stop(self, timeout: float) -> None:
        """Stop; let a run that has begun finish within ``timeout`` seconds."""
        if self._of_test is not None:
            clock, added = self._of_test
            clock.remove(added)
            self._of_test = None
        task, self._task, self._stopping = self._task, None, True
        if task is None:
            return
        if self._busy:
            await asyncio.wait((task,), timeout=timeout)
        task.cancel()
        await asyncio.wait((task,), timeout=1.0)

    async def _run(self, runtime: Runtime) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + self._first
        while not self._stopping:
            await asyncio.sleep(max(due - loop.time(), 0.0))
            self._busy = True
            with contextlib.suppress(Exception):  # it is logged
                await self._tick(runtime)
            self._busy = False
            due = max(due + self._seconds, loop.time())

    async def _tick(self, runtime: Runtime) -> None:
        """Call the function once; log what it raises."""
        name = getattr(self._call, "__name__", "a ticker")
        try:
            with runtime.metrics.timed(name, "ticker"):
                result = self._call()
                if inspect.isawaitable(result):
                    await result
        except Exception:
            logger.exception("%s: %s failed", runtime.host, name, extra={"service": runtime.host})
            raise
