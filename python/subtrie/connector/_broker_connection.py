"""Connections to the broker, shared by the services of this process with the same credentials.

Connections are reference counted: the last user closes. Each runs on the event loop of the thread
for connections. A lost connection is re-established for as long as it takes, with every
subscription; messages published meanwhile wait in a bounded buffer.

The time to wait for an acknowledgement is Go's, or three times the 99th percentile of the last 128
on the connection if that is more, but never over a second: a service that is slow to acknowledge
because it is busy is not taken for absent.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from . import _io_thread
from ._broker_errors import Violation
from ._credentials import Credentials
from ._errors import HTTPError

#: Takes a subject and a payload.
PayloadReceiver = Callable[[str, bytes], None]
#: Takes the error of a message that could not be published.
Failed = Callable[[HTTPError], None]
Value = TypeVar("Value")

CONNECT_LIMIT = 5.0  # seconds for the first connection


@dataclass(frozen=True, slots=True)
class Acknowledging:
    """The acknowledgements of one subscription, composed as its requests are read.

    Attributes:
        plane: The plane of the service.
        host: The host of the service.
        whole: The acknowledgement of a message, before and after the message id.
        fragment: That of a fragment.
        receiver: Takes tag, subject and payload of the messages that were read and acknowledged
            together, in order; the others have their own receiver.
        tag: The object that stands for the subscription.
    """

    plane: str
    host: str
    whole: tuple[bytes, bytes]
    fragment: tuple[bytes, bytes]
    receiver: Callable[[Sequence[tuple[Any, str, bytes]]], None]
    tag: Any


_KEPT = 128  # acknowledgements
_PLACE = 126  # of the 99th percentile among them, in order
_TIMES = 3
_LONGEST = 1.0  # seconds
_EVERY = 16  # acknowledgements between two looks at the percentile


class AckTimes:
    """The times of the last acknowledgements; noted in one thread, read in any."""

    __slots__ = ("_count", "_slow", "_times")

    def __init__(self) -> None:
        self._times = [0.0] * _KEPT
        self._count = 0
        self._slow = 0.0

    def note(self, seconds: float) -> None:
        """Note how long an acknowledgement took, in seconds."""
        self._times[self._count % _KEPT] = seconds
        self._count += 1
        if self._count % _EVERY == 0:
            self._slow = _TIMES * sorted(self._times)[_PLACE]

    def limit(self, least: float) -> float:
        """Return how long to wait for an acknowledgement in seconds.

        Args:
            least: What Go would wait, in seconds.
        """
        return max(least, min(self._slow, _LONGEST))


class BrokerConnection(ABC):
    """One connection, on the event loop of the thread for connections."""

    def __init__(self, key: str, host: str, loop: asyncio.AbstractEventLoop) -> None:
        self._key, self._host, self.loop = key, host, loop
        self._users = 0
        #: Called with each publish or subscription that the broker refuses, on this loop.
        self.on_violation: list[Callable[[Violation], None]] = []
        self.ack_times = AckTimes()
        #: The first connection; its loop may report an error before ``connect`` sets it.
        self._ready: Future[None] = Future()

    @property
    @abstractmethod
    def max_payload(self) -> int:
        """The server's limit on a message, in bytes."""

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether the connection is established right now."""

    @property
    @abstractmethod
    def _is_closed(self) -> bool:
        """Whether an established connection was closed for good."""

    @property
    @abstractmethod
    def _several_servers(self) -> bool:
        """Whether more than one server is known."""

    @property
    def closed(self) -> bool:
        """Whether the connection was closed for good."""
        ready = self._ready
        return ready.done() and (
            ready.cancelled() or ready.exception() is not None or self._is_closed
        )

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

    @abstractmethod
    async def _subscribe(
        self,
        patterns: Sequence[str],
        queue: str | None,
        receiver: PayloadReceiver,
        acknowledging: Acknowledging | None,
    ) -> list[Any]: ...

    async def unsubscribe(self, subscriptions: Sequence[Any]) -> None:
        """Remove subscriptions; messages that the server has sent already are still received."""
        await self._on_loop(self._unsubscribe(subscriptions))

    @abstractmethod
    async def _unsubscribe(self, subscriptions: Sequence[Any]) -> None: ...

    def publish(self, subject: str, payload: bytes, failed: Failed) -> None:
        """Publish, from any thread; messages wait while the connection is being re-established.

        Args:
            subject: The subject.
            payload: The message.
            failed: Called with an ``HTTPError`` if the message is larger than the server's limit
                (413), or if the connection is closed or its buffer full (503).
        """
        if len(payload) > self.max_payload:
            message = f"the message has {len(payload)} bytes; the server allows {self.max_payload}"
            failed(HTTPError(message, status=413))
        else:
            self._publish(subject, payload, failed)

    @abstractmethod
    def _publish(self, subject: str, payload: bytes, failed: Failed) -> None: ...

    @abstractmethod
    def after_writes(self, call: Callable[[], None]) -> None:
        """Call a function on this connection's loop once everything before was written."""

    def exclude(self, hosts: Sequence[str]) -> None:  # noqa: B027 - only some acknowledge
        """Leave the acknowledgement of requests from these hosts to the receiver.

        Args:
            hosts: The hosts whose services are in this process.
        """

    async def _on_loop(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Await work on this connection's loop, which may belong to another thread."""
        if asyncio.get_running_loop() is self.loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    async def flush(self) -> None:
        """Return when the server has processed everything sent; soon if it is disconnected."""
        await self._on_loop(self._flush())

    @abstractmethod
    async def _flush(self) -> None: ...

    async def responds(self, timeout: float) -> bool:
        """Return whether the server answers a ping within ``timeout`` seconds.

        If so, everything it sent before has been read.
        """
        return await self._on_loop(self._responds(timeout))

    @abstractmethod
    async def _responds(self, timeout: float) -> bool: ...

    async def round_trip(self) -> float:
        """Return how long a message and its acknowledgement may take, in seconds, as in Go.

        Twice the measured time to the server and 50 ms, rounded up to 100 ms; 300 ms with several
        servers, 250 ms if nothing can be measured.
        """
        if self._several_servers:
            return 0.3
        begun = time.perf_counter()
        if not await self.responds(2.0):
            return 0.25
        spent = time.perf_counter() - begun
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

    @abstractmethod
    async def _close(self) -> None: ...

    @abstractmethod
    async def _connect(self, credentials: Credentials) -> None: ...


_pool: dict[str, BrokerConnection] = {}
_lock = threading.Lock()  # guards the pool and the counts of users


async def connect(
    kind: type[BrokerConnection], credentials: Credentials, host: str
) -> BrokerConnection:
    """Return the connection for credentials: an open one, or a new one.

    Args:
        kind: The class of the connection.
        credentials: The credentials.
        host: The name of a new connection.

    Raises:
        ConnectionError: The server does not answer, or refuses the credentials.
    """
    key = f"{kind.__name__} {credentials.digest}"
    with _lock:
        connection = _pool.get(key)
        if connection is None or connection.closed:
            connection = kind(key, host, _io_thread.acquire())
            _pool[key] = connection
            work = connection._connect(credentials)
            connection._ready = asyncio.run_coroutine_threadsafe(work, connection.loop)
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


def all_connections() -> list[BrokerConnection]:
    """Return the connections of this process."""
    with _lock:
        return list(_pool.values())


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _pool.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
