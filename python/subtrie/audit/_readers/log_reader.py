"""Read trace logs as Arrow batches of events, in ranges that several processes can share.

Compressed logs are recognised by their first bytes and read as a whole. Paths are local files, or
URIs that ``pyarrow.fs`` can open.

One pass over a log divides it. It saves the state of the reader at the first line of each range; so
the ranges have the same rows as the whole. Most lines are skimmed: only those near the end of a
range are read in full, and those that begin or end a subscription.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import shlex
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ..._nats.container_lines import unwrapped
from .._schema import EVENTS, arrow_schema
from .log_files import log_size, open_log, shown_path

if TYPE_CHECKING:
    import pyarrow as pa

#: The default size of a range: enough lines to pay for the start of a task and for its state.
SPLIT_BYTES = 64 * 1024 * 1024
#: The number of rows of a batch: large enough that a batch repeats its subjects.
BATCH_ROWS = 16_384
_BLOCK = 1024 * 1024
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_FIRST_LINE = re.compile(rb"\[(?P<pid>\d{1,10})\] (?P<time>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d+) ")
# A part of a rotated log. Names such as `nats.1` may be those of servers.
_PART = re.compile(r"(?P<log>.*\.log)\.[0-9][^/]*\Z", re.DOTALL)
# The columns that only this module knows.
_ADDED = ("server", "file")


@dataclass(frozen=True)
class LogRange:
    """The lines of a log that begin in ``[start, end)``; without ``end``, all further ones.

    A log is one file or several, into which it was rotated. Positions count through all of them.
    """

    files: tuple[tuple[str, int], ...]  # path and size, oldest first
    server: str
    start: int = 0
    end: int | None = None
    state: bytes | None = None

    @property
    def size(self) -> int:
        """The size of the whole log."""
        return sum(size for _, size in self.files)


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
        opened = gzip.GzipFile(fileobj=stream)
        opened.myfileobj = stream  # type: ignore[assignment]  # which it closes, as one of its own
        return cast(BinaryIO, opened), True
    if magic == _ZSTD:
        import pyarrow as pa

        stream.seek(0)
        return cast(BinaryIO, pa.CompressedInputStream(stream, "zstd")), True
    stream.seek(0)
    return stream, False


def whole_logs(paths: Sequence[str]) -> list[LogRange]:
    """Return the logs of servers, as large as they are now; rotated files of one are together.

    Files belong together if they are in one directory, if the name of one is that of the other and
    a suffix, or both are one name in ``.log`` with a suffix that begins with a digit, and if their
    first lines have times and the same process id.

    Raises:
        OSError: A file cannot be read.
        ValueError: Two files begin with the same line, as copies of one do.
    """
    first: dict[str, bytes] = {}
    for path in paths:
        with open_plain(path)[0] as stream:
            first[path] = next(blocks_of(stream, 65_536), b"").split(b"\n", 1)[0].rstrip(b"\r")
    known: dict[bytes, str] = {}
    for path, line in first.items():
        if line and line in known:
            raise ValueError(
                f"{shown_path(known[line])} and {shown_path(path)} begin with the same line: "
                "give each log once"
            )
        known[line] = path
    groups: list[list[str]] = []
    for path in sorted(first, key=len):
        for group in groups:
            if _rotated(group[0], path) and _same_process(first[group[0]], first[path]):
                group.append(path)
                break
        else:
            groups.append([path])
    logs = []
    for group in sorted(groups, key=lambda group: list(first).index(group[0])):
        if len(group) > 1:
            group.sort(key=lambda path: _stamp(first[path]))
        digest = hashlib.sha256(first[group[0]]).hexdigest()[:12]
        logs.append(LogRange(tuple((path, log_size(path)) for path in group), digest))
    return logs


def match_first_line(line: bytes) -> re.Match[bytes] | None:
    """Return process id and time of a first line, also of one that a container wrapped."""
    wrapped = unwrapped(line.decode("utf-8", "surrogateescape"))
    if wrapped is not None:
        line = wrapped.text.encode("utf-8", "surrogateescape")
    return _FIRST_LINE.match(line)


def _rotated(one: str, other: str) -> bool:
    """Whether the names of two files, the shorter one first, are those of one log and its parts."""
    part, beside = _PART.match(one), _PART.match(other)
    both = part is not None and beside is not None and part["log"] == beside["log"]
    return both or other.startswith(f"{one}.")


def _same_process(one: bytes, other: bytes) -> bool:
    """Whether two lines have a time and the same process id."""
    found = [match_first_line(line) for line in (one, other)]
    return all(found) and found[0]["pid"] == found[1]["pid"]  # type: ignore[index]


def _stamp(line: bytes) -> bytes:
    """Return the time of a line as printed, which sorts as the times do."""
    found = match_first_line(line)
    return found["time"] if found is not None else b""


def holds_server_lines(path: str) -> bool:
    """Return whether nats-server wrote one of the first lines of a log, or the log is empty.

    Raises:
        OSError: The log cannot be read.
    """
    reader = native().TraceReader(["op"])
    with open_plain(path)[0] as stream:
        for block in blocks_of(stream, _BLOCK):
            reader.feed(block)
        reader.finish()
    counts = reader.counts
    return any(counts[name] for name in ("operations", "payloads", "server")) or not any(
        counts.values()
    )


def check_one_server(reader: Any, part: LogRange) -> None:
    """Refuse a log in which the lines of several servers alternate.

    Each server has a clock and connections of its own, so the deliveries of their messages cannot
    be told from such a log.

    Args:
        reader: The reader or divider of its lines.
        part: A range of the log.

    Raises:
        ValueError: A process wrote lines after another one had followed it.
    """
    if reader.alternating is None:
        return
    process, other, position = reader.alternating
    path = shlex.quote(shown_path(part.files[0][0]))
    raise ValueError(
        f"{shown_path(part.files[0][0])}, byte {position}: the lines of several servers alternate "
        f"(processes {other} and {process}); give one log per server, as with: "
        f"grep '^\\[{process}\\]' {path} > {process}.log"
    )


def packed_state(state: bytes) -> bytes:
    """Return the state of a reader, compressed: up to 1 MB for each range of a log."""
    import pyarrow as pa

    packed: bytes = pa.compress(state, codec="lz4_raw", asbytes=True)
    return len(state).to_bytes(8, "little") + packed


def unpacked_state(packed: bytes) -> Any:
    """Return the state that ``packed_state`` compressed."""
    import pyarrow as pa

    size = int.from_bytes(packed[:8], "little")
    return pa.decompress(packed[8:], decompressed_size=size, codec="lz4_raw", asbytes=True)


def split_bytes_of(options: Mapping[str, str]) -> int:
    """Return the size of a range in bytes. Raises ``ValueError`` unless it is positive."""
    split_bytes = int(options.get("splitbytes") or SPLIT_BYTES)
    if split_bytes < 1:
        raise ValueError("splitBytes must be at least 1")
    return split_bytes


def read_range(
    part: LogRange,
    names: Sequence[str] | None = None,
    counts: dict[str, int] | None = None,
    blocks: Iterable[tuple[tuple[int, str], bytes]] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the events of a range.

    Args:
        part: The range.
        names: The columns; all of ``EVENTS`` by default.
        counts: Receives the number of lines of each category, when the range has been read.
        blocks: The bytes from the start of the range on, with the position and the path of their
            file; by default those of the files of the range.

    Raises:
        OSError: The log became shorter since it was divided, or cannot be read.
        ValueError: The lines of several servers alternate.
    """
    selected = [name for name, _ in EVENTS] if names is None else list(names)
    asked = [name for name in selected if name not in _ADDED]
    if "position" not in asked:
        asked.append("position")
    state = None if part.state is None else unpacked_state(part.state)
    reader = native().TraceReader(asked, part.start, part.end, state=state)
    bases: list[tuple[int, str]] = []
    for file, block in log_blocks(part) if blocks is None else blocks:
        if not bases or file != bases[-1]:
            bases.append(file)
        done = reader.feed(block)
        check_one_server(reader, part)
        if len(reader) >= BATCH_ROWS:
            yield _batch(reader, part, bases, selected)
        if done:
            break
    else:
        reader.finish()
        check_one_server(reader, part)
    yield _batch(reader, part, bases, selected)
    if counts is not None:
        counts.update(reader.counts)


def _ends_in_line_feed(stream: BinaryIO, size: int) -> bool:
    """Whether the last byte of a file is LF, or it is empty; the stream is rewound."""
    if size == 0:
        return True
    stream.seek(size - 1)
    last = stream.read(1)
    stream.seek(0)
    return last in (b"\n", b"")


def log_blocks(part: LogRange) -> Iterator[tuple[tuple[int, str], bytes]]:
    """Yield the bytes of a log from the start of a range, with the position of their file in it."""
    base, start = 0, part.start
    for number, (path, size) in enumerate(part.files):
        stream, compressed = open_plain(path)
        with stream:
            whole = base + size + (not compressed and not _ends_in_line_feed(stream, size))
            if not compressed and start >= whole > base:
                base = whole
                continue
            begin = max(0, start - base)
            if begin:
                stream.seek(begin)
            left = None if compressed else size - begin
            read, last = begin, b""
            for block in blocks_of(stream, left):
                yield (base, path), block
                read, last = read + len(block), block[-1:]
            if not compressed and read < size:
                raise OSError(f"{shown_path(path)} became shorter while it was read")
        if last not in (b"", b"\n") and number + 1 < len(part.files):
            yield (base, path), b"\n"  # a file that was rotated in the middle of a line
            read += 1
        base += read


def blocks_of(stream: BinaryIO, size: int | None) -> Iterator[bytes]:
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


def _batch(
    reader: Any, part: LogRange, bases: Sequence[tuple[int, str]], names: Sequence[str]
) -> pa.RecordBatch:
    """Return the complete rows of a reader, with the columns in ``names``."""
    import numpy as np
    import pyarrow as pa

    taken = reader.take()
    rows = pa.array(taken)
    columns = {name: rows.field(name) for name in names if name not in _ADDED}
    if "server" in names:
        columns["server"] = pa.repeat(pa.scalar(part.server, pa.string()), len(taken))
    if len(bases) < 2:
        if "file" in names:
            path = bases[0][1] if bases else part.files[0][0]
            columns["file"] = pa.repeat(pa.scalar(shown_path(path), pa.string()), len(taken))
        starts = np.full(len(taken), bases[0][0] if bases else 0)
    else:
        positions = rows.field("position").to_numpy(zero_copy_only=False)
        places = np.array([base for base, _ in bases])
        file = np.searchsorted(places, positions, side="right") - 1
        columns["file"] = pa.array([shown_path(path) for _, path in bases]).take(pa.array(file))
        starts = places[file]
    if "offset" in names and starts.any():
        positions = rows.field("position").to_numpy(zero_copy_only=False)
        columns["offset"] = pa.array(positions - starts, pa.int64())
    kinds = dict(EVENTS)
    schema = arrow_schema([(name, kinds[name]) for name in names])
    return pa.record_batch([columns[name] for name in names], schema=schema)


#: The number of bytes before the end of a range of which every line is read, at least.
_READ_IN_FULL = 1024 * 1024


def divide(
    log: LogRange, split_bytes: int = SPLIT_BYTES, *, skim: int | None = _READ_IN_FULL
) -> Iterator[LogRange]:
    """Yield the ranges of a log, each of about ``split_bytes`` bytes, as they are found.

    A compressed log is one range.

    Args:
        log: The log.
        split_bytes: The size of a range.
        skim: Skim the lines that are farther than this from the end of a range, where the times of
            the log permit it; ``None`` reads every line.

    Raises:
        ValueError: The lines of several servers alternate.
    """
    count = -(-log.size // max(1, split_bytes))
    if count < 2 or any(_is_compressed(path) for path, _ in log.files):
        yield log
        return
    targets = [log.size * i // count for i in range(1, count)]
    begun = replace(log, start=0)
    while True:
        left = [target for target in targets if target > begun.start]
        state = None if begun.state is None else unpacked_state(begun.state)
        divider = native().LogDivider(left, begun.start, state=state, skim=skim)
        for _, block in log_blocks(begun):
            done = divider.feed(block)
            check_one_server(divider, log)
            for at, state in divider.take():
                yield replace(begun, end=at)
                begun = replace(log, start=at, state=packed_state(state))
            if done:
                break
        if not divider.failed:
            break
        skim = None
    yield begun


def _is_compressed(path: str) -> bool:
    stream, compressed = open_plain(path)
    stream.close()
    return compressed
