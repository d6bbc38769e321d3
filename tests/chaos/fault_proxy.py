"""A TCP proxy that injects faults into connections of NATS.

Bytes are delayed or slowed down, and connections are lost or left half-open. Where the proxy reads
the protocol, messages are sent twice or in another order, and ``INFO`` is broken. What is hit is
drawn from a seed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from subtrie import WireError
from subtrie.wire import Parser

#: Operations that may be sent twice or later; the others belong to the connection itself.
_MESSAGES = frozenset({"PUB", "HPUB", "MSG", "HMSG"})

#: A message that is held back to change the order is sent after this time at the latest.
_HELD = 0.05

_CHUNK = 65536

#: Fields of ``INFO`` as no server sends them.
_BROKEN_INFO = (
    '"connect_urls":["[::1"]',
    '"connect_urls":[1]',
    '"connect_urls":["a..b:4222"]',
    '"max_payload":"abc"',
    '"max_payload":1e400',
    '"max_payload":-1',
    '"tls_required":"yes"',
    '"nonce":{}',
    '"nonce":',
)


@dataclass
class Faults:
    """The faults of a proxy, which may change at any time.

    Attributes:
        delay: Each chunk waits for up to so many seconds.
        duplicate: The share of messages that are sent twice.
        reorder: The share of messages that are sent after the next one.
        bytes_per_second: The rate towards the client, as if it read slowly; 0 for no limit.
        frozen: Whether connections are half-open: nothing is read and nothing is closed.
        refused: Whether connections are lost, and new ones refused.
        broken_info: Whether clients get an ``INFO`` that is not valid.
    """

    delay: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    bytes_per_second: int = 0
    frozen: bool = False
    refused: bool = False
    broken_info: bool = False


class FaultProxy:
    """Listens on a port of its own and connects each client to the server behind it.

    Args:
        server: The port of the server, on the loopback interface.
        seed: The seed of what is hit.
        reads_protocol: Whether clients speak the client protocol, so that messages can be told.
    """

    def __init__(self, server: int, seed: object, *, reads_protocol: bool = True) -> None:
        self.server, self.reads_protocol = server, reads_protocol
        self.faults = Faults()
        self.port = 0
        self.injected: dict[str, int] = {}
        self._random = Random(f"proxy:{seed}")
        self._open: set[asyncio.StreamWriter] = set()
        self._clients: set[asyncio.StreamWriter] = set()
        self._relays: set[asyncio.Task[None]] = set()

    async def start(self) -> FaultProxy:
        """Listen."""
        self._listening = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._listening.sockets[0].getsockname()[1]
        return self

    async def stop(self) -> None:
        """Close all connections and stop listening."""
        self._listening.close()
        for writer in list(self._open):
            writer.transport.abort()
        relays = list(self._relays)
        for relay in relays:
            relay.cancel()
        await asyncio.gather(*relays, return_exceptions=True)

    def cut(self) -> None:
        """Lose all connections, without a farewell."""
        if self._open:
            self._count("connections lost", len(self._open) // 2)
        for writer in list(self._open):
            writer.transport.abort()

    def break_info(self) -> None:
        """Send an ``INFO`` that is not valid over all connections."""
        for writer in list(self._clients):
            self._count("INFO broken")
            writer.write(self._broken_info())

    def _broken_info(self) -> bytes:
        fields = self._random.choice(_BROKEN_INFO)
        return f'INFO {{"server_id":"S","proto":1,{fields}}}\r\n'.encode()

    def _count(self, what: str, times: int = 1) -> None:
        self.injected[what] = self.injected.get(what, 0) + times

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.faults.refused:
            writer.transport.abort()
            return
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.server)
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, server_writer)
        self._open.update(pair)
        self._clients.add(writer)
        ways = (
            self._relay("client", reader, server_writer),
            self._relay("server_to_client", server_reader, writer),
        )
        tasks = [asyncio.create_task(way) for way in ways]
        self._relays.update(tasks)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._clients.discard(writer)
            for each in pair:
                self._open.discard(each)
                each.transport.abort()
            for task in tasks:
                task.cancel()
            self._relays.difference_update(tasks)

    async def _relay(
        self, way: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        parser = Parser(way, max_payload=None) if self.reads_protocol else None
        held: list[bytes] = []
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                await self._unfrozen()
                try:
                    async with asyncio.timeout(_HELD if held else None):
                        data = await reader.read(_CHUNK)
                except TimeoutError:
                    writer.write(held.pop())
                    continue
                if not data:
                    return
                await self._wait(way, len(data))
                await self._unfrozen()
                for piece in self._pieces(parser, data, held):
                    writer.write(piece)
                await writer.drain()

    async def _unfrozen(self) -> None:
        while self.faults.frozen:
            await asyncio.sleep(0.01)

    async def _wait(self, way: str, size: int) -> None:
        if self.faults.delay:
            self._count("chunks delayed")
            await asyncio.sleep(self._random.random() * self.faults.delay)
        if self.faults.bytes_per_second and way == "server_to_client":
            self._count("chunks slowed down")
            await asyncio.sleep(min(size / self.faults.bytes_per_second, 1.0))

    def _pieces(self, parser: Parser | None, data: bytes, held: list[bytes]) -> Iterator[bytes]:
        """Return what to send for these bytes: operation by operation, where they are known."""
        if parser is None:
            yield data
            return
        try:
            operations = parser.feed(data)
        except WireError as error:  # the other side will say so
            self._count("protocol errors")
            raise ConnectionAbortedError("protocol error") from error
        for operation in operations:
            raw = bytes(operation.raw)
            if operation.op == "INFO" and self.faults.broken_info:
                self._count("INFO broken")
                yield self._broken_info()
            elif operation.op not in _MESSAGES:
                yield raw
            elif not held and self._random.random() < self.faults.reorder:
                self._count("messages reordered")
                held.append(raw)
            else:
                yield raw
                if self._random.random() < self.faults.duplicate:
                    self._count("messages duplicated")
                    yield raw
                if held:
                    yield held.pop()
