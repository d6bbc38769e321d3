"""Properties of what Python reads from any bytes: the capture format, logs, snapshots.

Targets in Rust are in ``src/``; ``run_texts.py`` runs these under Atheris. Tests also call them, on
every seed.
"""

from __future__ import annotations

import functools
import os
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from subtrie import WireError, _subtrie, reference
from subtrie.wire import capture, log, monitor, read_capture_operations
from subtrie.wire._trace_operations import log_operation

CONNS = ("client", "server_to_client", "route", "leaf", "route_legacy")
_MEMORY = Path("/dev/shm")


@functools.cache
def _file() -> Path:
    """Return a file of this process, in memory if the system allows it."""
    where = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    descriptor, name = tempfile.mkstemp(prefix="subtrie-fuzz-", dir=where)
    os.close(descriptor)
    return Path(name)


def capture_file(data: bytes) -> None:
    """A file as it is, and one whose sums were made to hold."""
    _read(data)
    _read(_summed(data))


def _summed(data: bytes) -> bytes:
    """The same with a right sum in every head of a record that another one follows at."""
    found, at = bytearray(data), len(capture.MAGIC)
    while (length := int.from_bytes(found[at + 4 : at + 8], "little")) and at + 12 <= len(found):
        found[at : at + 4] = capture.MARK
        body = bytes(found[at + 12 : at + 12 + length])
        found[at + 8 : at + 12] = zlib.crc32(found[at + 4 : at + 8] + body).to_bytes(4, "little")
        at += 12 + length
    return bytes(found)


def _read(data: bytes) -> None:
    """Every record is bytes of the file; damage is one error each, and reading gets on."""
    path = _file()
    path.write_bytes(data)
    start, found = 0, []
    while True:
        before = start
        try:
            for record in capture.read(path, start=start):
                row = capture.pack(record)
                assert data[record.offset : record.offset + len(row)] == row
                assert record.offset >= start
                start = record.offset + len(row)
                found.append(record)
        except WireError as error:
            assert error.reason in ("record", "not a capture")
            if error.reason == "not a capture" or error.resume is None:
                break
            assert error.position is not None
            assert max(before, start) <= error.position < error.resume < len(data)
            start = error.resume
            continue
        break
    for row in read_capture_operations(iter(found)):
        assert row.conn is not None


def trace_log(data: bytes) -> None:
    """A line is a record or none; its operation reads, or is refused with a reason."""
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        record = log.parse_line(line)
        if record is None:
            continue
        record.as_dict()
        try:
            log_operation(record)
        except WireError as error:
            assert error.reason


def snapshot(data: bytes) -> None:
    """An answer of a server, or a refusal."""
    try:
        page = monitor.loads(data)
    except WireError as error:
        assert error.reason in ("bad json", "monitor")
        return
    assert page.complete in (True, False)
    for found in page.subscriptions:
        assert found.operation["subject"] == found.subject


def engines(data: bytes) -> None:
    """Both engines read the same operations and raise the same error."""
    chosen, at, stream = data[:1], data[1:2], data[2:]
    number = chosen[0] if chosen else 0
    options: dict[str, Any] = {"dialect": ("server", "strict")[number & 1]}
    if number & 2:
        options |= {"max_control_line": 20, "max_payload": 16}
    conn = CONNS[(number >> 2) % len(CONNS)]
    cut = at[0] if at else 0
    answers = []
    for engine in (_subtrie, reference):
        parser = engine.Parser(conn, **options)
        told: list[Any] = []
        try:
            for piece in (stream[:cut], stream[cut:]):
                told += [(op.as_dict(), op.raw, bytes(op), op.offset) for op in parser.feed(piece)]
        except WireError as error:
            told += [(op.as_dict(), op.raw, bytes(op), op.offset) for op in error.operations]
            told.append((error.reason, error.cause, error.position, error.resume, error.state))
        answers.append((told, parser.complete, parser.offset, parser.held))
    assert answers[0] == answers[1]


#: Every target by its name, which is also its folder of seeds.
TARGETS: dict[str, Callable[[bytes], None]] = {
    "capture": capture_file,
    "trace_log": trace_log,
    "snapshot": snapshot,
    "engines": engines,
}
