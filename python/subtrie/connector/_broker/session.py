"""One TCP or TLS connection to one server: what is read is delivered within the same call.

Messages are given to their receivers in the order in which they came, with the acknowledgements of
all messages of one read written before the first receiver is called. A ``PONG`` is processed in the
same order, so that after it everything the server sent before has been received.

Other threads may write too, while the operating system takes everything at once: that saves waking
the thread of the connection for each message. A lock keeps their bytes apart. The loop of the
services may also read (``loop_reading``), and then gives everything but messages to the thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..._core import engine
from ..._core.errors import WireError
from .. import _system
from .loop_reading import MANY, MUCH, WATCH, LoopReading, ReadRate
from .server_info import InfoRefused, ServerInfo

#: The receivers of messages by subscription id.
Receivers = dict[int, Callable[[str, bytes], None]]

_HIGH_WATER = 1 << 20  # bytes that wait to be encrypted; then writing pauses
_READ = 1 << 18  # bytes of one read: as asyncio's own reads, which take new memory for each
_MOST_PINGS = 2  # without an answer; then the connection is taken for dead
#: Bytes of a message, if the server announces less: other servers of its cluster may allow more.
LEAST_MESSAGE = 8 << 20
MAX_UNREAD_PONGS = 1 << 16  # bytes that the server has not read; beyond, PINGs are not answered
MAX_UNREAD = 16 << 20  # bytes that the server has not read; beyond, the connection ends
INFO_PAUSE = 0.1  # seconds between two INFO that are looked at; of those between the last counts


class Session(asyncio.BufferedProtocol):
    """The protocol of one connection.

    Args:
        loop: The event loop.
        receivers: The receivers of messages by subscription id.
        on_info: Called with what is known after a further ``INFO``.
        on_error: Called with the text of each ``-ERR``.
        on_writable: Called when writing may go on.
        services_loop: Returns the event loop that may read messages itself, or None.

    Attributes:
        info: What the server said in ``INFO``; with TLS, its servers only if it came encrypted.
        lost: Done when the connection has ended, with the reason.
        writable: Whether more may be written: the operating system has taken everything, or
            almost everything if it is encrypted.
        encrypted: Whether the connection is encrypted.
        reader: The reader of what the server sends.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        receivers: Receivers,
        *,
        on_info: Callable[[ServerInfo], None],
        on_error: Callable[[str], None],
        on_writable: Callable[[], None],
        services_loop: Callable[[], asyncio.AbstractEventLoop | None] = lambda: None,
    ) -> None:
        self._loop, self._receivers = loop, receivers
        self._services_loop = services_loop
        self._on_info, self._on_error, self._on_writable = on_info, on_error, on_writable
        self._new_reader()
        self.info = ServerInfo()
        self._newest_info: Any = None  # INFO that was not looked at
        self._info_timer: asyncio.TimerHandle | None = None
        self.lost: asyncio.Future[Exception] = loop.create_future()
        self.greeted: asyncio.Future[None] = loop.create_future()
        self.writable, self.encrypted = True, False
        self._buffer = memoryview(bytearray(_READ))
        self._transport: asyncio.Transport | None = None
        self._lock = _system.lock()  # guards the three below, and every write
        self._socket: socket.socket | None = None  # for other threads; none if it is encrypted
        self._rest = b""  # of what another thread wrote
        self._pongs: deque[asyncio.Future[bool]] = deque()
        self._shared_ping: asyncio.Future[bool] | None = None
        self._error: Exception | None = None
        self._rate = ReadRate()
        self._reading: LoopReading | None = None  # while the loop of the services reads
        self._process_in_thread = partial(self._in_thread, self._process)

    def _new_reader(self) -> None:
        self.reader = engine.DeliveryReader()
        self.reader.limit(LEAST_MESSAGE)

    # --- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=0)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where to read to."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Acknowledge and deliver what was read."""
        count, steps = self._deliver(nbytes, self._process)
        for step in steps:
            step()
        if self._socket is not None and self._rate.admits(count, nbytes):
            self._offer_reading()

    def _deliver(
        self, nbytes: int, process: Callable[[Any], None]
    ) -> tuple[int, list[Callable[[], None]]]:
        """Acknowledge and deliver what was read; return the number of messages, and further steps.

        Args:
            nbytes: The bytes in the buffer.
            process: Takes the operations that are not messages.
        """
        failure: WireError | None = None
        items: Sequence[Any]
        groups: Sequence[Any]
        steps: list[Callable[[], None]] = []
        try:
            items, groups, acknowledgements = self.reader.feed(bytes(self._buffer[:nbytes]))
        except WireError as error:
            failure, items = error, error.operations
            groups, acknowledgements = error.groups, error.acknowledgements
        count = len(items)
        if acknowledgements and not self._acknowledge(acknowledgements):
            return count, steps
        for take, messages in groups:
            count += len(messages)
            try:
                step = take(messages)
                if step is not None:
                    steps.append(step)
            except Exception as error:  # asyncio would abort the connection
                self._report(error, messages[0][1])
        receivers = self._receivers
        for item in items:
            if type(item) is tuple:
                sid, subject, payload = item
                receiver = receivers.get(sid)
                if receiver is not None:
                    try:
                        receiver(subject, payload)
                    except Exception as error:  # the others are received all the same
                        self._report(error, subject)
            else:
                process(item)
        if failure is not None:
            reason = ConnectionError(f"the server violates the protocol: {failure}")
            self._in_thread(self.abort, reason)
        return count, steps

    def _acknowledge(self, acknowledgements: bytes) -> bool:
        """Write acknowledgements; False if the connection ends for want of a server that reads."""
        if self._reading is None:
            self.write(acknowledgements)
            if not self.writable and self._unread() > MAX_UNREAD:
                self.abort(ConnectionError("the server does not read what it is sent"))
                return False
        elif not self.write_at_once(acknowledgements):
            with self._lock:  # before whatever is written from now on
                self._rest += acknowledgements
            self._in_thread(self.write, b"")
        return True

    def _in_thread(self, step: Callable[..., Any], *arguments: Any) -> None:
        """Run a step in the connection's thread: now, or soon if the loop of the services reads."""
        if self._reading is None:
            step(*arguments)
        else:
            with contextlib.suppress(RuntimeError):  # the thread has ended
                self._loop.call_soon_threadsafe(step, *arguments)

    # --- reading on the loop of the services

    def _offer_reading(self) -> None:
        """Let the loop of the services read once it takes a turn: it may be blocked."""
        loop = self._services_loop()
        if loop is not None:
            accept = partial(self._loop.call_soon_threadsafe, self._let_read, loop)
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(accept)

    def _let_read(self, loop: asyncio.AbstractEventLoop) -> None:
        transport = self._transport
        if self._reading is not None or transport is None or self._socket is None:
            return
        transport.pause_reading()
        reading = LoopReading(loop, self._socket.dup(), self._read_on_loop, self._on_loop_ended)
        self._reading = reading
        if reading.begin():
            self._loop.call_later(WATCH, self._watch, reading, 0)
        else:
            self._read_here()

    def _read_on_loop(self, reading: socket.socket) -> tuple[bool, list[Callable[[], None]]]:
        try:
            nbytes = reading.recv_into(self._buffer)
        except (BlockingIOError, InterruptedError):
            return True, []
        except OSError:  # the thread will meet it too
            return False, []
        if not nbytes:
            return False, []
        count, steps = self._deliver(nbytes, self._process_in_thread)
        return count <= MANY and nbytes <= MUCH and not self._rest, steps

    def _on_loop_ended(self) -> None:
        self._in_thread(self._read_here)

    def _watch(self, reading: LoopReading, reads: int) -> None:
        """Read here again if the loop has read nothing since the last look."""
        if reading is self._reading:
            if reading.reads == reads and reading.end(wait=False):
                self._read_here()
            else:
                self._loop.call_later(WATCH, self._watch, reading, reading.reads)

    def _read_here(self) -> None:
        if self._reading is not None:
            self._reading.end(wait=True)
            self._reading = None
            if self._transport is not None:
                self._transport.resume_reading()

    # --- operations that are not messages

    def _report(self, error: Exception, subject: str) -> None:
        message = f"a message with the subject {subject} could not be received"
        self._loop.call_exception_handler({"message": message, "exception": error})

    def _process(self, op: Any) -> None:
        name = op.op
        if name == "PING":
            if self.writable or self._unread() <= MAX_UNREAD_PONGS:
                self.write(b"PONG\r\n")
        elif name == "PONG":
            if self._pongs and not (pong := self._pongs.popleft()).done():
                pong.set_result(True)
        elif name == "INFO":
            if not self.greeted.done():
                if self._take_info(op):
                    self.greeted.set_result(None)
            else:
                self._newest_info = op
                if self._info_timer is None:
                    self._info_timer = self._loop.call_later(INFO_PAUSE, self._take_newest_info)
        elif name == "-ERR":
            text = str(op.message).strip().strip("'")
            self._error = ConnectionError(text)  # the reason, if the server closes now
            self._on_error(text)

    def _take_info(self, op: Any) -> bool:
        """Check an ``INFO``; one that is refused ends the session."""
        try:
            self.info = self.info.updated(op.json)
        except InfoRefused as error:
            self.abort(error)
            return False
        self.reader.limit(max(self.info.max_payload, LEAST_MESSAGE))
        return True

    def _take_newest_info(self) -> None:
        op, self._newest_info, self._info_timer = self._newest_info, None, None
        if self._transport is not None and op is not None and self._take_info(op):
            self._on_info(self.info)

    def _unread(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def pause_writing(self) -> None:
        """Stop writing: the operating system does not take more."""
        self.writable = False

    def resume_writing(self) -> None:
        """Go on writing."""
        self.writable = True
        self._loop.call_soon(self._on_writable)  # TLS says so within a write

    def connection_lost(self, error: Exception | None) -> None:
        """End the session."""
        reason = self._error or error or ConnectionResetError("the server closed the connection")
        for pong in self._pongs:
            if not pong.done():
                pong.set_result(False)
        self._pongs.clear()
        self._read_here()
        if self._info_timer is not None:
            self._info_timer.cancel()
        with self._lock:
            self._transport = None
            if self._socket is not None:
                self._socket.close()
                self._socket = None
        if not self.lost.done():
            self.lost.set_result(reason)

    # --- called by the connection

    async def start_tls(self, context: ssl.SSLContext, name: str) -> None:
        """Encrypt the connection.

        Args:
            context: The certificates.
            name: The host that the server's certificate must name.

        Raises:
            OSError: The handshake failed; an ``ssl.SSLError`` if a certificate was refused.
        """
        transport = self._transport
        if transport is None:
            raise self.lost.result()
        # What came before was not encrypted, so it may have been written on the way: it names no
        # servers, and no operation begins there and ends in what comes encrypted.
        self.info = replace(self.info, connect_urls=())
        self._newest_info = None
        self._new_reader()
        upgraded = await self._loop.start_tls(transport, self, context, server_hostname=name)
        if upgraded is None:
            raise ConnectionResetError("the connection ended during the TLS handshake")
        self._transport, self.encrypted = upgraded, True
        upgraded.set_write_buffer_limits(high=_HIGH_WATER)

    async def first(self, waited: asyncio.Future[Any]) -> Any:
        """Await a future; raise the reason if the connection ends before."""
        await asyncio.wait((waited, self.lost), return_when="FIRST_COMPLETED")
        if waited.done():
            return waited.result()
        raise self.lost.result()

    def share(self) -> None:
        """Let other threads write: the connection is established and not encrypted."""
        if self._transport is not None and isinstance(self._loop, asyncio.SelectorEventLoop):
            with self._lock:
                self._socket = self._transport.get_extra_info("socket").dup()

    def write(self, data: bytes) -> None:
        """Write bytes, unless the connection has ended."""
        with self._lock:
            if self._transport is not None:
                if self._rest:
                    data, self._rest = self._rest + data, b""
                self._transport.write(data)

    def write_at_once(self, data: bytes) -> bool:
        """Write bytes from another thread; False, with nothing written, if that must wait.

        Args:
            data: The bytes.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._socket is None or not self.writable or self._rest:
                return False
            written = self._socket.send(data)
            if written < len(data):
                self._rest = data[written:]
                self._loop.call_soon_threadsafe(self.write, b"")
            return True
        except OSError:  # the operating system takes nothing, or the connection ends
            return False
        finally:
            self._lock.release()

    def ping(self) -> asyncio.Future[bool]:
        """Send a ``PING``; the future tells whether its ``PONG`` came.

        Callers of one turn of the loop share it. It must not be cancelled.
        """
        if self._shared_ping is None:
            self._shared_ping = self._loop.create_future()
            if self._transport is None:
                self._shared_ping.set_result(False)
            else:
                self._pongs.append(self._shared_ping)
                self.write(b"PING\r\n")
            self._loop.call_soon(self._end_sharing)
        return self._shared_ping

    def _end_sharing(self) -> None:
        self._shared_ping = None

    def check(self) -> None:
        """Send a ``PING``; end a connection that left several of them without an answer."""
        if len(self._pongs) >= _MOST_PINGS:
            self.abort(TimeoutError("the server does not answer"))
        else:
            self.ping()

    def close(self) -> None:
        """End the connection once everything is written."""
        if self._transport is not None:
            self._transport.close()

    def abort(self, reason: Exception) -> None:
        """End the connection now."""
        self._error = self._error or reason
        if self._transport is not None:
            self._transport.abort()
