"""The inputs of an audit: logs, captures and snapshots, planned as parts that tasks read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._capture_events import capture_events
from ._facts import event_counts
from ._file_source import to_batches
from ._log_files import input_kind, log_size, resolve_path
from ._log_reader import SPLIT_BYTES, LogRange, divide, read_range, whole_logs
from ._run_record import input_digest
from ._schema import EVENTS
from ._snapshot_events import snapshot_events

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class SavedPart:
    """A capture or a snapshot, and its number among these."""

    kind: str
    path: str
    number: int


Part = LogRange | SavedPart


@dataclass(frozen=True)
class Plan:
    """The parts of all inputs, their size in bytes, their digest, and the number of trace logs."""

    parts: tuple[Part, ...]
    size: int
    logs: int
    digest: str


def plan(paths: Sequence[str], split_bytes: int | None = None) -> Plan:
    """Divide the inputs into parts.

    Args:
        paths: Trace logs, captures of ``subtrie tap`` and saved monitoring responses; the first
            bytes of each say which it is.
        split_bytes: The size of the ranges in which a log is read.

    Raises:
        OSError: An input cannot be read.
        ValueError: Two logs are copies of one.
    """
    by_kind: dict[str, list[str]] = {"log": [], "capture": [], "snapshot": []}
    for path in paths:
        by_kind[input_kind(path)].append(resolve_path(path))
    whole = whole_logs(by_kind["log"])
    parts: list[Part] = [p for log in whole for p in divide(log, split_bytes or SPLIT_BYTES)]
    saved = sorted((path, kind) for kind in ("capture", "snapshot") for path in by_kind[kind])
    parts += [SavedPart(kind, path, number) for number, (path, kind) in enumerate(saved)]
    size = sum(log.size for log in whole) + sum(log_size(path) for path, _ in saved)
    return Plan(tuple(parts), size, len(whole), input_digest(list(map(resolve_path, paths))))


def read_part(part: Part, names: Sequence[str], counts: dict[str, int]) -> Iterator[pa.RecordBatch]:
    """Yield the events of a part.

    Args:
        part: The part.
        names: The columns.
        counts: Receives the number of lines of each category, when the part has been read.

    Raises:
        OSError: The input became shorter or vanished, or cannot be read.
    """
    if isinstance(part, LogRange):
        yield from read_range(part, names, counts)
        return
    reader = capture_events if part.kind == "capture" else snapshot_events
    for batch in to_batches(reader(part.path, part.number), EVENTS, names):
        for name, count in event_counts(batch).items():
            counts[name] = counts.get(name, 0) + count
        yield batch
