"""The inputs of an audit: logs, captures and snapshots, planned as parts that tasks read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._readers.capture_events import capture_events
from .._readers.file_source import to_batches
from .._readers.log_files import input_digest, input_files, input_kind, log_size, resolve_path
from .._readers.log_reader import SPLIT_BYTES, LogRange, divide, read_range, whole_logs
from .._readers.payload_heads import HEADS, Blocks, heads_in, heads_of_capture
from .._readers.snapshot_events import snapshot_events
from .._schema import EVENTS, arrow_schema
from .event_counts import event_counts
from .events import EVENT_COLUMNS, Reading, counted_lines, partials_of, partials_of_table
from .kinds import complete, kind_schema
from .partial import Partial

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


def size_of(part: Part) -> int:
    """Return about how many bytes of the inputs a part has."""
    if isinstance(part, SavedPart):
        return log_size(part.path)
    return (part.size if part.end is None else part.end) - part.start


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


def read_part(
    part: Part, names: Sequence[str], counts: dict[str, int], blocks: Blocks | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the events of a part.

    Args:
        part: The part.
        names: The columns.
        counts: Receives the number of lines of each category, when the part has been read.
        blocks: The bytes of a range of a log, from its start on; by default those of its files.

    Raises:
        OSError: The input became shorter or vanished, or cannot be read.
    """
    if isinstance(part, LogRange):
        yield from read_range(part, names, counts, blocks)
        return
    reader = capture_events if part.kind == "capture" else snapshot_events
    for batch in to_batches(reader(part.path, part.number), EVENTS, names):
        for name, count in event_counts(batch).items():
            counts[name] = counts.get(name, 0) + count
        yield batch


def partials_of_part(
    part: Part, reading: Reading, blocks: Callable[[], Blocks] | None = None
) -> Iterator[Partial]:
    """Yield the partials of a part of the inputs.

    Args:
        part: The part.
        reading: How it is read.
        blocks: Returns the bytes of a range of a log, from its start on, at each call; by default
            those of its files.
    """
    counts: dict[str, int] = {}
    events = read_part(part, EVENT_COLUMNS, counts, None if blocks is None else blocks())
    heads = _Heads(part, blocks) if reading.heads else None
    chooser, counted = reading.chooser, partials_of
    if chooser is not None:  # the counts are those of the events that are chosen
        events, counted = chooser.chosen(events), partials_of_table
    yield from counted(events if heads is None else heads.noting(events), reading)
    if chooser is not None:
        counts = {}
    found = counted_lines(counts)
    if heads is not None:
        found.add_list("head", heads.joined())
    yield found


#: What is kept of a publish until the head of its payload is read.
_NOTED = ["position", "account", "user", "client", "time", "subject"]


class _Heads:
    """The accepted publishes of a part, joined with the heads of their payloads."""

    def __init__(self, part: Part, again: Callable[[], Blocks] | None) -> None:
        self._part, self._again = part, again
        self._sent: list[pa.RecordBatch] = []

    def noting(self, events: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield events, and keep the publishes that a server accepted."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in events:
            published = pc.is_in(batch["op"], value_set=pa.array(["PUB", "HPUB"]))
            incoming = pc.fill_null(pc.equal(batch["direction"], "in"), False)
            kept = pc.and_(pc.and_(published, incoming), pc.is_null(batch["refused"]))
            self._sent.append(batch.filter(kept).select(_NOTED))
            yield batch

    def joined(self) -> pa.Table:
        """Return rows of the kind ``head``."""
        import pyarrow as pa

        if not self._sent:
            return kind_schema("head").empty_table()
        rows = list(_heads_of(self._part, None if self._again is None else self._again()))
        heads = pa.Table.from_pylist(rows, arrow_schema(HEADS)).drop_columns(["server"])
        found = pa.Table.from_batches(self._sent).join(heads, "position", join_type="inner")
        return complete("head", found)


def _heads_of(part: Part, blocks: Blocks | None) -> Iterator[dict[str, Any]]:
    """Yield the heads of the payloads of a part; a snapshot has none."""
    if isinstance(part, LogRange):
        yield from heads_in(part, blocks)
    elif part.kind == "capture":
        yield from heads_of_capture(part.path, part.number)
