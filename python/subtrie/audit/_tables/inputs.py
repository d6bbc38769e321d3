"""The inputs of an audit: logs, captures and snapshots, planned as parts that tasks read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._readers.capture_events import capture_events
from .._readers.file_source import to_batches
from .._readers.log_division import divide
from .._readers.log_files import input_kind, log_size, resolve_path
from .._readers.log_reader import SPLIT_BYTES, LogRange, read_range, whole_logs
from .._readers.snapshot_events import snapshot_events
from .._runs.run_record import input_digest, input_files
from .._schema import EVENTS
from .event_counts import event_counts

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class SavedPart:
    """A capture or a snapshot, and its number among these."""

    kind: str
    path: str
    number: int


Part = LogRange | SavedPart
#: The parts of the first group: enough for the tasks that run at once while more are found.
_FIRST_GROUP = 4


@dataclass(frozen=True)
class Plan:
    """The parts of all inputs.

    Attributes:
        parts: What tasks read. They are found one after the other, by a pass over each log.
        size: The number of bytes of all inputs.
        logs: The number of trace logs.
        digest: Returns the digest of the inputs, which is computed in the background.
    """

    parts: Iterator[Part]
    size: int
    logs: int
    digest: Callable[[], str]


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
    files = input_files([path for each in by_kind.values() for path in each])
    digest = _in_background(lambda: input_digest(files))
    whole = whole_logs(by_kind["log"])
    saved = sorted((path, kind) for kind in ("capture", "snapshot") for path in by_kind[kind])
    size = sum(log.size for log in whole) + sum(log_size(path) for path, _ in saved)

    def parts() -> Iterator[Part]:
        for log in whole:
            yield from divide(log, split_bytes or SPLIT_BYTES)
        for number, (path, kind) in enumerate(saved):
            yield SavedPart(kind, path, number)

    return Plan(parts(), size, len(whole), digest)


def in_groups(parts: Iterable[Part]) -> Iterator[tuple[Part, ...]]:
    """Yield parts in groups, each as soon as it is complete; each doubles the parts before it.

    So tasks can read the first parts while others are still being found, and there are few groups.
    """
    group: list[Part] = []
    before = 0
    for part in parts:
        group.append(part)
        if len(group) >= max(_FIRST_GROUP, before):
            yield tuple(group)
            before += len(group)
            group = []
    if group:
        yield tuple(group)


def _in_background(call: Callable[[], str]) -> Callable[[], str]:
    """Start a call in a thread that does not outlive this process; return how to get its result."""
    found: Future[str] = Future()

    def run() -> None:
        try:
            found.set_result(call())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=run, name="subtrie-digest", daemon=True).start()
    return found.result


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
