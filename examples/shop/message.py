"""The HTTP/1.1 text a bus message carries, as small as it can be and still be read by a person.

The subject says who asks whom for what, and the broker can vouch for it; nothing here can. So a
header is never asked who the caller is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any


@dataclass(frozen=True)
class Message:
    """A start line, headers and a JSON body."""

    start: str
    headers: dict[str, str]
    body: Any = None

    @property
    def id(self) -> str:
        """What ties an answer to its question."""
        return self.headers.get("Microbus-Msg-Id", "")

    @property
    def status(self) -> int:
        """The status of an answer."""
        return int(self.start.split(" ", 2)[1])

    def __bytes__(self) -> bytes:
        body = b"" if self.body is None else json.dumps(self.body, sort_keys=True).encode()
        lines = [self.start, *(f"{name}: {value}" for name, value in self.headers.items())]
        lines += [f"Content-Length: {len(body)}", "", ""]
        return "\r\n".join(lines).encode() + body

    @classmethod
    def parse(cls, data: bytes) -> Message:
        head, _, body = data.partition(b"\r\n\r\n")
        start, *lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        return cls(start, headers, json.loads(body) if body else None)


def question(method: str, url: str, *, id: str, sender: str = "", body: Any = None) -> Message:
    """A request; without ``sender``, the instance to answer to, nobody will answer it."""
    headers = {"Microbus-Op-Code": "Req", "Microbus-Msg-Id": id}
    if sender:
        headers["Microbus-From-Id"] = sender
    return Message(f"{method} {url} HTTP/1.1", headers, body)


def answer(to: Message, status: int, body: Any = None) -> Message:
    """The answer to one request."""
    headers = {"Microbus-Op-Code": "Res", "Microbus-Msg-Id": to.id}
    return Message(f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", headers, body)


@dataclass(frozen=True)
class Request:
    """What a handler gets: the caller as the subject names it, the path arguments, the body."""

    source: str
    arguments: dict[str, str] = field(default_factory=dict)
    body: Any = None


class Refused(Exception):
    """Raised by a handler that answers with a status of its own."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
