"""State that the parts of a connector share: identity, limits, event loop, timers, tasks."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from itertools import count, repeat
from typing import Any

from .._core import control_headers
from . import _settings, _system
from ._clock import ManualClock
from ._headers import HeaderValues
from ._ids import Ids
from ._metrics import Metrics
from ._timers import Timers

logger = logging.getLogger("subtrie.connector")

_AT_ONCE = 64  # steps from other threads before the loop's other work has its turn

_numbers = count()  # of connectors, in the order in which they were made
_alive: weakref.WeakSet[Runtime] = weakref.WeakSet()


class Runtime:
    """The identity of a connector, and its event loop while it runs.

    Attributes:
        host: The host name of the service.
        id: The id of the instance.
        plane: The plane.
        version: The version of the service.
        locality: Where the instance runs; empty if unknown.
        deployment: ``PROD``, ``LAB``, ``LOCAL`` or ``TESTING``.
        max_body: The largest body in bytes.
        max_fragments: The largest number of fragments of one message.
        max_at_work: The largest number of requests whose handlers run.
        ids: The source of identifiers.
        metrics: The counters.
        loop: The event loop, or None while the connector does not run.
        timers: The timeouts of the loop.
        running: Whether requests are served.
        traced: Whether spans are created.
        round_trip: The time in seconds in which an acknowledgement is expected.
        clock: The clock of a test, or None.
    """

    timers: Timers

    def __init__(
        self,
        host: str,
        *,
        id: str,
        plane: str,
        version: int,
        locality: str,
        deployment: str,
        ids: Ids,
        max_body: int,
        max_fragments: int,
        max_at_work: int,
    ) -> None:
        self.host, self.id, self.plane, self.version = host, id, plane, version
        self.locality, self.deployment = locality, deployment
        self.max_body, self.max_fragments = max_body, max_fragments
        self.max_at_work = max_at_work
        self.ids = ids
        self.metrics = Metrics(host)
        self.loop: asyncio.AbstractEventLoop | None = None
        self.running = self.traced = False
        self.round_trip = 0.0
        self.clock: ManualClock | None = None
        self._sender_headers: dict[tuple[str, str | None], HeaderValues] = {}
        self._background: dict[asyncio.Task[Any], None] = {}  # in the order of their start
        self._handed: deque[tuple[Callable[..., None], tuple[Any, ...]]] = _system.queue()
        # The loop that will wake this one: this one itself once it is woken, None if none will.
        self._waker: asyncio.AbstractEventLoop | None = None
        self._number = next(_numbers)
        _alive.add(self)

    def open(self) -> None:
        """Belong to the running event loop."""
        self.loop = asyncio.get_running_loop()
        self.timers = Timers(self.loop)
        self._sender_headers.clear()

    def is_first(self) -> bool:
        """Return whether it is the first connector of the process that runs on its plane."""
        others = [each for each in list(_alive) if each.running and each.plane == self.plane]
        return self is min(others, key=lambda each: each._number, default=self)

    def close(self) -> None:
        """Cancel the timeouts and leave the event loop."""
        self.timers.close()
        self._handed.clear()
        self._waker = self.loop = None

    @contextmanager
    def tested(self, plane: str, clock: ManualClock | None) -> Iterator[None]:
        """Be in ``TESTING`` on another plane for the length of a ``with`` block.

        Args:
            plane: The plane.
            clock: The clock of the test, or None.
        """
        kept = self.plane, self.deployment, self.clock
        self.plane, self.deployment, self.clock = _settings.plane(plane), "TESTING", clock
        try:
            yield
        finally:
            self.plane, self.deployment, self.clock = kept

    def now(self) -> float:
        """Return the seconds since the epoch, on the clock of a test if there is one."""
        return _system.now() if self.clock is None else self.clock()

    def sender_headers(self, op: str, queue: str | None = None) -> HeaderValues:
        """Return the control headers that identify the sender; callers must not modify them.

        Acknowledgements carry no version; requests carry neither queue nor locality.
        """
        signed = self._sender_headers.get((op, queue))
        if signed is None:
            signed = {
                control_headers.OP_CODE: [op],
                control_headers.FROM_HOST: [self.host],
                control_headers.FROM_ID: [self.id],
            }
            if self.version and op != control_headers.ACK:
                signed[control_headers.FROM_VERSION] = [str(self.version)]
            if queue is not None:
                signed[control_headers.QUEUE] = [queue]
            if self.locality and op != control_headers.REQUEST:
                signed[control_headers.LOCALITY] = [self.locality]
            self._sender_headers[op, queue] = signed
        return signed

    def run_on_loop(self, step: Callable[..., None], *arguments: Any) -> None:
        """Run a step on this connector's event loop: immediately if that is the running one."""
        loop = self.loop
        if loop is None:
            return
        if asyncio._get_running_loop() is loop:
            step(*arguments)
        elif not loop.is_closed():
            loop.call_soon_threadsafe(step, *arguments)

    def hand_over(self, step: Callable[..., None], *arguments: Any) -> None:
        """Run a step on this connector's event loop soon, in order, from any thread.

        Steps given meanwhile share one wake-up of the loop, and those of one turn of another loop:
        each wake-up makes the two threads take turns at the interpreter.
        """
        self._handed.append((step, arguments))
        self._wake_soon()

    def hand_over_all(
        self, step: Callable[..., None], arguments: Iterable[tuple[Any, ...]]
    ) -> Callable[[], None] | None:
        """Run a step for each of several arguments, as ``hand_over`` does, with a wake-up now.

        Returns:
            On this connector's loop: what to call within this turn, which saves another one.
        """
        self._handed.extend(zip(repeat(step), arguments))
        if self._waker is not self.loop:
            if asyncio._get_running_loop() is self.loop:
                self._waker = self.loop
                return self._take
            self._wake()
        return None

    def _wake_soon(self) -> None:
        loop, waker = self.loop, self._waker
        if waker is loop or loop is None or loop.is_closed():
            return
        running = asyncio._get_running_loop()
        if running is loop:
            self._waker = loop
            loop.call_soon(self._take)
        elif running is None or waker not in (None, running):
            self._wake()  # the other loop may be blocked before it does
        elif waker is None:
            self._waker = running
            running.call_soon(self._wake)

    def _wake(self) -> None:
        loop = self.loop
        if loop is not None and self._waker is not loop:
            self._waker = loop
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        self._waker = None  # first: a step given from now on wakes the loop again
        handed = self._handed
        for _ in range(_AT_ONCE):
            if not handed:
                return
            step, arguments = handed.popleft()
            try:
                step(*arguments)
            except Exception:
                logger.exception("%s: a received message could not be processed", self.host)
        loop = self.loop
        if handed and loop is not None and self._waker is not loop:
            self._waker = loop
            loop.call_soon(self._take)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Start a background task on this connector's event loop."""
        if self.loop is None or self.loop.is_closed():
            work.close()
        else:
            self.run_on_loop(self._begin, work)

    def _begin(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background[task] = None
        task.add_done_callback(self._background_done)

    def _background_done(self, task: asyncio.Task[Any]) -> None:
        self._background.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s: %r", self.host, error, exc_info=error)

    def cancel_background(self) -> None:
        """Cancel the background tasks."""
        for task in list(self._background):
            task.cancel()


def _after_fork() -> None:
    """Stop the parent's connectors: a child has neither their loops nor their connections."""
    # S0-134
    for each in list(_alive):
        each.loop, each.running = None, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
