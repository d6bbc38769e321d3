"""A recording as messages: what each connection published, in order, byte for byte."""

from __future__ import annotations

import base64
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from subtrie._core.control_headers import seconds_of


@dataclass
class Recorded:
    """One published message, and the services that received it."""

    service: str
    subject: str
    payload: bytes
    op: str
    message_id: str
    fragment: str
    delivered_to: list[str]
    headers: dict[str, list[str]] = field(default_factory=dict)
    t: float = 0.0  # seconds since the recording began

    @property
    def head(self) -> bytes:
        """Return start line and headers."""
        return self.payload.partition(b"\r\n\r\n")[0]

    @property
    def body(self) -> bytes:
        """Return the body."""
        return self.payload.partition(b"\r\n\r\n")[2]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return the key by which a message is found."""
        return self.message_id, self.op, self.fragment, self.subject

    @property
    def is_request(self) -> bool:
        """Return whether it is a request, or its first fragment."""
        return self.op == "Req" and self.fragment.partition("/")[0] in ("", "1")

    @property
    def is_answer(self) -> bool:
        """Return whether it is a response or an error."""
        return self.op in ("Res", "Err")

    @property
    def depth(self) -> int:
        """Return the number of calls in the chain, including this one."""
        return int(self.headers.get("Microbus-Call-Depth", ["1"])[0])

    @property
    def budget(self) -> float:
        """Return the time budget in seconds."""
        return seconds_of(self.headers.get("Microbus-Time-Budget", [""])[0])

    @property
    def method_and_url(self) -> tuple[str, str]:
        """Return method and URL of a request."""
        method, url, _ = self.payload.partition(b"\r\n")[0].decode().split(" ")
        return method, url

    def __str__(self) -> str:
        return f"{self.service} {self.op} {self.message_id} {self.fragment} {self.subject}".strip()


def headers_of(payload: bytes) -> dict[str, list[str]]:
    """Return the headers of a payload."""
    found: dict[str, list[str]] = {}
    for line in payload.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]:
        name, _, value = line.partition(": ")
        found.setdefault(name, []).append(value)
    return found


@dataclass
class Recording:
    """The scenarios and the bytes of one run."""

    truth: dict[str, Any]
    published: dict[str, list[tuple[str, bytes]]]  # service: subject, payload; not yet asked for

    def messages(self, rows: list[dict[str, Any]]) -> list[Recorded]:
        """Return the messages of the rows with their bytes; call in the order of the run."""
        made = []
        for row in rows:
            subject, payload = self._next(row)
            headers = headers_of(payload)
            made.append(
                Recorded(
                    row["service"],
                    subject,
                    payload,
                    row["op_code"],
                    row["msg_id"],
                    headers.get("Microbus-Fragment", [""])[0],
                    row["delivered_to"],
                    headers,
                    row.get("t", 0.0),
                )
            )
        return made

    def _next(self, row: dict[str, Any]) -> tuple[str, bytes]:
        queue = self.published[row["service"]]
        for place, (subject, payload) in enumerate(queue):
            same = subject == row["subject"] and len(payload) == row["size"]
            if same and row["msg_id"].encode() in payload[:2000]:
                op = f"Microbus-Op-Code: {row['op_code']}".encode()
                if op in payload[:2000]:
                    return queue.pop(place)
        raise AssertionError(f"not in the recorded bytes: {row}")


def read(folder: Path) -> Recording:
    """Read ``truth.json`` and ``wire.jsonl`` of a folder, compressed or not."""
    with _open(folder, "truth.json") as file:
        truth = json.load(file)
    names = {service["conn"]: service["name"] for service in truth["services"]}
    streams: dict[int, bytearray] = defaultdict(bytearray)
    with _open(folder, "wire.jsonl") as lines:
        for line in lines:
            row = json.loads(line)
            if row["dir"] == "c2s":
                streams[row["conn"]] += base64.b64decode(row["data"])
    published = {
        names[conn]: list(_publishes(bytes(data)))
        for conn, data in streams.items()
        if conn in names
    }
    return Recording(truth, published)


def _open(folder: Path, name: str) -> Any:
    packed = folder / f"{name}.gz"
    return gzip.open(packed, "rt") if packed.exists() else (folder / name).open()


def _publishes(data: bytes) -> Iterator[tuple[str, bytes]]:
    place = 0
    while (end := data.find(b"\r\n", place)) >= 0:
        words = data[place:end].decode().split()
        place = end + 2
        if words and words[0] == "PUB":
            size = int(words[-1])
            yield words[1], data[place : place + size]
            place += size + 2
