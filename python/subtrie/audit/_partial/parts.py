"""The inputs of an audit planned as parts, and the partials of the events of a part.

The inputs are logs, captures and snapshots. A thread or a task reads a part, and adds up its events
where it reads them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._readers.capture_events import capture_events
from .._readers.file_source import to_batches
from .._readers.log_files import input_digest, input_files, input_kind, log_size, resolve_path
from .._readers.log_reader import SPLIT_BYTES, LogRange, divide, native, read_range, whole_logs
from .._readers.payload_heads import HEADS, Blocks, heads_in, heads_of_capture
from .._readers.snapshot_events import snapshot_events
from .._schema import EVENTS, arrow_schema, arrow_type
from .event_counts import event_counts
from .kinds import BUCKETS, DAY, KINDS, add_up, complete, kind_schema
from .partial import Partial
from .rates import RATE, rates_of
from .selection import Chooser

if TYPE_CHECKING:
    import pyarrow as pa

    from .._slot_redaction import Redaction

#: The distinct keys and subjects that a task holds before it passes them on: about 110 bytes each.
#: More of them are added up before they are moved.
_HELD = 600_000
#: The rows that are not sums, such as subscriptions, that a task holds: about 500 bytes each.
_LISTED_HELD = 100_000

#: The columns of events that partials are made of.
EVENT_COLUMNS = (
    *("server", "file", "offset", "time", "conn", "account"),
    *("identity", "identity_source", "user", "client", "direction", "op", "subject"),
    *("reply", "queue", "sid", "size", "deliveries", "refused", "forwarded", "ambiguous"),
    *("subscription", "position", "reason", "_corrupt_record"),
)
_SPAN = {"first": "time", "last": "time"}
_HOP = {"taken": "deliveries"}
_ABOUT_CONNECTION, _REFUSED_REPLY, _ABOUT_STREAM, _ABOUT_SERVER = 128, 32, 512, 1024
_CROSSED, _MQTT = 2048, 4096
#: What ``TrafficSums.add_events`` says of a row, the kind it becomes, and the columns of the event
#: that have other names there.
_LISTED: tuple[tuple[int, str, dict[str, str]], ...] = (
    (1, "undelivered", {}),
    (2, "hop", _HOP),
    (4, "arrival", _HOP),
    (8, "subscription", {"reason": "direction"}),
    (16, "refused", _SPAN | {"reason": "refused"}),
    (_REFUSED_REPLY, "refused", _SPAN | {"reason": "refused"}),
    (_ABOUT_CONNECTION, "slow", _SPAN),
    (_ABOUT_CONNECTION, "claim", _SPAN),
    (_ABOUT_CONNECTION, "error", _SPAN),
    (64, "unparseable", {"position": "offset", "text": "_corrupt_record"}),
    (256, "request", {}),
    (_ABOUT_STREAM, "stream", {"last_position": "position"}),
    (_ABOUT_STREAM, "consumer", {}),
    (_ABOUT_STREAM, "dropped", {}),
    (_ABOUT_STREAM, "stored", {}),
    (_ABOUT_STREAM, "ack", {}),
    (_ABOUT_SERVER, "login", _SPAN),
    (_ABOUT_SERVER, "link", {}),
    (_ABOUT_SERVER, "state", {}),
    (_ABOUT_CONNECTION, "state", {}),
)
#: The operations of the rows of a kind, of those that share what is said of a row.
_OPERATIONS = {
    "slow": ("SLOW",), "claim": ("CLAIM",), "stream": ("STREAM",), "stored": ("STORED",),
    "login": ("LOGIN", "DENIED"), "link": ("LINK",), "state": ("SERVER", "START", "SLOW"),
    "consumer": ("CONSUMER",), "error": ("ERROR",), "dropped": ("PUB", "HPUB"),
    "ack": ("ACK",),
}  # fmt: skip


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
    part: Part,
    reading: Reading,
    blocks: Callable[[], Blocks] | None = None,
    keep: Callable[[pa.RecordBatch], None] | None = None,
) -> Iterator[Partial]:
    """Yield the partials of a part of the inputs.

    Args:
        part: The part.
        reading: How it is read.
        blocks: Returns the bytes of a range of a log, from its start on, at each call; by default
            those of its files.
        keep: Is called with the events, batch by batch.
    """
    counts: dict[str, int] = {}
    events = read_part(part, EVENT_COLUMNS, counts, None if blocks is None else blocks())
    if keep is not None:
        events = _kept(events, keep)
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


def _kept(
    events: Iterable[pa.RecordBatch], keep: Callable[[pa.RecordBatch], None]
) -> Iterator[pa.RecordBatch]:
    for batch in events:
        keep(batch)
        yield batch


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


@dataclass(frozen=True)
class Reading:
    """The options of reading events as partials.

    Attributes:
        window: The length of a period in microseconds; without it all times are one period.
        follow: Whether to list messages between servers, to follow them into other logs.
        answers: Whether questions are asked, which need the days of messages and the requests.
        heads: Whether the heads of payloads are read.
        redaction: What to replace in subjects.
        chooser: Chooses the events; None for all.
    """

    window: int | None = None
    follow: bool = False
    answers: bool = False
    heads: bool = False
    redaction: Redaction | None = None
    chooser: Chooser | None = None

    def sums(self, buckets: int = BUCKETS) -> Any:
        """Return sums of nothing."""
        return native().TrafficSums(
            window=self.window, follow=self.follow, days=self.answers, buckets=buckets
        )


def partials_of(events: Iterable[pa.RecordBatch], reading: Reading) -> Iterator[Partial]:
    """Yield the partials of events.

    Memory: about 110 bytes for each of 600,000 distinct keys and subjects.

    Args:
        events: Events, with at least ``EVENT_COLUMNS``.
        reading: How they are read.
    """
    sums, found = reading.sums(), Partial()
    for batch in events:
        list_others(found, batch, sums.add_events(batch), reading.window)
        summed = len(sums) + found.held > _HELD
        if summed or found.held > _LISTED_HELD:
            yield _passed_on(sums if summed else None, found, reading)
            found = Partial()
    yield _passed_on(sums, found, reading)


def partials_of_table(events: Iterable[pa.RecordBatch], reading: Reading) -> Iterator[Partial]:
    """Yield the partials of a table of events, whose rows are counted."""
    counts: dict[str, int] = {}

    def counted() -> Iterator[pa.RecordBatch]:
        for batch in events:
            for name, count in event_counts(batch).items():
                counts[name] = counts.get(name, 0) + count
            yield batch

    yield from partials_of(counted(), reading)
    yield counted_lines(counts)


def counted_lines(counts: dict[str, int]) -> Partial:
    """Return the partial of lines that were counted."""
    found = Partial()
    found.add_counts(counts)
    return found


def list_others(found: Partial, batch: pa.RecordBatch, flags: bytes, window: int | None) -> None:
    """Add the rows of a batch that are not summed natively."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if not flags:
        return
    told = np.frombuffer(flags, np.uint16)
    if packets := np.count_nonzero(told & _MQTT):
        found.add_counts({"mqtt": int(packets)})
    if np.any(told & _CROSSED):
        found.add_list("crossed", _crossed(batch, told))
    for bit, kind, renamed in _LISTED:
        at = np.flatnonzero(told & bit)
        if not len(at):
            continue
        names = KINDS[kind].columns
        needed = {*(renamed.get(name, name) for name in names), "op", "time"}
        rows = batch.select([name for name in batch.schema.names if name in needed])
        rows = rows.take(pa.array(at))
        if kind in _OPERATIONS:
            rows = rows.filter(pc.is_in(rows.column("op"), value_set=pa.array(_OPERATIONS[kind])))
            if not rows.num_rows:
                continue
        table = {}
        for name in names:
            if name == "window":
                table[name] = _period(rows.column("time"), window)
            elif name == "day":
                table[name] = _period(rows.column("time"), DAY, numbered=True)
            elif name == "count":
                table[name] = pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)
            elif name == RATE:
                table[name] = rates_of(rows.column("time"))
            elif bit == _REFUSED_REPLY and name == "reason":
                table[name] = pa.repeat("publish", rows.num_rows)
            else:
                table[name] = rows.column(renamed.get(name, name))
        listed = complete(kind, pa.table(table))
        # A stream answers every message, and consumers are made again and again.
        often = kind in ("ack", "stored", "consumer", "error")
        found.add_list(kind, add_up(listed, KINDS[kind].keys) if often else listed)


def _crossed(batch: pa.RecordBatch, told: Any) -> pa.Table:
    """Return the messages between servers, added up between the rows LINK of the batch."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    linked = pc.fill_null(pc.equal(batch.column("op"), "LINK"), False)
    part = np.cumsum(linked.to_numpy(zero_copy_only=False))
    at = np.flatnonzero(told & _CROSSED)
    names = ("server", "conn", "user", "direction")
    rows = batch.select([*names, "position", "size"]).take(pa.array(at))
    table = pa.table({**dict(zip(rows.schema.names, rows.columns, strict=True)),
                      "part": pa.array(part[at])})  # fmt: skip
    how = [("position", "min"), ("size", "count"), ("size", "sum")]
    summed = (
        table.group_by([*names, "part"])
        .aggregate(how)
        .select([*names, "position_min", "size_count", "size_sum"])
    )
    return complete("crossed", summed.rename_columns([*names, "position", "count", "size"]))


def _passed_on(sums: Any, found: Partial, reading: Reading) -> Partial:
    """Return the other rows of a task and its sums, if given; these begin again."""
    if sums is not None:
        found.take_sums(sums)
    return found if reading.redaction is None else found.redacted(reading.redaction)


def _period(times: pa.Array, length: int | None, *, numbered: bool = False) -> pa.Array:
    """Return the start of the period of each time, or its number; nulls without a length."""
    import numpy as np
    import pyarrow as pa

    kind = pa.int64() if numbered else arrow_type("timestamp")
    if length is None:
        return pa.nulls(len(times), kind)
    micros = times.cast(pa.int64())
    numbers = micros.fill_null(0).to_numpy(zero_copy_only=False) // length
    starts = numbers if numbered else numbers * length
    return pa.array(starts, pa.int64(), mask=np.asarray(micros.is_null())).cast(kind)
