"""A simulated network: bytes in order, cut anywhere, late, or never.

A connection has two directions, each with a buffer of the sender, bytes on the way, and a buffer of
the receiver. What is done to it: its bytes are cut at any place, it is stalled, half-open (bytes
vanish and neither end is told), reset, or closed.
"""

from __future__ import annotations

import asyncio
import socket as system_socket
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from .scheduler import Scheduler

_FIRST_FD = 10_000


class Server(Protocol):
    """A server that listens on a port."""

    def accept(self, connection: Connection) -> None:
        """Take a connection."""

    def received(self, connection: Connection, data: bytes) -> None:
        """Take bytes of a client."""

    def drained(self, connection: Connection) -> None:
        """Go on writing: the client has taken bytes."""

    def lost(self, connection: Connection) -> None:
        """Note that a client is gone."""


class Socket:
    """The client's end of a connection, as asyncio and the connector use it."""

    family, type, proto = system_socket.AF_UNIX, system_socket.SOCK_STREAM, 0

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._fd = connection.network.new_fd(self)
        self.closed = False

    def fileno(self) -> int:
        """Return the number of the socket."""
        return self._fd

    def getsockname(self) -> str:
        """Return a name."""
        return f"client-{self.connection.number}"

    getpeername = getsockname

    def gettimeout(self) -> float:
        """Return 0: it never blocks."""
        return 0.0

    def setblocking(self, flag: bool) -> None:
        """Do nothing."""

    def dup(self) -> Socket:
        """Return another socket of the same connection."""
        self.connection.handles += 1
        return Socket(self.connection)

    def readable(self) -> bool:
        """Return whether reading would not block."""
        connection = self.connection
        return bool(connection.inbox) or connection.ended or connection.broken

    def writable(self) -> bool:
        """Return whether writing would not block."""
        connection = self.connection
        return connection.broken or connection.room() > 0

    def send(self, data: bytes) -> int:
        """Write what the buffer of the system has room for."""
        if self.closed:
            raise OSError(9, "bad file descriptor")
        return self.connection.send(bytes(data))

    def recv_into(self, buffer: Any) -> int:
        """Read what has arrived."""
        data = self.connection.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def recv(self, size: int) -> bytes:
        """Read what has arrived."""
        return self.connection.read(size)

    def shutdown(self, how: int) -> None:
        """Do nothing: the connector closes."""

    def close(self) -> None:
        """Close this handle; the last one closes the connection."""
        if not self.closed:
            self.closed = True
            self.connection.handles -= 1
            if not self.connection.handles:
                self.connection.close_client()


class Connection:
    """One connection between a client and a server."""

    def __init__(self, network: Network, server: Server, number: int) -> None:
        self.network, self.server, self.number = network, server, number
        self.handles = 1
        self.wakers: list[Callable[[], None]] = []  # of the loops that watch it
        self.inbox = bytearray()
        self.ended = self.broken = False  # the server closed; the connection was reset
        self.half_open = False
        self.client_closed = self.server_closed = False
        self._on_way = [0, 0]  # bytes to the server, to the client
        self._stalled = [0.0, 0.0]
        self._last = [0.0, 0.0]  # when the last bytes arrive
        self._queues: list[deque[tuple[float, Callable[[], None]]]] = [deque(), deque()]
        self.buffer, self.window = network.buffer, network.window

    def wake(self) -> None:
        """Let the loops that watch the connection look at it."""
        for each in self.wakers:
            each()

    # --- the client

    def room(self) -> int:
        """Return how many bytes the client may write."""
        return self.buffer - self._on_way[0]

    def send(self, data: bytes) -> int:
        """Take bytes of the client."""
        scheduler = self.network.scheduler
        scheduler.point("send")
        self.network.on_send(data)
        if self.broken:
            raise ConnectionResetError(104, "connection reset by peer")
        if self.server_closed and not self.half_open:
            self.reset()
            raise BrokenPipeError(32, "broken pipe")
        taken = min(len(data), self.room())
        if not taken:
            raise BlockingIOError(11, "resource temporarily unavailable")
        if taken > 1 and self.network.random.random() < self.network.partial:
            taken = self.network.random.randrange(1, taken + 1)
        scheduler.note(f"c{self.number} sends {taken} of {len(data)}")
        self._transmit(0, data[:taken])
        return taken

    def read(self, size: int) -> bytes:
        """Give the client what has arrived."""
        if self.broken:
            raise ConnectionResetError(104, "connection reset by peer")
        if not self.inbox:
            if self.ended:
                return b""
            raise BlockingIOError(11, "resource temporarily unavailable")
        data = bytes(self.inbox[:size])
        del self.inbox[:size]
        self.network.scheduler.note(f"c{self.number} reads {len(data)}")
        self.network.scheduler.at(self.network.scheduler.now, self._drained)
        return data

    def close_client(self) -> None:
        """End the connection: the client closed its last handle."""
        self.client_closed = True
        self.network.scheduler.note(f"c{self.number} closes")
        self._later(0, self._server_told)

    def _server_told(self) -> None:
        if not self.server_closed and not self.half_open:
            self.server_closed = True
            self.server.lost(self)

    # --- the server

    def write_room(self) -> int:
        """Return how many bytes the server may write."""
        return 0 if self.server_closed else self.window - self._on_way[1] - len(self.inbox)

    def write(self, data: bytes) -> None:
        """Send bytes to the client; at most ``write_room``."""
        if not self.server_closed:
            self._transmit(1, data)

    def close_server(self) -> None:
        """End the connection in order: the client reads everything, and then its end."""
        if not self.server_closed:
            self.server_closed = True
            self._later(1, self._end)

    def _end(self) -> None:
        if not self.half_open:
            self.ended = True
            self.wake()

    def _drained(self) -> None:
        if not self.server_closed:
            self.server.drained(self)

    # --- on the way

    def _later(self, way: int, call: Callable[[], None]) -> None:
        network = self.network
        delay = network.random.expovariate(1 / network.latency)
        when = max(network.scheduler.now + delay, self._last[way], self._stalled[way])
        self._last[way] = when
        self._queues[way].append((when, call))
        network.scheduler.at(when, lambda: self._pump(way))

    def _pump(self, way: int) -> None:
        """Let arrive what is due, in order."""
        scheduler, queue = self.network.scheduler, self._queues[way]
        if self._stalled[way] > scheduler.now:
            scheduler.at(self._stalled[way], lambda: self._pump(way))
            return
        while queue and queue[0][0] <= scheduler.now:
            queue.popleft()[1]()

    def _transmit(self, way: int, data: bytes) -> None:
        self._on_way[way] += len(data)
        random = self.network.random
        start = 0
        while start < len(data):
            size = len(data) - start
            if random.random() < self.network.cutting:
                size = random.randrange(1, size + 1)
            piece = data[start : start + size]
            start += size
            self._later(way, lambda piece=piece: self._arrive(way, piece))  # type: ignore[misc]

    def _arrive(self, way: int, data: bytes) -> None:
        if self.half_open or self.broken:
            return
        self._on_way[way] -= len(data)
        if way == 0:
            if not self.server_closed:
                self.server.received(self, data)
            if not self.client_closed:
                self.wake()
        elif not self.client_closed:
            self.inbox += data
            self.wake()

    # --- faults

    def stall(self, seconds: float, way: int) -> None:
        """Let nothing arrive for a while, in one direction."""
        self._stalled[way] = max(self._stalled[way], self.network.scheduler.now + seconds)

    def resume(self) -> None:
        """End all stalls; what is on the way arrives."""
        self.buffer = self.window = 1 << 20
        self._stalled = [0.0, 0.0]
        self._last = [self.network.scheduler.now] * 2
        for queue in self._queues:
            while queue:
                queue.popleft()[1]()

    def break_half_open(self) -> None:
        """Lose everything from now on; neither end is told."""
        self.half_open = True

    def reset(self) -> None:
        """Tell both ends that the connection is lost."""
        if not self.broken:
            self.broken = True
            self.inbox.clear()
            if not self.server_closed:
                self.server_closed = True
                self.server.lost(self)
            self.wake()


class Network:
    """Ports, connections, and how they behave.

    Args:
        scheduler: The scheduler.
        random: What is drawn from.

    Attributes:
        latency: The mean time of bytes on the way.
        cutting: The share of pieces that are cut further.
        partial: The share of writes that the system takes a part of.
        buffer: Bytes that the system of a client takes.
        window: Bytes on the way to a client, and not read.
        sockets: The open sockets by number.
        connections: All connections.
    """

    def __init__(self, scheduler: Scheduler, random: Random) -> None:
        self.scheduler, self.random = scheduler, random
        self.latency, self.cutting, self.partial = 0.0005, 0.1, 0.0
        self.buffer, self.window = 1 << 20, 1 << 20
        #: Called with what a client hands to the system, whether or not it takes all of it.
        self.on_send: Callable[[bytes], None] = lambda data: None
        self.sockets: dict[int, Socket] = {}
        self.connections: list[Connection] = []
        self._ports: dict[tuple[str, int], Server] = {}

    def new_fd(self, socket: Socket) -> int:
        """Return the number of a new socket."""
        fd = _FIRST_FD + len(self.sockets)
        self.sockets[fd] = socket
        return fd

    def listen(self, host: str, port: int, server: Server) -> None:
        """Let a server take connections."""
        self._ports[host, port] = server

    def unlisten(self, host: str, port: int) -> None:
        """Refuse connections."""
        self._ports.pop((host, port), None)

    async def connect(
        self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None], host: str, port: int
    ) -> Socket:
        """Return a socket that is connected, after a while."""
        await asyncio.sleep(self.random.expovariate(1 / self.latency))
        server = self._ports.get((host, port))
        if server is None:
            raise ConnectionRefusedError(111, f"connection to {host}:{port} refused")
        connection = Connection(self, server, len(self.connections))
        connection.wakers.append(wake)
        self.connections.append(connection)
        self.scheduler.note(f"c{connection.number} connects to {port}")
        self.scheduler.at(self.scheduler.now, lambda: server.accept(connection))
        return Socket(connection)
