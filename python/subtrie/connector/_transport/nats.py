"""A connection to nats-server through ``nats-py``, shared by those with the same credentials.

Connections are counted: the last one who leaves closes. A lost connection is made again for as
long as it takes, with every subscription; what is published meanwhile waits in nats-py's buffer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable
from ssl import SSLError
from typing import TYPE_CHECKING, Any

from .._errors import HTTPError
from .credentials import Credentials

if TYPE_CHECKING:
    from nats.aio.client import Client

logger = logging.getLogger("subtrie.connector")

#: Takes a subject and a payload.
PayloadReceiver = Callable[[str, bytes], Awaitable[None]]

CONNECT_LIMIT = 5.0  # seconds for the first connection
RECONNECT_WAIT = 0.25  # seconds between attempts to get it back
_LONG = 86_400  # seconds
_DRAIN_LIMIT = 2.0  # seconds for one subscription


class NatsConnection:
    """One connection, of one event loop."""

    def __init__(self, key: tuple[int, str], host: str, loop: asyncio.AbstractEventLoop) -> None:
        self._key, self._host, self.loop = key, host, loop
        self._users = 0
        self._asking: set[asyncio.Task[None]] = set()
        self._unanswered: set[asyncio.Task[None]] = set()  # of a connection that was lost
        self._last_error: Exception | None = None
        self._hopeless: asyncio.Future[None]
        self.client: Client
        self._ready: asyncio.Task[None]

    @property
    def max_payload(self) -> int:
        """The server's limit, in bytes of one message."""
        return int(self.client.max_payload)

    @property
    def connected(self) -> bool:
        """Whether the connection stands right now."""
        return bool(self.client.is_connected)

    @property
    def closed(self) -> bool:
        """Whether it was closed for good."""
        return self._ready.done() and (
            self._ready.cancelled() or self._ready.exception() is not None or self.client.is_closed
        )

    async def subscribe(self, pattern: str, queue: str | None, receiver: PayloadReceiver) -> Any:
        """Subscribes; the answer is nats-py's subscription. ``settle`` says when it counts."""

        async def heard(message: Any) -> None:
            await receiver(message.subject, message.data)

        return await self.client.subscribe(
            pattern, queue=queue or "", cb=heard, pending_msgs_limit=0, pending_bytes_limit=0
        )

    async def unsubscribe(self, subscription: Any) -> None:
        """Takes a subscription down; what the server has sent already is still taken."""
        from nats.errors import Error

        leaving = self.loop.create_task(
            subscription.drain() if self.connected else subscription.unsubscribe()
        )
        await asyncio.wait((leaving,), timeout=_DRAIN_LIMIT)
        if leaving.done() and not leaving.cancelled():
            error = leaving.exception()
            # Else the connection is gone, and the subscription with it.
            if error is not None and not isinstance(error, Error | OSError | TimeoutError):
                raise error

    async def publish(self, subject: str, payload: bytes) -> None:
        """Sends, or has it wait in the buffer while the connection is being made again.

        Raises ``HTTPError``: 413 for more than the server takes at once, 503 where the connection
        is closed or its buffer is full.
        """
        from nats.errors import Error, MaxPayloadError

        try:
            await self.client.publish(subject, payload)
        except MaxPayloadError:
            message = f"a message of {len(payload)} bytes, {self.max_payload} at most"
            raise HTTPError(message, status=413) from None
        except (Error, OSError) as error:
            message = f"the connection takes it not: {error or type(error).__name__}"
            raise HTTPError(message, status=503) from error

    async def flush(self) -> None:
        """Returns when the server has dealt with all that was sent; soon, if it is away."""
        # The first answer may leave before what the client still holds back.
        for _ in range(2):
            if not await self.responds(2.0):
                return

    async def responds(self, timeout: float) -> bool:
        """Whether the server answers within ``timeout`` seconds.

        What it sent before it answered has been read then.
        """
        if not self.connected:
            return False
        # nats-py's reader stops, for good, at the answer to a flush that was given up: so none
        # is, whoever still waits for it.
        asking = self.loop.create_task(self.client.flush(_LONG))
        self._asking.add(asking)
        asking.add_done_callback(self._answered)
        await asyncio.wait((asking,), timeout=timeout)
        return asking.done() and not asking.cancelled() and asking.exception() is None

    def _answered(self, asking: asyncio.Task[None]) -> None:
        self._asking.discard(asking)
        if not asking.cancelled():
            asking.exception()  # seen, if anybody cares

    async def round_trip(self) -> float:
        """The most a message there and an answer back should take, in seconds: as Go estimates it.

        Twice the measured time to the server and 50 ms, rounded up to 100 ms; 300 ms where there
        are several servers, 250 ms where nothing can be measured.
        """
        if len(self.client.servers) != 1:
            return 0.3
        begun = time.perf_counter()
        if not await self.responds(2.0):
            return 0.25
        spent = time.perf_counter() - begun
        return int((2 * spent + 0.149) * 10) / 10

    async def release(self) -> None:
        """One user less; the last one closes the connection."""
        self._users -= 1
        if self._users == 0:
            if _pool.get(self._key) is self:
                del _pool[self._key]
            await self.client.close()
            for asking in self._asking | self._unanswered:
                asking.cancel()

    async def _connect(self, credentials: Credentials) -> None:
        import nats
        from nats.errors import Error

        self._hopeless = self.loop.create_future()
        connecting = self.loop.create_task(
            nats.connect(
                credentials.url.split(","),
                name=self._host,
                error_cb=self._on_error,
                disconnected_cb=self._on_disconnect,
                reconnected_cb=self._on_reconnect,
                max_reconnect_attempts=-1,
                reconnect_time_wait=RECONNECT_WAIT,
                **credentials.options(),
            )
        )
        try:
            await asyncio.wait(
                (connecting, self._hopeless), timeout=CONNECT_LIMIT, return_when="FIRST_COMPLETED"
            )
            if connecting.done():
                self.client = connecting.result()
                return
        except Error as error:
            raise ConnectionError(f"no connection to {credentials.url}: {error}") from error
        finally:
            connecting.cancel()
            self._hopeless.cancel()
        raise ConnectionError(
            f"no connection to {credentials.url}: {self._last_error or 'no answer'}"
        ) from self._last_error

    async def _on_error(self, error: Exception) -> None:
        from nats.errors import AuthorizationError

        self._last_error = error
        if isinstance(error, SSLError | AuthorizationError) and not self._hopeless.done():
            self._hopeless.set_result(None)  # asking again would not help
        logger.warning("%s: NATS says %r", self._host, error)

    async def _on_disconnect(self) -> None:
        self._unanswered |= self._asking
        logger.info("%s: disconnected from NATS", self._host)

    async def _on_reconnect(self) -> None:
        for asking in self._unanswered:  # and nobody will any more
            asking.cancel()
        self._unanswered.clear()
        logger.info("%s: connected to NATS again", self._host)


_pool: dict[tuple[int, str], NatsConnection] = {}


async def connect(credentials: Credentials, host: str) -> NatsConnection:
    """The connection of these credentials on this loop: an open one, or a new one.

    ``host`` names a new connection. Raises ``ConnectionError``, or what nats-py raises.
    """
    loop = asyncio.get_running_loop()
    key = (id(loop), credentials.digest)
    connection = _pool.get(key)
    # Nobody shares a connection that is closed, nor one of a loop that is no more.
    if connection is None or connection.loop is not loop or connection.closed:
        connection = _pool[key] = NatsConnection(key, host, loop)
        connection._ready = loop.create_task(connection._connect(credentials))
    connection._users += 1
    try:
        await asyncio.shield(connection._ready)
    except BaseException:
        connection._users -= 1
        if connection._users == 0 and _pool.get(key) is connection:
            del _pool[key]
            connection._ready.cancel()
        raise
    return connection


def open_connections() -> int:
    """How many connections this process holds."""
    return len(_pool)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.clear)
