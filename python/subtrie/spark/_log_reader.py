"""Read trace logs as Arrow batches of events, in ranges that several processes can share.

A log is divided once, by one pass that saves the state of the reader at the first line of each
range; so the ranges have the same rows as the whole. Compressed logs are recognised by their first
bytes and read as a whole. Paths are local files, or URIs that ``pyarrow.fs`` can open.
"""

from __future__ import annotations

import hashlib
import importlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ._log_files import log_size, open_log
from ._schema import EVENTS, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

#: The default size of a range: enough lines to pay for the start of a task and for its state.
SPLIT_BYTES = 32 * 1024 * 1024
#: The number of rows of a batch: large enough that a batch repeats its subjects.
BATCH_ROWS = 16_384
_BLOCK = 1024 * 1024
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
# The columns that only this module knows.
_ADDED = ("server", "file")


@dataclass(frozen=True)
class LogRange:
    """The lines of one log that begin in ``[start, end)``; without ``end``, all further ones."""

    path: str
    server: str
    size: int
    start: int = 0
    end: int | None = None
    state: bytes | None = None


def native() -> Any:
    """Return the extension module, which reads logs.

    Raises:
        RuntimeError: This installation has no native extension.
    """
    try:
        return importlib.import_module("subtrie._subtrie")
    except ImportError as error:
        raise RuntimeError(
            "reading trace logs needs the native extension of subtrie: install a wheel for this "
            f"platform ({error})"
        ) from None


def open_plain(path: str) -> tuple[BinaryIO, bool]:
    """Open a log, decompressed if its first bytes say so; return also whether it was compressed."""
    stream = open_log(path)
    magic = stream.read(4)
    if magic.startswith(_GZIP):
        import gzip

        stream.seek(0)
        return cast(BinaryIO, gzip.GzipFile(fileobj=stream)), True
    if magic == _ZSTD:
        import pyarrow as pa

        stream.seek(0)
        return cast(BinaryIO, pa.CompressedInputStream(stream, "zstd")), True
    stream.seek(0)
    return stream, False


def whole_log(path: str) -> LogRange:
    """Return the range of a whole log, as large as it is now.

    Raises:
        OSError: The log cannot be read.
    """
    with open_plain(path)[0] as stream:
        first = next(_blocks(stream, 65_536), b"").split(b"\n", 1)[0].rstrip(b"\r")
    return LogRange(path, hashlib.sha256(first).hexdigest()[:12], log_size(path))


def holds_server_lines(path: str) -> bool:
    """Return whether nats-server wrote one of the first lines of a log, or the log is empty.

    Raises:
        OSError: The log cannot be read.
    """
    reader = native().TraceReader(["op"])
    with open_plain(path)[0] as stream:
        for block in _blocks(stream, _BLOCK):
            reader.feed(block)
        reader.finish()
    counts = reader.counts
    return any(counts[name] for name in ("operations", "payloads", "server")) or not any(
        counts.values()
    )


def divide(log: LogRange, split_bytes: int = SPLIT_BYTES) -> list[LogRange]:
    """Divide a log into ranges of about ``split_bytes`` bytes, by one pass over it."""
    count = -(-log.size // max(1, split_bytes))
    if count < 2:
        return [log]
    stream, compressed = open_plain(log.path)
    with stream:
        if compressed:
            return [log]
        divider = native().LogDivider([log.size * i // count for i in range(1, count)])
        starts: list[tuple[int, bytes | None]] = [(0, None)]
        for block in _blocks(stream, log.size):
            done = divider.feed(block)
            starts += [(at, zlib.compress(state, 1)) for at, state in divider.take()]
            if done:
                break
    ends: list[int | None] = [at for at, _ in starts[1:]]
    return [
        replace(log, start=at, end=end, state=state)
        for (at, state), end in zip(starts, [*ends, None], strict=True)
    ]


def read_range(
    part: LogRange, names: Sequence[str] | None = None, counts: dict[str, int] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the events of a range.

    Args:
        part: The range.
        names: The columns; all of ``EVENTS`` by default.
        counts: Receives the number of lines of each category, when the range has been read.

    Raises:
        OSError: The log became shorter since it was divided, or cannot be read.
    """
    selected = [name for name, _ in EVENTS] if names is None else list(names)
    asked = [name for name in selected if name not in _ADDED]
    state = None if part.state is None else zlib.decompress(part.state)
    reader = native().TraceReader(asked, part.start, part.end, state=state)
    stream, compressed = open_plain(part.path)
    with stream:
        if part.start:
            stream.seek(part.start)
        left = None if compressed else part.size - part.start
        for block in _blocks(stream, left):
            done = reader.feed(block)
            if left is not None:
                left -= len(block)
            if len(reader) >= BATCH_ROWS:
                yield _batch(reader, part, selected)
            if done:
                break
        else:
            if left:
                raise OSError(f"{part.path} became shorter while it was read")
            reader.finish()
    yield _batch(reader, part, selected)
    if counts is not None:
        counts.update(reader.counts)


def _blocks(stream: BinaryIO, size: int | None) -> Iterator[bytes]:
    """Yield at most ``size`` bytes of a stream in blocks."""
    while size is None or size > 0:
        try:
            block = stream.read(_BLOCK if size is None else min(_BLOCK, size))
        except (EOFError, zlib.error) as error:
            raise OSError(f"the compressed log is damaged: {error}") from None
        if not block:
            return
        if size is not None:
            size -= len(block)
        yield bytes(block)


def _batch(reader: Any, part: LogRange, names: Sequence[str]) -> pa.RecordBatch:
    """Return the complete rows of a reader, with the columns in ``names``."""
    import pyarrow as pa

    taken = reader.take()
    rows = pa.array(taken) if any(name not in _ADDED for name in names) else None
    added = {
        name: pa.repeat(pa.scalar(value, pa.string()), len(taken))
        for name, value in (("server", part.server), ("file", part.path))
        if name in names
    }
    columns = [added[n] if n in added else rows.field(n) for n in names]  # type: ignore[union-attr]
    kinds = dict(EVENTS)
    return pa.record_batch(columns, schema=arrow_schema([(name, kinds[name]) for name in names]))
