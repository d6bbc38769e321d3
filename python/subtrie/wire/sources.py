"""Any input of the wire as operations: captures, trace logs, snapshots, bytes as they were read.

What an input is, its first bytes tell. Each operation comes with where it was: the connection, the
direction, the time. A stream that breaks the protocol ends in a ``Broken`` row, and the others go
on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _engine
from ..errors import WireError
from . import capture, log, monitor, traced

_CHUNK = 1 << 16


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

    ``conn``: the file is one direction of a connection of that kind, byte by byte. Raises
    ``WireError`` for a capture or snapshot that cannot be read, ``OSError``.
    """
    if path.is_dir():
        return of_capture(capture.read(path))
    if conn is not None:
        return _of_bytes(path, conn)
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith(capture.MAGIC):
        return of_capture(capture.read(path))
    if head.lstrip()[:1] == b"{":
        return _of_snapshot(path)
    return _of_log(path)


def of_capture(records: Iterator[capture.Record]) -> Iterator[Row | Broken]:
    """The operations of captured traffic, each connection and direction by a parser of its own."""
    kinds: dict[int, str] = {}
    parsers: dict[tuple[int, str], Any] = {}
    for record in records:
        if record.kind == "opened":
            kinds[record.conn] = record.about.get("kind", "client")
            continue
        if record.kind == "lost":
            direction = record.about.get("direction", "c2s")
            parsers[record.conn, direction] = None
            told = f"{record.about.get('bytes')} bytes were not recorded"
            yield Broken(record.conn, direction, "lost", None, told)
            continue
        if record.kind == "closed":
            for direction in ("c2s", "s2c"):
                yield from _ended(
                    parsers.pop((record.conn, direction), None), record.conn, direction
                )
            continue
        place = (record.conn, record.kind)
        if place not in parsers:
            parsers[place] = _parser(kinds.get(record.conn, "client"), record.kind)
        parser = parsers[place]
        if parser is None:
            continue  # broken before
        broken: Broken | None = None
        try:
            found = parser.feed(record.data)
        except WireError as error:
            found = error.operations
            parsers[place] = None
            broken = Broken(*place, error.reason, error.position, str(error))
        for op in found:
            yield Row(record.conn, record.kind, record.time, op.as_dict(), op)
        if broken is not None:
            yield broken
    for (number, direction), parser in parsers.items():
        yield from _ended(parser, number, direction)


def _parser(kind: str, direction: str) -> Any:
    conn = kind
    if kind == "client" and direction == "s2c":
        conn = "server_to_client"
    return _engine.active.Parser(conn, max_payload=None)


def _ended(parser: Any, conn: int, direction: str) -> Iterator[Broken]:
    """A connection that ends in the middle of an operation."""
    if parser is not None and not parser.complete:
        told = f"the stream ends in an operation that began at byte {parser.offset}"
        yield Broken(conn, direction, "torn", parser.offset, told)


def _of_bytes(path: Path, conn: str) -> Iterator[Row | Broken]:
    parser = _engine.active.Parser(conn, max_payload=None)
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
        told = f"the stream ends in an operation that began at byte {parser.offset}"
        yield Broken(None, None, "torn", parser.offset, told)


def _of_snapshot(path: Path) -> Iterator[Row | Broken]:
    for found in monitor.read(path).subscriptions:
        yield Row(found.id, None, None, found.operation)


def _of_log(path: Path) -> Iterator[Row | Broken]:
    with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            record = log.parse_line(line.rstrip("\r\n"))
            if record is None:
                yield Broken(None, None, "no line of a trace log", number, f"line {number}")
                continue
            try:
                parts = traced.operation(record)
            except WireError as error:
                yield Broken(record.peer, record.direction, error.reason, number, str(error))
                continue
            if parts is not None:
                yield Row(record.peer, record.direction, record.ts, parts)
