"""Read operations from captures, trace logs, monitoring snapshots, or bytes of a connection.

The first bytes of an input determine what it is. Each operation has its connection, direction and
time. A stream that violates the protocol ends with a ``StreamError``, and the others continue.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._core import engine
from .._core.errors import WireError
from .._core.file_errors import check_no_pipe
from .._nats.container_lines import is_document, whole_lines
from . import capture, log, monitor
from ._trace_operations import log_operation

_CHUNK = 1 << 16
#: The packets of MQTT, as a log names them.
_MQTT = frozenset(
    {"CONNECT", "CONNACK", "PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBSCRIBE",
     "SUBACK", "UNSUBSCRIBE", "UNSUBACK", "PINGREQ", "PINGRESP", "DISCONNECT"}
)  # fmt: skip
#: A handshake record of TLS or of SSL 3; no operation begins with its first byte.
_TLS = re.compile(rb"\x16\x03[\x00-\x04]")


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One operation of an input, with its place.

    Attributes:
        conn: The connection, as the input names it.
        direction: ``c2s`` or ``s2c`` in a capture, ``in`` or ``out`` in a log, else None.
        time: The time as the input has it: nanoseconds, text, or None.
        parts: The operation in the form of ``Op.as_dict()``.
        op: The operation, if the input contains its bytes, else None.
    """

    conn: int | str | None
    direction: str | None
    time: int | str | None
    parts: dict[str, Any]
    op: Any = None


@dataclass(frozen=True, slots=True)
class StreamError:
    """Damage in an input: a protocol violation, missing bytes, or an unparseable line.

    It is a row, not an exception, because the other streams of an input continue after it.

    Attributes:
        conn: The connection, or None.
        direction: The direction, or None.
        reason: The reason of the ``WireError``, or ``torn``, ``lost``, ``record``, ``tls``; or
            ``mqtt`` at the end of a log, for its packets of MQTT, which are not read.
        position: The offset in the stream, or the number of the line in a log.
        message: A description for people.
    """

    conn: int | str | None
    direction: str | None
    reason: str
    position: int | None
    message: str


def read_operations(
    path: str | os.PathLike[str], *, conn: str | None = None
) -> Iterator[OperationRow | StreamError]:
    """Yield the operations of a file, or of a directory that ``subtrie tap`` wrote.

    Secrets are redacted in trace logs and snapshots, and not in captures and bytes.

    Args:
        path: The input.
        conn: If given, the file is the bytes of one direction of a connection of this kind.

    Raises:
        WireError: The file is not a capture or not a snapshot.
        OSError: The file cannot be read, or is a pipe without ``conn``.
    """
    path = Path(path)
    if path.is_dir():
        return read_capture_operations(read_records(path))
    if conn is not None:
        return _read_bytes(path, conn)
    check_no_pipe(path)
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith(capture.MAGIC):
        return read_capture_operations(read_records(path))
    if is_document(head):
        return _read_snapshot(path)
    return _read_log(path)


def read_records(path: str | os.PathLike[str]) -> Iterator[capture.Record | StreamError]:
    """Yield the records of a capture, with a ``StreamError`` in place of each damaged one.

    Args:
        path: A file, or a directory that ``subtrie tap`` wrote.

    Raises:
        WireError: A file is not a capture.
        OSError: A file cannot be read.
    """
    path = Path(path)
    files = capture.files(path) if path.is_dir() else [path]
    if not files:
        raise FileNotFoundError(f"no *.capture files in {path}")
    for file in files:
        start: int | None = 0
        while start is not None:
            try:
                yield from capture.read(file, start=start)
                break
            except WireError as error:
                if error.reason != "record":
                    raise
                message = f"{file.name}: {error}"
                yield StreamError(None, None, error.reason, error.position, message)
                start = error.resume


def read_capture_operations(
    found: Iterable[capture.Record | StreamError],
    only: Callable[[int], bool] | None = None,
    *,
    closings: bool = False,
) -> Iterator[OperationRow | StreamError]:
    """Yield the operations of the records of a capture, one parser per connection and direction.

    A tap that is restarted numbers its connections from 1 again; here each connection gets a unique
    number, the next free one. Memory: the unfinished operation of each open connection, and a
    number per connection.

    Args:
        found: The records.
        only: If given, selects connections by their unique number.
        closings: Whether the end of a connection is a row, with the operation ``CLOSED``.
    """
    streams = _Streams()
    for record in found:
        if isinstance(record, StreamError):
            yield record
            yield from streams.cut_off()
            continue
        conn = streams.number(record)
        if only is None or only(conn):
            yield from streams.take(conn, record)
            if closings and record.kind == "closed":
                yield OperationRow(conn, None, record.time, {"op": "CLOSED"})
    yield from streams.cut_off()


class _Streams:
    """The connections of a capture, with one parser per direction."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._taken: set[int] = set()
        self._kinds: dict[int, str] = {}
        # None: a stream after an error or lost bytes; the rest of it is not parsed.
        self._parsers: dict[tuple[int, str], Any] = {}

    def number(self, record: capture.Record) -> int:
        """Return the unique number of the record's connection."""
        number = self._numbers.get(record.conn)
        if number is None or record.kind == "opened":
            number = record.conn
            if number in self._taken:
                number = max(self._taken) + 1
            self._taken.add(number)
            self._numbers[record.conn] = number
        return number

    def take(self, conn: int, record: capture.Record) -> Iterator[OperationRow | StreamError]:
        """Yield the operations that a record completes."""
        if record.kind == "opened":
            self._kinds[conn] = str(record.about.get("kind"))
        elif record.kind == "closed":
            yield from self._ended(conn)
            self._kinds.pop(conn, None)
        elif record.kind == "lost":
            direction = "s2c" if record.about.get("direction") == "s2c" else "c2s"
            self._parsers[conn, direction] = None
            message = f"{record.about.get('bytes')} bytes were not recorded"
            yield StreamError(conn, direction, "lost", None, message)
        else:
            yield from self._read(conn, record)

    def _read(self, conn: int, record: capture.Record) -> Iterator[OperationRow | StreamError]:
        """Yield the operations that the bytes of a record complete."""
        stream = (conn, record.kind)
        if stream not in self._parsers:
            self._parsers[stream] = _parser(self._kinds.get(conn, "client"), record.kind)
        parser = self._parsers[stream]
        if parser is None:
            return
        error_row: StreamError | None = None
        start = parser.offset + parser.held
        try:
            found = parser.feed(record.data)
        except WireError as error:
            found = error.operations
            self._parsers[stream] = None
            error_row = StreamError(*stream, error.reason, error.position, str(error))
            if _TLS.match(record.data, max(0, (error.resume or 0) - start)):
                message = f"TLS begins at byte {error.resume}; the rest of the stream is encrypted"
                error_row = StreamError(*stream, "tls", error.resume, message)
        for op in found:
            yield OperationRow(conn, record.kind, record.time, op.as_dict(), op)
        if error_row is not None:
            yield error_row

    def _ended(self, conn: int) -> Iterator[StreamError]:
        """End a connection; yield an error for each operation that is incomplete."""
        for direction in ("c2s", "s2c"):
            parser = self._parsers.pop((conn, direction), None)
            if parser is not None and not parser.complete:
                yield _half_read(parser, conn, direction)

    def cut_off(self) -> Iterator[StreamError]:
        """End all streams that are inside an operation, because bytes are missing here."""
        for (conn, direction), parser in self._parsers.items():
            if parser is not None and not parser.complete:
                self._parsers[conn, direction] = None
                yield _half_read(parser, conn, direction)


def _half_read(parser: Any, conn: int | None, direction: str | None) -> StreamError:
    """Return the error of a stream that ends inside an operation."""
    message = f"the stream ends in an operation that began at byte {parser.offset}"
    return StreamError(conn, direction, "torn", parser.offset, message)


def _parser(kind: str, direction: str) -> Any:
    """Return a parser for one direction of a connection of this kind."""
    conn = kind if kind in ("route", "leaf", "route_legacy") else "client"
    if conn == "client" and direction == "s2c":
        conn = "server_to_client"
    return engine.Parser(conn, max_payload=None)


def _read_bytes(path: Path, conn: str) -> Iterator[OperationRow | StreamError]:
    """Yield the operations of the bytes of one direction."""
    parser = engine.Parser(conn, max_payload=None)
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            try:
                found = parser.feed(data)
            except WireError as error:
                for op in error.operations:
                    yield OperationRow(None, None, None, op.as_dict(), op)
                yield StreamError(None, None, error.reason, error.position, str(error))
                return
            for op in found:
                yield OperationRow(None, None, None, op.as_dict(), op)
    if not parser.complete:
        yield _half_read(parser, None, None)


def _read_snapshot(path: Path) -> Iterator[OperationRow | StreamError]:
    """Yield the subscriptions of a monitoring snapshot as operations."""
    for found in monitor.read(path).subscriptions:
        yield OperationRow(found.id, None, None, found.operation)


def _read_log(path: Path) -> Iterator[OperationRow | StreamError]:
    """Yield the operations of a trace log, then how many lines are packets of MQTT."""
    packets = 0
    with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        stripped = ((number, line.rstrip("\r\n")) for number, line in enumerate(lines, 1))
        for number, line in whole_lines(stripped):
            record = log.parse_line(line)
            if record is not None and record.kind == "mqtt" and record.op in _MQTT:
                packets += 1
                continue
            if record is None:
                message = f"line {number} is not a line of nats-server; for bytes, use --conn"
                yield StreamError(None, None, "no line of a trace log", number, message)
                continue
            try:
                parts = log_operation(record)
            except WireError as error:
                yield StreamError(record.peer, record.direction, error.reason, number, str(error))
                continue
            if parts is not None:
                yield OperationRow(record.peer, record.direction, record.ts, parts)
    if packets:
        lines_of = "line" if packets == 1 else "lines"
        message = f"{packets} {lines_of} of MQTT not read"
        yield StreamError(None, None, "mqtt", None, message)
