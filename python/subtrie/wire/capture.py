"""Captured traffic on disk: append-only files of records, each with its length and its checksum.

A file begins with ``MAGIC``. A record is, in little-endian order: the four bytes ``MARK``, the
length of its body (4 bytes), the CRC-32 of that length and the body (4 bytes), and the body: kind
(1 byte), time (8 bytes, nanoseconds since the epoch), connection (4 bytes), data. A file is never
rewritten. Whoever stops in the middle of a record leaves a torn tail, and the next writer begins a
new file; a reader takes a torn tail for the end of its file, and damage anywhere else for an error
that says where reading can go on.
"""

from __future__ import annotations

import json
import os
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from .._errors import WireError
from .._reasons import REASONS

MAGIC = b"SUBTRIE-CAPTURE 1\n"
MARK = b"\xf5NR\x01"

#: What a record tells, by the number that stands for it.
KINDS = ("opened", "c2s", "s2c", "closed", "lost")
SUFFIX = ".capture"

_HEAD = struct.Struct("<4sII")
_BODY = struct.Struct("<BQI")
#: Most bytes of data in a record: no reader allocates more than that for a length it read.
MAX_DATA = 1 << 20
#: Bytes that are summed, at most, in search of the next good record: a second or two.
_MOST_SUMMED = 1 << 30


@dataclass(frozen=True, slots=True)
class Record:
    """One record: ``kind`` is ``c2s`` or ``s2c`` for bytes that went that way, ``opened`` or
    ``closed`` for a connection (``data`` is JSON), ``lost`` for bytes that went unrecorded (JSON).

    ``time`` is in nanoseconds since the epoch; ``offset`` where the record begins in its file.
    """

    kind: str
    time: int
    conn: int
    data: bytes
    offset: int = 0

    @property
    def about(self) -> dict[str, Any]:
        """The JSON of a record that tells of a connection; empty where it is none."""
        if self.kind in ("c2s", "s2c"):
            return {}
        try:
            found = json.loads(self.data)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


def packed(record: Record) -> bytes:
    """The record as it stands in a file. Raises ``ValueError`` for more data than fits."""
    if len(record.data) > MAX_DATA:
        raise ValueError(f"a record holds {MAX_DATA} bytes, not {len(record.data)}")
    body = _BODY.pack(KINDS.index(record.kind), record.time, record.conn) + record.data
    length = struct.pack("<I", len(body))
    return _HEAD.pack(MARK, len(body), zlib.crc32(length + body)) + body


class Writer:
    """Writes records to files ``000001.capture``, … in a folder; a new file for a new writer.

    ``rotate``: a file that has so many bytes is the last one's; the next record begins another.
    Every call of ``write`` hands its bytes to the operating system before it returns, so a process
    that dies tears one record at most; ``sync`` waits for the disk too.
    """

    def __init__(self, folder: str | os.PathLike[str], *, rotate: int = 64 << 20) -> None:
        if rotate < 1:
            raise ValueError("rotate must be at least 1")
        self.folder = Path(folder)
        self.rotate = rotate
        self.folder.mkdir(parents=True, exist_ok=True)
        # Nobody but the owner reads what others said to each other.
        self.folder.chmod(0o700)
        self._file: BinaryIO | None = None
        self._size = 0

    def write(self, kind: str, conn: int, data: bytes, *, at: int | None = None) -> None:
        """Appends data, in as many records as it takes. ``at``: nanoseconds since the epoch."""
        now = time.time_ns() if at is None else at
        pieces = [data[start : start + MAX_DATA] for start in range(0, len(data), MAX_DATA)]
        for piece in pieces or [b""]:
            self._append(packed(Record(kind, now, conn, piece)))

    def _append(self, row: bytes) -> None:
        if self._file is None or self._size >= self.rotate:
            self._begin()
        assert self._file is not None
        self._file.write(row)
        self._size += len(row)

    def _begin(self) -> None:
        self.close()
        last = max((int(file.stem) for file in files(self.folder)), default=0)
        path = self.folder / f"{last + 1:06}{SUFFIX}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._file.write(MAGIC)
        self._size = len(MAGIC)

    def sync(self) -> None:
        """Waits until the disk has what was written."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Ends the file that is being written. Again is fine."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def files(folder: Path) -> list[Path]:
    """The files of a capture, in the order in which they were written."""
    found = [file for file in folder.glob(f"*{SUFFIX}") if file.stem.isdecimal()]
    return sorted(found, key=lambda file: int(file.stem))


def read(path: str | os.PathLike[str], *, start: int = 0) -> Iterator[Record]:
    """The records of a file, or of all files of a folder, in order.

    ``start`` (a file only): the offset of a record, to go on where an earlier reading ended. A torn
    tail ends its file without an error. Raises ``WireError`` for what is no capture
    (``not a capture``) and for a damaged record (``record``: ``.position`` is where it begins,
    ``.resume`` where the next good one does, to be given as ``start``, or None where looking for it
    would take more than a gibibyte of sums), ``FileNotFoundError`` for a path that is not there.
    Memory: one record.
    """
    source = Path(path)
    if not source.is_dir():
        yield from _records(source, start)
        return
    found = files(source)
    if not found:
        raise FileNotFoundError(f"no capture in {source}")
    for file in found:
        yield from _records(file, 0)


def _records(path: Path, start: int) -> Iterator[Record]:
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC[: path.stat().st_size]:
            raise _damaged("not a capture", 0, 0)
        offset = max(start, len(MAGIC))
        while True:
            file.seek(offset)
            row = _row(file, offset)
            if row is None:
                return
            if isinstance(row, Record):
                yield row
                offset = file.tell()
                continue
            try:
                following = _next_good(file, offset + 1)
            except _TooMuchWork:
                raise _damaged("record", offset, None) from None
            if following is None:
                return  # nothing good behind it: a torn tail
            raise _damaged("record", offset, following)


class _Bad:
    """Bytes that are no record."""


_BAD = _Bad()


def _row(file: BinaryIO, offset: int) -> Record | _Bad | None:
    """The record at the file's place; None at the end or in a torn tail."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None if MARK.startswith(head[: len(MARK)]) or not head else _BAD
    mark, length, checksum = _HEAD.unpack(head)
    if mark != MARK or not _BODY.size <= length <= _BODY.size + MAX_DATA:
        return _BAD
    body = file.read(length)
    if len(body) < length:
        return _BAD  # torn, unless good records follow
    if zlib.crc32(head[4:8] + body) != checksum:
        return _BAD
    kind, at, conn = _BODY.unpack_from(body)
    if kind >= len(KINDS):
        return _BAD
    return Record(KINDS[kind], at, conn, body[_BODY.size :], offset)


class _TooMuchWork(Exception):
    """Data that was made to look like the beginnings of many long records."""


def _next_good(file: BinaryIO, offset: int) -> int | None:
    """Where the next whole record begins; None when there is none."""
    window = 1 << 16
    summed = 0
    while True:
        file.seek(offset)
        piece = file.read(window)
        found = piece.find(MARK)
        if found >= 0:
            file.seek(offset + found)
            if isinstance(_row(file, offset + found), Record):
                return offset + found
            summed += file.tell() - offset - found
            if summed > _MOST_SUMMED:
                raise _TooMuchWork
            offset += found + 1
        elif len(piece) < window:
            return None
        else:
            offset += window - len(MARK) + 1


def _damaged(reason: str, position: int, resume: int | None) -> WireError:
    rule = REASONS[reason]
    error = WireError(
        f"not a capture: {rule.sentence} (byte {position}); {rule.hint}",
        reason=reason,
        position=position,
        hint=rule.hint,
        status=rule.status,
    )
    error.cause, error.resume, error.state = reason, resume, "record"
    return error
