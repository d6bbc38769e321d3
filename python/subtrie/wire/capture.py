"""Read and write captures: append-only files of records with lengths and checksums.

A file begins with ``MAGIC``. A record is, in little-endian order: the four bytes ``MARK``, the
length of its body (4 bytes), the CRC-32 of that length and the body (4 bytes), and the body: kind
(1 byte), time (8 bytes, nanoseconds since the epoch), connection (4 bytes), data. A file is never
rewritten. A writer that stops inside a record leaves an incomplete record at the end, and the next
writer begins a new file. A reader takes an incomplete last record as the end of the file, and
reports damage anywhere else with the offset at which reading can continue.
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

from .._core.errors import WireError
from .._core.reasons import REASONS

__all__ = [
    "Record",
    "Writer",
    "files",
    "pack",
    "read",
]

MAGIC = b"SUBTRIE-CAPTURE 1\n"
MARK = b"\xf5NR\x01"

#: The kinds of connections that a capture can hold: they select the parsers of both directions.
CONNECTION_KINDS = ("client", "route", "leaf", "route_legacy")
#: The kinds of records, in the order of their numbers.
RECORD_KINDS = ("opened", "c2s", "s2c", "closed", "lost")
SUFFIX = ".capture"

_HEAD = struct.Struct("<4sII")
_BODY = struct.Struct("<BQI")
#: The most bytes of data in a record; bounds what a reader allocates for a length that it read.
MAX_DATA = 1 << 20
#: The most bytes that are checksummed in search of the next intact record: one or two seconds.
_MAX_CHECKSUMMED = 1 << 30


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a capture.

    Attributes:
        kind: ``c2s`` or ``s2c`` for bytes from client to server or back, ``opened`` or ``closed``
            for a connection, ``lost`` for bytes that were not recorded.
        time: Nanoseconds since the epoch.
        conn: The number of the connection.
        data: The bytes; JSON for ``opened``, ``closed`` and ``lost``.
        offset: The offset of the record in its file.
    """

    kind: str
    time: int
    conn: int
    data: bytes
    offset: int = 0

    @property
    def about(self) -> dict[str, Any]:
        """The JSON of an ``opened``, ``closed`` or ``lost`` record; empty for any other."""
        if self.kind in ("c2s", "s2c"):
            return {}
        try:
            found = json.loads(self.data)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


def pack(record: Record) -> bytes:
    """Return the bytes of a record in a file.

    Args:
        record: The record.

    Raises:
        ValueError: The record has more than ``MAX_DATA`` bytes of data.
    """
    if len(record.data) > MAX_DATA:
        raise ValueError(f"a record holds at most {MAX_DATA} bytes, not {len(record.data)}")
    body = _BODY.pack(RECORD_KINDS.index(record.kind), record.time, record.conn) + record.data
    length = struct.pack("<I", len(body))
    return _HEAD.pack(MARK, len(body), zlib.crc32(length + body)) + body


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
#: How many writers may begin a file in one directory at the same time.
_TRIES = 1000


class Writer:
    """Writes records to the files ``000001.capture``, … of a directory.

    Every writer begins a new file. ``write`` passes its bytes to the operating system before it
    returns, so a process that dies leaves at most one incomplete record; ``sync`` also waits for
    the disk. The files are readable by their owner only, and so is a directory that is created
    here; the mode of an existing one is not changed.

    Args:
        folder: The directory; it is created if it does not exist.
        rotate: The size in bytes after which a new file begins.

    Raises:
        ValueError: ``rotate`` is less than 1.
        PermissionError: The directory belongs to another user, who could replace its files.
    """

    def __init__(self, folder: str | os.PathLike[str], *, rotate: int = 64 << 20) -> None:
        if rotate < 1:
            raise ValueError("rotate must be at least 1")
        self.folder = Path(folder)
        self.rotate = rotate
        # A capture holds passwords and payloads.
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if hasattr(os, "geteuid") and self.folder.stat().st_uid != os.geteuid():
            raise PermissionError(f"{self.folder} belongs to another user; use your own folder")
        self._file: BinaryIO | None = None
        self._size = 0

    def write(self, kind: str, conn: int, data: bytes, *, at: int | None = None) -> None:
        """Append data, in as many records as needed.

        Args:
            kind: One of ``RECORD_KINDS``.
            conn: The number of the connection.
            data: The bytes.
            at: The time in nanoseconds since the epoch; now if not given.
        """
        now = time.time_ns() if at is None else at
        pieces = [data[start : start + MAX_DATA] for start in range(0, len(data), MAX_DATA)]
        for piece in pieces or [b""]:
            self._append(pack(Record(kind, now, conn, piece)))

    def _append(self, row: bytes) -> None:
        """Write one record, after rotation if it is due."""
        if self._file is None or self._size >= self.rotate:
            self._begin()
        assert self._file is not None
        self._size += len(row)
        left = memoryview(row)
        while left:  # a disk that is nearly full takes a part of it
            left = left[self._file.write(left) :]

    def _begin(self) -> None:
        """Begin a new file."""
        self.close()
        last = max((int(file.stem) for file in files(self.folder)), default=0)
        for number in range(last + 1, last + 1 + _TRIES):
            path = self.folder / f"{number:06}{SUFFIX}"
            try:
                descriptor = os.open(path, _NEW_FILE, 0o600)
                break
            except FileExistsError:  # of another writer
                if number == last + _TRIES:
                    raise
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._file.write(MAGIC)
        self._size = len(MAGIC)

    def sync(self) -> None:
        """Wait until everything written is on the disk."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the current file; calling it again has no effect."""
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
    """Return the files of a capture in the order in which they were written."""
    found = [file for file in folder.glob(f"*{SUFFIX}") if file.stem.isdecimal()]
    return sorted(found, key=lambda file: int(file.stem))


def read(path: str | os.PathLike[str], *, start: int = 0) -> Iterator[Record]:
    """Yield the records of a file, or of all files of a directory, in order.

    An incomplete last record ends its file without an error. Memory: one record.

    Args:
        path: A file or a directory.
        start: For a file, the offset of the record at which reading continues.

    Raises:
        WireError: The file is not a capture (reason ``not a capture``), or a record is damaged
            (reason ``record``). ``.position`` is the offset of the damaged record; ``.resume`` is
            the offset of the next intact one, to be passed as ``start``, or None if the search for
            it would checksum more than 1 GiB.
        FileNotFoundError: The path does not exist.
    """
    path = Path(path)
    if not path.is_dir():
        yield from _records(path, start)
        return
    found = files(path)
    if not found:
        raise FileNotFoundError(f"no *.capture files in {path}")
    for file in found:
        yield from _records(file, 0)


def _records(path: Path, start: int) -> Iterator[Record]:
    """Yield the records of a file from an offset."""
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
                following = _next_intact(file, offset + 1)
            except _SearchTooLong:
                raise _damaged("record", offset, None) from None
            if following is None:
                return  # no intact record follows: the last record is incomplete
            raise _damaged("record", offset, following)


class _Damaged:
    """Bytes that are not a record."""


_DAMAGED = _Damaged()


def _row(file: BinaryIO, offset: int) -> Record | _Damaged | None:
    """Read the record at the current offset; None at the end."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return _DAMAGED if head else None
    mark, length, checksum = _HEAD.unpack(head)
    if mark != MARK or not _BODY.size <= length <= _BODY.size + MAX_DATA:
        return _DAMAGED
    body = file.read(length)
    if len(body) < length:
        return _DAMAGED  # incomplete, unless intact records follow
    if zlib.crc32(head[4:8] + body) != checksum:
        return _DAMAGED
    kind, at, conn = _BODY.unpack_from(body)
    if kind >= len(RECORD_KINDS):
        return _DAMAGED
    return Record(RECORD_KINDS[kind], at, conn, body[_BODY.size :], offset)


class _SearchTooLong(Exception):
    """The search for an intact record exceeded its limit, as in data made to look like records."""


def _next_intact(file: BinaryIO, offset: int) -> int | None:
    """Return the offset of the next intact record, or None."""
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
            if summed > _MAX_CHECKSUMMED:
                raise _SearchTooLong
            offset += found + 1
        elif len(piece) < window:
            return None
        else:
            offset += window - len(MARK) + 1


def _damaged(reason: str, position: int, resume: int | None) -> WireError:
    """Return the error of a damaged file."""
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
