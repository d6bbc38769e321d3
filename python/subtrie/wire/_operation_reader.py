"""Any input of the wire as operations: captures, trace logs, snapshots, bytes as they were read.

What an input is, its first bytes tell. Each operation comes with where it was: the connection, the
direction, the time. A stream that breaks the protocol ends in a ``Broken`` row, and the others go
on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _engine
from .._errors import WireError
from . import _trace_operations as traced
from . import capture, log, monitor

_CHUNK = 1 << 16
#: A handshake record of TLS, or of SSL 3, of which no operation has the first byte.
_TLS = re.compile(rb"\x16\x03[\x00-\x04]")


@dataclass(frozen=True, slots=True)
class Row:
    """One operation. ``time`` as the input has it: nanoseconds, text, or None; ``op`` is the
    operation itself where the input holds its bytes, else None; ``parts`` is its ``as_dict()``."""

    conn: int | str | None
    direction: str | None
    time: int | str | None
    parts: dict[str, Any]
    op: Any = None


@dataclass(frozen=True, slots=True)
class Broken:
    """Where a stream stopped being the protocol, or bytes are missing."""

    conn: int | str | None
    direction: str | None
    reason: str
    position: int | None
    message: str


def read(path: Path, *, conn: str | None = None) -> Iterator[Row | Broken]:
    """The operations of a file, or of a folder that ``subtrie tap`` wrote.

    ``conn``: the file is one direction of a connection of that kind, byte by byte. Secrets stand as
    they were sent, but for trace logs and snapshots. Raises ``WireError`` for what is no capture or
    no snapshot, ``OSError``.
    """
    if path.is_dir():
        return of_capture(records(path))
    if conn is not None:
        return _of_bytes(path, conn)
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith(capture.MAGIC):
        return of_capture(records(path))
    if head.lstrip()[:1] == b"{":
        return _of_snapshot(path)
    return _of_log(path)


def records(path: Path) -> Iterator[capture.Record | Broken]:
    """The records of a capture; a damaged one is told, and reading goes on behind it."""
    files = capture.files(path) if path.is_dir() else [path]
    if not files:
        raise FileNotFoundError(f"no capture in {path}")
    for file in files:
        start: int | None = 0
        while start is not None:
            try:
                yield from capture.read(file, start=start)
                break
            except WireError as error:
                if error.reason != "record":
                    raise
                told = f"{file.name}: {error}"
                yield Broken(None, None, error.reason, error.position, told)
                start = error.resume


def of_capture(
    found: Iterable[capture.Record | Broken], only: Callable[[int], bool] | None = None
) -> Iterator[Row | Broken]:
    """The operations of captured traffic, each connection and direction by a parser of its own.

    A tap that was started again counts its connections from 1 again; here each gets a number of its
    own, the next that is free. ``only`` chooses among these. Memory: what is half-read on each open
    connection, and a number for each that was opened.
    """
    streams = _Streams()
    for record in found:
        if isinstance(record, Broken):
            yield record
            yield from streams.torn()
            continue
        conn = streams.number(record)
        if only is None or only(conn):
            yield from streams.take(conn, record)
    yield from streams.torn()


class _Streams:
    """The connections of a capture, each with a parser for each direction."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._taken: set[int] = set()
        self._kinds: dict[int, str] = {}
        # None: a stream that was broken, or lost bytes; nothing behind that is read.
        self._parsers: dict[tuple[int, str], Any] = {}

    def number(self, record: capture.Record) -> int:
        """The number of the record's connection."""
        known = self._numbers.get(record.conn)
        if known is None or record.kind == "opened":
            known = record.conn
            if known in self._taken:
                known = max(self._taken) + 1
            self._taken.add(known)
            self._numbers[record.conn] = known
        return known

    def take(self, conn: int, record: capture.Record) -> Iterator[Row | Broken]:
        """What a record adds."""
        if record.kind == "opened":
            self._kinds[conn] = str(record.about.get("kind"))
        elif record.kind == "closed":
            yield from self._ended(conn)
            self._kinds.pop(conn, None)
        elif record.kind == "lost":
            direction = "s2c" if record.about.get("direction") == "s2c" else "c2s"
            self._parsers[conn, direction] = None
            told = f"{record.about.get('bytes')} bytes were not recorded"
            yield Broken(conn, direction, "lost", None, told)
        else:
            yield from self._read(conn, record)

    def _read(self, conn: int, record: capture.Record) -> Iterator[Row | Broken]:
        place = (conn, record.kind)
        if place not in self._parsers:
            self._parsers[place] = _parser(self._kinds.get(conn, "client"), record.kind)
        parser = self._parsers[place]
        if parser is None:
            return
        broken: Broken | None = None
        start = parser.offset + parser.held
        try:
            found = parser.feed(record.data)
        except WireError as error:
            found = error.operations
            self._parsers[place] = None
            broken = Broken(*place, error.reason, error.position, str(error))
            if _TLS.match(record.data, max(0, (error.resume or 0) - start)):
                told = f"TLS begins at byte {error.resume} of the stream: nobody else can read on"
                broken = Broken(*place, "tls", error.resume, told)
        for op in found:
            yield Row(conn, record.kind, record.time, op.as_dict(), op)
        if broken is not None:
            yield broken

    def _ended(self, conn: int) -> Iterator[Broken]:
        """A connection that ends, perhaps in the middle of an operation."""
        for direction in ("c2s", "s2c"):
            parser = self._parsers.pop((conn, direction), None)
            if parser is not None and not parser.complete:
                yield _half_read(parser, conn, direction)

    def torn(self) -> Iterator[Broken]:
        """Something is missing here: what was half-read stays so, and nothing behind it counts."""
        for (conn, direction), parser in self._parsers.items():
            if parser is not None and not parser.complete:
                self._parsers[conn, direction] = None
                yield _half_read(parser, conn, direction)


def _half_read(parser: Any, conn: int | None, direction: str | None) -> Broken:
    told = f"the stream ends in an operation that began at byte {parser.offset}"
    return Broken(conn, direction, "torn", parser.offset, told)


def _parser(kind: str, direction: str) -> Any:
    conn = kind if kind in ("route", "leaf", "route_legacy") else "client"
    if conn == "client" and direction == "s2c":
        conn = "server_to_client"
    return _engine.Parser(conn, max_payload=None)


def _of_bytes(path: Path, conn: str) -> Iterator[Row | Broken]:
    parser = _engine.Parser(conn, max_payload=None)
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            try:
                found = parser.feed(data)
            except WireError as error:
                for op in error.operations:
                    yield Row(None, None, None, op.as_dict(), op)
                yield Broken(None, None, error.reason, error.position, str(error))
                return
            for op in found:
                yield Row(None, None, None, op.as_dict(), op)
    if not parser.complete:
        yield _half_read(parser, None, None)


def _of_snapshot(path: Path) -> Iterator[Row | Broken]:
    for found in monitor.read(path).subscriptions:
        yield Row(found.id, None, None, found.operation)


def _of_log(path: Path) -> Iterator[Row | Broken]:
    with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            record = log.parse_line(line.rstrip("\r\n"))
            if record is None:
                told = f"line {number} is no line of nats-server; bytes of a connection need --conn"
                yield Broken(None, None, "no line of a trace log", number, told)
                continue
            try:
                parts = traced.operation(record)
            except WireError as error:
                yield Broken(record.peer, record.direction, error.reason, number, str(error))
                continue
            if parts is not None:
                yield Row(record.peer, record.direction, record.ts, parts)
