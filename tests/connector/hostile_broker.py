"""A broker of a test that says what it likes: it reads what clients send, and answers PINGs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import Awaitable, Callable

PLAIN = {"server_id": "S", "version": "2.12.0", "proto": 1, "headers": True, "max_payload": 1 << 20}

#: What it does with a connection once the client has its first PONG.
Then = Callable[["Client"], Awaitable[None]]


class Client:
    """One connection to the broker."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.connect: dict[str, object] = {}
        self.lines: list[bytes] = []

    def send(self, data: bytes) -> None:
        """Write without waiting."""
        self.writer.write(data)

    def info(self, **fields: object) -> None:
        """Send an ``INFO``."""
        text = json.dumps({**PLAIN, **fields}).replace('"1e400"', "1e400")
        self.send(f"INFO {text}\r\n".encode())

    async def read(self) -> None:
        """Answer PINGs until the client leaves."""
        while line := await self.reader.readline():
            self.lines.append(line)
            if line == b"PING\r\n":
                self.send(b"PONG\r\n")


class HostileBroker:
    """Listens on the loopback interface, and greets each client with the next ``INFO``.

    Args:
        infos: The fields of the greetings in turn; the last one is repeated.
        then: What it does after the first PONG; without it, what a broker does.
        context: The certificate, after a greeting in plain text.
    """

    def __init__(
        self,
        *infos: dict[str, object],
        then: Then | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._infos, self._then, self._context = list(infos) or [{}], then, context
        self.clients: list[Client] = []
        self.greeted = 0

    async def __aenter__(self) -> HostileBroker:
        """Listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        """End every connection."""
        self._server.close()
        for each in self.clients:
            each.writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Client(reader, writer)
        self.clients.append(client)
        with contextlib.suppress(OSError, ssl.SSLError, asyncio.IncompleteReadError):
            info = self._infos[min(self.greeted, len(self._infos) - 1)]
            self.greeted += 1
            tls = {} if self._context is None else {"tls_required": True}
            client.info(**tls, **info)
            if self._context is not None:
                await writer.start_tls(self._context)
            while line := await reader.readline():
                client.lines.append(line)
                if line.startswith(b"CONNECT "):
                    client.connect = json.loads(line[8:])
                if line == b"PING\r\n":
                    client.send(b"PONG\r\n")
                    break
            else:
                return
            await (Client.read if self._then is None else self._then)(client)
        writer.close()
