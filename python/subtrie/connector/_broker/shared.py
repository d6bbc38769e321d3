"""Connections to the broker, shared by the services of this process with the same credentials.

Connections are reference counted: the last user closes. Each runs on the event loop of the thread
for connections, and is used from any other.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from .. import _io_thread, _system
from .._credentials import Credentials
from .acknowledging import Acknowledging, AckTimes
from .connection import Connection, PayloadReceiver

Value = TypeVar("Value")


class SharedConnection(Connection):
    """A connection with users in several loops; the last one closes it.

    Args:
        key: What its credentials are known by.
        host: The service that connects first.
        loop: The loop of the thread for connections.
    """

    def __init__(self, key: str, host: str, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(host, loop)
        self._key, self._users = key, 0
        self.ack_times = AckTimes()
        #: The first connection; its loop may report an error before ``connect`` sets it.
        self._ready: Future[None] = Future()

    @property
    def closed(self) -> bool:
        """Whether the connection was closed for good."""
        ready = self._ready
        return ready.done() and (ready.cancelled() or ready.exception() is not None or self._ended)

    async def subscribe(
        self,
        patterns: Sequence[str],
        queue: str | None,
        receiver: PayloadReceiver,
        acknowledging: Acknowledging | None = None,
    ) -> list[Any]:
        """Subscribe patterns; they are in effect after ``flush``.

        Args:
            patterns: The patterns.
            queue: The queue name, or None.
            receiver: Takes the payloads, on this connection's loop.
            acknowledging: How to acknowledge requests, where the connection can do it itself.
        """
        return await self._on_loop(self._subscribe(patterns, queue, receiver, acknowledging))

    async def unsubscribe(self, subscriptions: Sequence[Any]) -> None:
        """Remove subscriptions; messages that the server has sent already are still received."""
        await self._on_loop(self._unsubscribe(subscriptions))

    async def _on_loop(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Await work on this connection's loop, which may belong to another thread."""
        if asyncio.get_running_loop() is self.loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    async def flush(self) -> None:
        """Return when the server has processed everything sent; soon if it is disconnected."""
        await self._on_loop(self._flush())

    async def responds(self, timeout: float) -> bool:
        """Return whether the server answers a ping within ``timeout`` seconds.

        If so, everything it sent before has been read.
        """
        return await self._on_loop(self._responds(timeout))

    async def round_trip(self) -> float:
        """Return how long a message and its acknowledgement may take, in seconds, as in Go.

        Twice the measured time to the server and 50 ms, rounded up to 100 ms; 300 ms with several
        servers, 250 ms if nothing can be measured.
        """
        if len(self._servers) != 1:
            return 0.3
        begun = _system.monotonic()
        if not await self.responds(2.0):
            return 0.25
        spent = _system.monotonic() - begun
        return int((2 * spent + 0.149) * 10) / 10

    async def release(self) -> None:
        """Stop using the connection; the last user closes it."""
        if self._leave():
            await self._on_loop(self._close())
            _io_thread.release()

    def _leave(self) -> bool:
        """Count a user less; return whether it was the last."""
        with _lock:
            self._users -= 1
            if self._users == 0 and _pool.get(self._key) is self:
                del _pool[self._key]
            return self._users == 0


_pool: dict[str, SharedConnection] = {}
_lock = _system.lock()  # guards the pool and the counts of users


async def connect(credentials: Credentials, host: str) -> SharedConnection:
    """Return the connection for credentials: an open one, or a new one.

    Args:
        credentials: The credentials.
        host: The name of a new connection.

    Raises:
        ConnectionError: The server does not answer, or refuses the credentials.
    """
    loop = asyncio.get_running_loop()
    key = credentials.digest
    with _lock:
        connection = _pool.get(key)
        if connection is None or connection.closed:
            connection = SharedConnection(key, host, _io_thread.acquire())
            _pool[key] = connection
            work = connection._connect(credentials)
            connection._ready = asyncio.run_coroutine_threadsafe(work, connection.loop)
            connection.services_loop = loop
        elif connection.services_loop is not loop:
            connection.services_loop = None
        connection._users += 1
    try:
        await asyncio.shield(asyncio.wrap_future(connection._ready))
    except BaseException:
        if connection._leave():
            connection._ready.cancel()
            _io_thread.release()
        raise
    return connection


def open_connections() -> int:
    """Return how many connections this process holds."""
    return len(_pool)


def all_connections() -> list[SharedConnection]:
    """Return the connections of this process."""
    with _lock:
        return list(_pool.values())


def _after_fork() -> None:
    global _lock
    _lock = _system.lock()
    _pool.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
