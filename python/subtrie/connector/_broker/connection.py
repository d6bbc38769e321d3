"""A connection to a NATS server, kept for as long as it takes.

What is published from any thread waits in one list until the loop of the connection joins it to one
write. While the connection is lost, or the server reads too slowly, messages wait up to a limit in
bytes; further ones fail. After a loss all servers are tried in turn, with growing random pauses;
then the subscriptions are made again, and what waits is sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import ssl
from collections.abc import Callable, Sequence
from typing import Any

from ..._core.errors import SubtrieError
from .. import _system
from .._credentials import Credentials
from .._errors import HTTPError
from .._records import BROKER_ERROR_PERIOD, MAX_BROKER_ERRORS, RecordRate
from .._settings import shown_url
from .acknowledging import Acknowledging
from .errors import RefusedOperation, refuses_connection, violation
from .handshake import connect_line
from .server_info import InfoRefused, ServerInfo
from .servers import Pauses, Server, ServerPool, waits
from .session import Receivers, Session
from .subscription import OpenSubscription

logger = logging.getLogger("subtrie.connector")

#: Takes a subject and a payload.
PayloadReceiver = Callable[[str, bytes], None]
#: Takes the error of a message that could not be published.
Failed = Callable[[HTTPError], None]

CONNECT_LIMIT = 5.0  # seconds for the first connection
HANDSHAKE_LIMIT = 5.0  # seconds for one server, from the TCP connection to the first PONG
PING_INTERVAL = 30.0  # seconds; the second PING without an answer ends the connection
FIRST_WAIT, LONGEST_WAIT = 0.25, 4.0  # seconds between attempts to reconnect
STEADY_AFTER = 5.0  # seconds a connection must have lived for its loss to be the first in a row
MAX_WAITING = 128 << 20  # bytes that wait while the server reads too slowly: two bodies
MAX_WAITING_LOST = 8 << 20  # bytes that wait while the connection is lost; as in nats.go
_CHUNK = 1 << 20  # bytes of one write; between two of them writing may pause
#: Seconds since the last write after which a message is written alone, if the turn before had one
#: only. Longer joins more messages to one write, and then each message alone waits for the end of
#: a turn, with a poll more.
_ALONE_AFTER = 0.0001
_CLOSE_LIMIT = 2.0  # seconds to write what is left

#: A message as it is written, or a function to call once everything before it was written.
Entry = bytes | Callable[[], None]


class Connection:
    """One connection, on the event loop of the thread for connections.

    Args:
        host: The service that connects first, which names the connection.
        loop: The loop.
    """

    def __init__(self, host: str, loop: asyncio.AbstractEventLoop) -> None:
        self._host, self.loop = host, loop
        #: Called with each publish or subscription that the broker refuses, on this loop.
        self.on_violation: list[Callable[[RefusedOperation], bool]] = []
        #: The event loop of all services of this connection; None if there are several.
        self.services_loop: asyncio.AbstractEventLoop | None = None
        self._credentials: Credentials
        self._servers: ServerPool
        self._session: Session | None = None
        self._info = ServerInfo()
        self._since = 0.0  # when the connection was established, on the loop's clock
        self._errors = RecordRate(MAX_BROKER_ERRORS, BROKER_ERROR_PERIOD)
        self._pauses = Pauses(FIRST_WAIT, LONGEST_WAIT, STEADY_AFTER)
        self._server: Server
        self._subscriptions: dict[int, OpenSubscription] = {}
        self._receivers: Receivers = {}
        self._sids = itertools.count(1)
        self._excluded: list[str] = []
        self._lock = _system.lock()  # guards the seven below
        self._outbox: list[Entry] = []
        self._calls = 0  # functions in the outbox
        self._waiting = 0  # bytes in the outbox
        self._written = 0.0  # when another thread wrote last, on the monotonic clock
        self._joined = False  # whether that were several messages
        self._woken = False  # whether the loop is about to write
        self._writing = False  # whether the loop is writing what it took from the outbox
        self._publisher: asyncio.AbstractEventLoop | None = None  # in whose turn there are messages
        self._ended = False
        self._background: dict[asyncio.Task[None], None] = {}  # in the order of their start
        self._pinger: asyncio.TimerHandle | None = None

    # --- state

    @property
    def max_payload(self) -> int:
        """The server's limit on a message, in bytes."""
        return self._info.max_payload

    @property
    def connected(self) -> bool:
        """Whether the connection is established right now."""
        return self._session is not None

    # --- connecting

    async def _connect(self, credentials: Credentials) -> None:
        self._credentials = credentials
        shown = ", ".join(shown_url(url) for url in credentials.url.split(","))
        last: Exception | None = None

        async def attempts() -> None:
            nonlocal last
            for wait in waits(FIRST_WAIT, LONGEST_WAIT):
                for server in self._servers.round():
                    try:
                        await self._open(server)
                        return
                    except (SubtrieError, ImportError):
                        raise
                    except Exception as error:
                        last = error
                        if refuses_connection(error):
                            return  # another attempt would fail too
                await asyncio.sleep(wait)

        try:
            self._servers = ServerPool(credentials.url)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CONNECT_LIMIT):
                    await attempts()
        except (OSError, SubtrieError) as error:
            last = error
        if self._session is None:
            why = str(last) or type(last).__name__ if last is not None else "no answer"
            raise ConnectionError(f"no connection to {shown}: {why}") from last

    async def _open(self, server: Server) -> None:
        """Connect to one server, subscribe everything, and send what waits."""
        session = Session(
            self.loop,
            self._receivers,
            on_info=self._on_info,
            on_error=self._on_error,
            on_writable=self._write,
            services_loop=lambda: self.services_loop,
        )
        try:
            async with asyncio.timeout(HANDSHAKE_LIMIT):
                await self._greet(session, server)
        except BaseException as error:
            session.abort(ConnectionError(str(error)))
            raise
        session.reader.exclude(self._excluded)
        self._session, self._server, self._since = session, server, self.loop.time()
        self._on_info(session.info)
        for each in self._subscriptions.values():
            self._prepare(session, each)
        session.write(b"".join(each.line() for each in self._subscriptions.values()))
        session.lost.add_done_callback(lambda _: self._on_lost(session))
        self._pinger = self.loop.call_later(PING_INTERVAL, self._on_ping_time, session)
        self._write()

    async def _greet(self, session: Session, server: Server) -> None:
        credentials = self._credentials
        await self.loop.create_connection(lambda: session, server.host, server.port)
        await session.first(session.greeted)
        info = session.info
        context = credentials.tls_context()
        wanted = context is not None or server.tls
        if wanted and not (info.tls_required or info.tls_available):
            raise ConnectionError("the server does not offer TLS")
        encrypted = wanted or info.tls_required
        if encrypted:
            await session.start_tls(context or ssl.create_default_context(), server.tls_name)
        line = connect_line(credentials, server, info, name=self._host, tls=encrypted)
        session.write(line)
        if not await session.first(session.ping()):
            raise session.lost.result()
        if not encrypted:
            session.share()

    def _on_info(self, info: ServerInfo) -> None:
        if self._session is None:
            return  # of a session that is not established
        self._info = info
        encrypted = self._session.encrypted
        self._servers.announce(info.connect_urls, self._server, encrypted=encrypted)
        if info.ldm:
            logger.info("%s: the broker is about to shut down", self._host)

    def _on_error(self, text: str) -> None:
        refused = violation(text)
        told = [] if refused is None else [each(refused) for each in list(self.on_violation)]
        # The first connection, and a start, fail with an exception.
        level = logging.DEBUG if not self.connected or any(told) else logging.WARNING
        if self._errors.admits():
            logger.log(level, "%s: NATS error: %s%s", self._host, text, self._errors.left_out())

    def _on_ping_time(self, session: Session) -> None:
        session.check()
        self._pinger = self.loop.call_later(PING_INTERVAL, self._on_ping_time, session)

    def _on_lost(self, session: Session) -> None:
        if self._pinger is not None:
            self._pinger.cancel()
        if self._session is not session:
            return
        self._session = None
        if not self._ended:
            self._start(self._reconnect(session.lost.result()))
            self._write()  # for the functions that wait for it

    async def _reconnect(self, reason: Exception) -> None:
        """Connect again, whatever the errors; pauses grow until a connection has lived a while."""
        wait = self._pauses.first(self.loop.time() - self._since)
        repeated = self._pauses.short_lived > 1
        if repeated:
            text = "%s: the connection to the broker is lost again; the next attempt is in %.1f s"
            logger.warning(text, self._host, wait)
        else:
            logger.warning("%s: the connection to the broker is lost", self._host)
        logger.debug("%s: %s", self._host, reason)
        said = ""
        while True:
            await asyncio.sleep(wait)
            for server in self._servers.round():
                try:
                    await self._open(server)
                except Exception as error:
                    failure = f"{server.host}:{server.port}: {error or type(error).__name__}"
                    plain = isinstance(error, OSError) and not isinstance(error, InfoRefused)
                    new = not plain and failure != said
                    logger.log(
                        logging.WARNING if new else logging.DEBUG, "%s: %s", self._host, failure
                    )
                    said = said if plain else failure
                else:
                    if not repeated:
                        logger.info("%s: the broker is back", self._host)
                    return
            wait = next(self._pauses.waits)

    def _start(self, work: Any) -> None:
        task = self.loop.create_task(work)
        self._background[task] = None
        task.add_done_callback(lambda task: self._background.pop(task, None))

    # --- subscriptions

    async def _subscribe(
        self,
        patterns: Sequence[str],
        queue: str | None,
        receiver: PayloadReceiver,
        acknowledging: Acknowledging | None,
    ) -> list[Any]:
        made = []
        session = self._session
        for pattern in patterns:
            each = OpenSubscription(next(self._sids), pattern, queue, acknowledging)
            self._subscriptions[each.sid] = each
            self._receivers[each.sid] = receiver
            if session is not None:
                self._prepare(session, each)
            made.append(each)
        if session is not None:
            session.write(b"".join(each.line() for each in made))
        return made

    def _prepare(self, session: Session, each: OpenSubscription) -> None:
        how = each.acknowledging
        if how is not None:
            session.reader.acknowledge(
                each.sid, how.plane, how.host, how.whole, how.fragment, how.receiver, how.tag
            )

    async def _unsubscribe(self, subscriptions: Sequence[Any]) -> None:
        sids = [each.sid for each in subscriptions]
        for sid in sids:
            self._subscriptions.pop(sid, None)
        if self._session is not None:
            self._session.write(b"".join(b"UNSUB %d\r\n" % sid for sid in sids))
            await self._flush()  # what the server sent before is received
        for sid in sids:
            self._receivers.pop(sid, None)
            if self._session is not None:
                self._session.reader.forget(sid)

    def exclude(self, hosts: Sequence[str]) -> None:
        """Leave the acknowledgement of requests from these hosts to the receiver."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._exclude, list(hosts))

    def _exclude(self, hosts: list[str]) -> None:
        self._excluded = hosts
        if self._session is not None:
            self._session.reader.exclude(hosts)

    # --- messages

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
            return
        frame = b"PUB %b %d\r\n%b\r\n" % (subject.encode(), len(payload), payload)
        most = MAX_WAITING if self._session is not None else MAX_WAITING_LOST
        with self._lock:
            full = self._waiting + len(frame) > most
            if not (full or self._ended):
                self._outbox.append(frame)
                self._waiting += len(frame)
        if full or self._ended:
            why = "the connection is closed" if self._ended else "full, too much waits to be sent"
            failed(HTTPError(f"publish failed: {why}", status=503))
        else:
            self._wake_once_a_turn()

    def after_writes(self, call: Callable[[], None]) -> None:
        """Call a function on this connection's loop once everything before was written."""
        with self._lock:
            self._outbox.append(call)
            self._calls += 1
        self._wake()

    def _wake_once_a_turn(self) -> None:
        """Write at the end of the publisher's turn, so that its messages are joined.

        At once if few messages are sent, and from a thread without an event loop.
        """
        running = asyncio._get_running_loop()
        if running is self.loop:
            self._wake()
        elif not self._joined and _system.monotonic() - self._written > _ALONE_AFTER:
            if not self._write_here():
                self._wake()
        elif running is None:
            self._wake()
        elif self._publisher is not running:
            self._publisher = running
            running.call_soon(self._end_of_turn)

    def _end_of_turn(self) -> None:
        self._publisher = None
        if not self._write_here():
            self._wake()

    def _write_here(self) -> bool:
        """Write what waits in the publisher's thread; False if the loop must do it.

        A wake-up of the loop costs more than the write, and the publisher its turn at the
        interpreter.
        """
        with self._lock:
            session = self._session
            if session is None or self._writing or self._calls or self._waiting > _CHUNK:
                return False
            if self._outbox and not session.write_at_once(b"".join(self._outbox)):  # type: ignore[arg-type]
                return False
            self._joined = len(self._outbox) > 1
            self._outbox.clear()
            self._waiting, self._written = 0, _system.monotonic()
            return True

    def _wake(self) -> None:
        with self._lock:
            if self._woken:
                return
            self._woken = True
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            if asyncio._get_running_loop() is self.loop:
                self.loop.call_soon(self._write)
            else:
                self.loop.call_soon_threadsafe(self._write)

    def _write(self) -> None:
        """Write what waits, joined; functions are called even if nothing can be written."""
        with self._lock:
            taken, self._outbox, self._calls = self._outbox, [], 0
            self._woken, self._writing = False, True
        session = self._session
        kept: list[Entry] = []
        joined: list[bytes] = []
        size = written = 0
        for entry in taken:
            if not isinstance(entry, bytes):
                if session is not None and joined:
                    session.write(b"".join(joined))
                    joined, size = [], 0
                try:
                    entry()
                except Exception:
                    logger.exception("%s: a received message could not be processed", self._host)
            elif session is None or not session.writable:
                kept.append(entry)
            else:
                joined.append(entry)
                size += len(entry)
                written += len(entry)
                if size >= _CHUNK:
                    session.write(b"".join(joined))
                    joined, size = [], 0
        if session is not None and joined:
            session.write(b"".join(joined))
        with self._lock:
            self._waiting -= written
            self._writing = False
            if kept:
                self._outbox[:0] = kept

    # --- waiting for the server

    async def _flush(self) -> None:
        self._write()
        while self._outbox and self._session is not None:
            await asyncio.sleep(0.001)
        await self._responds(2.0)

    async def _responds(self, timeout: float) -> bool:
        if self._session is None:
            return False
        pong = self._session.ping()
        await asyncio.wait((pong,), timeout=timeout)
        return pong.done() and pong.result()

    async def _close(self) -> None:
        session = self._session
        if session is not None:
            self._write()
        self._ended = True
        for task in self._background:
            task.cancel()
        if session is not None:
            session.close()
            await asyncio.wait((session.lost,), timeout=_CLOSE_LIMIT)
            session.abort(ConnectionError("closed"))
        self._session = None
