"""A connection to nats-server through nats-py; messages wait in its buffer while it is lost."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _broker_connection
from ._broker_connection import Acknowledging, BrokerConnection, Failed, PayloadReceiver
from ._broker_errors import refuses_connection, violation
from ._credentials import Credentials
from ._errors import HTTPError
from ._settings import shown_url

if TYPE_CHECKING:
    from nats.aio.client import Client

logger = logging.getLogger("subtrie.connector")

RECONNECT_WAIT = 0.25  # seconds between attempts to get it back
_NO_TIMEOUT = 86_400  # seconds; nats-py wants a number
_DRAIN_LIMIT = 2.0  # seconds to drain a batch of subscriptions
_AT_ONCE = 512  # subscriptions drained concurrently


class NatsConnection(BrokerConnection):
    """One connection of nats-py, on the event loop of the thread for connections."""

    def __init__(self, key: str, host: str, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(key, host, loop)
        self._pings: set[asyncio.Task[None]] = set()
        self._lost_pings: set[asyncio.Task[None]] = set()  # pings of a connection that was lost
        self._last_error: Exception | None = None
        self._fatal_error: asyncio.Future[None]
        self._outbox: deque[tuple[str, bytes, Failed] | Callable[[], None]] = deque()
        self._writing = False  # whether a writer of the outbox is about to begin
        self._writer: asyncio.Task[None] | None = None
        self.client: Client

    @property
    def max_payload(self) -> int:
        """The server's limit on a message, in bytes."""
        return int(self.client.max_payload)

    @property
    def connected(self) -> bool:
        """Whether the connection is established right now."""
        return bool(self.client.is_connected)

    @property
    def _is_closed(self) -> bool:
        return bool(self.client.is_closed)

    @property
    def _several_servers(self) -> bool:
        return len(self.client.servers) != 1

    async def _subscribe(
        self,
        patterns: Sequence[str],
        queue: str | None,
        receiver: PayloadReceiver,
        acknowledging: Acknowledging | None,
    ) -> list[Any]:
        async def on_message(message: Any) -> None:
            receiver(message.subject, message.data)

        made: list[Any] = []
        for pattern in patterns:
            made.append(
                await self.client.subscribe(
                    pattern,
                    queue=queue or "",
                    cb=on_message,
                    pending_msgs_limit=0,
                    pending_bytes_limit=0,
                )
            )
        return made

    async def _unsubscribe(self, subscriptions: Sequence[Any]) -> None:
        from nats.errors import Error

        if self.connected:
            # nats-py's drain writes its ping ahead of the UNSUB, and so loses messages; therefore
            # the server receives all of them first.
            for each in subscriptions:
                await self.client._send_unsubscribe(each._id)
            await self._flush()
        for first in range(0, len(subscriptions), _AT_ONCE):
            unsubscribing = {
                self.loop.create_task(each.drain() if self.connected else each.unsubscribe())
                for each in subscriptions[first : first + _AT_ONCE]
            }
            done, _ = await asyncio.wait(unsubscribing, timeout=_DRAIN_LIMIT)
            for each in done:
                error = None if each.cancelled() else each.exception()
                # Otherwise the connection is closed, and the subscription with it.
                if error is not None and not isinstance(error, Error | OSError | TimeoutError):
                    raise error

    def _publish(self, subject: str, payload: bytes, failed: Failed) -> None:
        self._outbox.append((subject, payload, failed))
        self._write_soon()

    def after_writes(self, call: Callable[[], None]) -> None:
        """Call a function on this connection's loop once everything before was written."""
        self._outbox.append(call)
        self._write_soon()

    def _write_soon(self) -> None:
        if not self._writing:
            self._writing = True
            if asyncio._get_running_loop() is self.loop:
                self._begin_writing()
            elif not self.loop.is_closed():
                self.loop.call_soon_threadsafe(self._begin_writing)

    def _begin_writing(self) -> None:
        self._writer = self.loop.create_task(self._write())

    async def _write(self) -> None:
        from nats.errors import Error

        while self._outbox:
            each = self._outbox.popleft()
            if callable(each):
                await asyncio.sleep(0)  # nats-py's flusher has its turn
                each()
                continue
            subject, payload, failed = each
            try:
                await self.client.publish(subject, payload)
            except (Error, OSError) as error:
                message = f"publish failed: {error or type(error).__name__}"
                lost = HTTPError(message, status=503)
                lost.__cause__ = error
                failed(lost)
        self._writing = False
        if self._outbox:  # another thread added to it before the line above
            self._write_soon()

    async def _flush(self) -> None:
        while self._outbox and self.connected:
            await asyncio.sleep(0)
        # The first ping may be sent before data that the client still buffers.
        for _ in range(2):
            if not await self._responds(2.0):
                return

    async def _responds(self, timeout: float) -> bool:
        if not self.connected:
            return False
        # nats-py's reader stops for good at the pong of a cancelled flush, so none is cancelled.
        ping = self.loop.create_task(self.client.flush(_NO_TIMEOUT))
        self._pings.add(ping)
        ping.add_done_callback(self._ping_done)
        await asyncio.wait((ping,), timeout=timeout)
        return ping.done() and not ping.cancelled() and ping.exception() is None

    def _ping_done(self, ping: asyncio.Task[None]) -> None:
        self._pings.discard(ping)
        if not ping.cancelled():
            ping.exception()  # retrieved, so that asyncio does not log it

    async def _close(self) -> None:
        await self.client.close()
        for ping in self._pings | self._lost_pings:
            ping.cancel()

    async def _connect(self, credentials: Credentials) -> None:
        import nats
        from nats.errors import Error

        shown = ", ".join(shown_url(url) for url in credentials.url.split(","))
        self._fatal_error = self.loop.create_future()
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
                (connecting, self._fatal_error),
                timeout=_broker_connection.CONNECT_LIMIT,
                return_when="FIRST_COMPLETED",
            )
            if connecting.done():
                self.client = connecting.result()
                return
        except Error as error:
            raise ConnectionError(f"no connection to {shown}: {error}") from error
        finally:
            connecting.cancel()
            self._fatal_error.cancel()
        raise ConnectionError(
            f"no connection to {shown}: {self._last_error or 'no answer'}"
        ) from self._last_error

    async def _on_error(self, error: Exception) -> None:
        from nats.errors import StaleConnectionError, UnexpectedEOF

        if not self._fatal_error.done():  # what follows a refusal, such as a reset, says less
            self._last_error = error
        if refuses_connection(error) and not self._fatal_error.done():
            self._fatal_error.set_result(None)  # another attempt would fail too
        refused = violation(error)
        if refused is not None:
            for each in list(self.on_violation):
                each(refused)
        # The first connection fails with an exception, and a lost one is reported once.
        lost = isinstance(error, OSError | StaleConnectionError | UnexpectedEOF)
        # After a first connection that failed there is no client.
        made = self._ready.done() and not self._ready.cancelled() and not self._ready.exception()
        ready = made and self.connected
        level = logging.WARNING if ready and not lost else logging.DEBUG
        logger.log(level, "%s: NATS error: %s", self._host, error)

    async def _on_disconnect(self) -> None:
        self._lost_pings |= self._pings
        if not self.client.is_closed:
            logger.warning("%s: the connection to the broker is lost", self._host)

    async def _on_reconnect(self) -> None:
        for ping in self._lost_pings:  # the new connection has no pong for them
            ping.cancel()
        self._lost_pings.clear()
        logger.info("%s: the broker is back", self._host)
