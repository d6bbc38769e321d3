"""A minimal client that records refusals and deliveries between two flushes."""

from __future__ import annotations

import json
import re
import socket
import ssl
from urllib.parse import urlsplit

REFUSED = re.compile(
    r"-ERR 'Permissions Violation for (Publish|Subscription)"
    r'(?: with Reply of| to) "(.*?)"(?: using queue "(.*?)")?'
)


class RawClient:
    """One connection. Every question ends in a PING, so no answer depends on timing.

    Args:
        url: the address.
        tls: the context of TLS; None for a connection without.
        options: the fields of CONNECT.
    """

    def __init__(self, url: str, *, tls: ssl.SSLContext | None = None, **options: object) -> None:
        address = urlsplit(url)
        self._socket = socket.create_connection((address.hostname, address.port), timeout=20)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")
        info = json.loads(self._file.readline()[5:])
        if tls is not None:
            self._file.close()
            self._socket = tls.wrap_socket(self._socket, server_hostname=address.hostname)
            self._file = self._socket.makefile("rb")
        sign = options.pop("sign", None)
        if sign is not None:
            options["sig"] = sign(info["nonce"])
        options = {"verbose": False, "pedantic": False, "echo": True, "headers": True, **options}
        self._send(f"CONNECT {json.dumps(options)}\r\n")
        self.refused: list[tuple[str, str, str | None]] = []
        self.messages: list[tuple[str, str, str | None]] = []
        self.flush()

    def _send(self, text: str) -> None:
        self._socket.sendall(text.encode())

    def publish(self, subject: str, reply: str | None = None, payload: bytes = b"") -> None:
        head = f"PUB {subject}{f' {reply}' if reply else ''} {len(payload)}\r\n"
        self._socket.sendall(head.encode() + payload + b"\r\n")

    def subscribe(self, pattern: str, sid: str, queue: str | None = None) -> None:
        self._send(f"SUB {pattern}{f' {queue}' if queue else ''} {sid}\r\n")

    def unsubscribe(self, sid: str) -> None:
        self._send(f"UNSUB {sid}\r\n")

    def flush(self) -> None:
        """Reads until the broker has answered everything sent so far."""
        self.refused, self.messages = [], []
        self._send("PING\r\n")
        while True:
            line = self._file.readline().decode().rstrip("\r\n")
            if line == "PONG":
                return
            if line.startswith(("MSG ", "HMSG ")):  # a service import adds a header
                words = line.split(" ")[1:]
                self._file.read(int(words[-1]) + 2)
                if line.startswith("HMSG "):
                    del words[-2]
                reply = words[2] if len(words) == 4 else None
                self.messages.append((words[1], words[0], reply))
            elif found := REFUSED.match(line):
                self.refused.append((found[1], found[2], found[3]))
            elif line.startswith("-ERR") or not line:
                raise ConnectionError(line or "closed")

    def close(self) -> None:
        self._file.close()
        self._socket.close()
