"""Locks, threads and event loops of the connector as actors of a scheduler.

The event loop is asyncio's own, over sockets and a selector of the simulated network: what asyncio
does with a partial write or a closed connection is not imitated.
"""

from __future__ import annotations

import asyncio
import selectors
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from random import Random
from typing import Any

from .network import Network, Socket
from .scheduler import Actor, Scheduler


class Lock:
    """A lock; taking and giving it back are points."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._holder: object = None
        self._waiting: list[Actor] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock; False if it is taken and the caller does not wait."""
        scheduler = self._scheduler
        scheduler.point("lock")
        me = scheduler.me()
        while self._holder is not None:
            if not blocking:
                return False
            assert me is not None
            self._waiting.append(me)
            scheduler.block(None, "waits for a lock")
        self._holder = me or self
        return True

    def release(self) -> None:
        """Give the lock back."""
        self._holder = None
        for each in self._waiting:
            self._scheduler.wake(each)
        self._waiting.clear()
        self._scheduler.point("unlock")

    def locked(self) -> bool:
        """Return whether it is taken."""
        return self._holder is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Queue(deque[Any]):
    """A queue between threads; each of its steps is a point."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler

    def append(self, item: Any) -> None:
        """Add one."""
        super().append(item)
        self._scheduler.point("appended")

    def extend(self, items: Any) -> None:
        """Add several."""
        super().extend(items)
        self._scheduler.point("extended")

    def popleft(self) -> Any:
        """Take the first."""
        item = super().popleft()
        self._scheduler.point("took")
        return item

    def __bool__(self) -> bool:
        filled = len(self) > 0
        self._scheduler.point("looked")
        return filled


class _Selector(selectors._BaseSelectorImpl):
    def __init__(self, loop: SimulatedLoop) -> None:
        super().__init__()
        self._loop = loop
        self.waiting: Actor | None = None
        self.woken = False

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch a socket; its connection wakes this loop from now on."""
        key = super().register(fileobj, events, data)
        wakers = self._loop.network.sockets[key.fd].connection.wakers
        if self.wake not in wakers:
            wakers.append(self.wake)
        return key

    def wake(self) -> None:
        """Let the loop look at its sockets and callbacks."""
        self.woken = True
        if self.waiting is not None:
            self._loop.scheduler.wake(self.waiting)

    def _ready(self) -> list[tuple[selectors.SelectorKey, int]]:
        found: list[tuple[selectors.SelectorKey, int]] = []
        if not self._fd_to_key:  # the loop of a user
            return found
        for fd, key in list(self._fd_to_key.items()):
            socket = self._loop.network.sockets[fd]
            events = key.events & (
                (selectors.EVENT_READ if socket.readable() else 0)
                | (selectors.EVENT_WRITE if socket.writable() else 0)
            )
            if events:
                found.append((key, events))
        return found

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return the sockets that are ready, or wait for one until a time."""
        scheduler = self._loop.scheduler
        scheduler.advance(self._loop.takes())
        if self.woken or (timeout is not None and timeout <= 0) or self._ready():
            scheduler.point("turn")
        else:
            self.waiting = scheduler.me()
            until = None if timeout is None else scheduler.now + timeout
            scheduler.block(until, "waits")
            self.waiting = None
        self.woken = False
        return self._ready()


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time.

    Args:
        scheduler: The scheduler.
        network: The network.
        random: What the duration of a turn is drawn from.
    """

    def __init__(self, scheduler: Scheduler, network: Network, random: Random) -> None:
        self.scheduler, self.network, self._random = scheduler, network, random
        self._own = _Selector(self)
        super().__init__(self._own)

    def takes(self) -> float:
        """Return the seconds that a turn takes."""
        return self._random.random() * 1e-4

    def time(self) -> float:
        """Return the virtual time."""
        return self.scheduler.now

    def _make_self_pipe(self) -> None:
        pass

    def _close_self_pipe(self) -> None:
        pass

    def _write_to_self(self) -> None:
        self._own.wake()

    def call_soon_threadsafe(self, callback: Any, *args: Any, context: Any = None) -> Any:
        """Call a function soon, from another thread; a point before and after."""
        self.scheduler.point("wakes a loop")
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        self.scheduler.point("woke a loop")
        return handle

    async def create_connection(self, protocol_factory: Any, host: str, port: int) -> Any:  # type: ignore[override]
        """Connect over the simulated network."""
        socket: Socket = await self.network.connect(self, self._own.wake, host, port)
        return await self._create_connection_transport(socket, protocol_factory, None, None)  # type: ignore[attr-defined]


class Threads(Executor):
    """An executor whose calls are actors.

    Args:
        scheduler: The scheduler.
        most: The number of calls that run at once.
        name: How the names of the actors begin.
    """

    def __init__(self, scheduler: Scheduler, most: int, name: str) -> None:
        self._scheduler, self._most, self._name = scheduler, most, name
        self._running = 0
        self._waiting: list[Callable[[], None]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function in an actor of its own."""
        future: Future[Any] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    result = fn(*args, **kwargs)
                except Exception as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
            self._running -= 1
            if self._waiting:
                self._begin(self._waiting.pop(0))

        if self._running < self._most:
            self._begin(run)
        else:
            self._waiting.append(run)
        self._scheduler.point("submitted")
        return future

    def _begin(self, run: Callable[[], None]) -> None:
        self._running += 1
        self._scheduler.spawn(f"{self._name}-{len(self._scheduler.actors)}", run)
