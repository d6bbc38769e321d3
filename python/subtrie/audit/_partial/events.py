"""From events to partials, in the thread or the task that reads the events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._readers.log_reader import native
from .._schema import arrow_type
from .event_counts import event_counts
from .kinds import BUCKETS, DAY, KINDS, add_up, complete
from .partial import Partial
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
    (64, "unparseable", {"position": "offset", "text": "_corrupt_record"}),
    (256, "request", {}),
    (_ABOUT_STREAM, "stream", {"last_position": "position"}),
    (_ABOUT_STREAM, "dropped", {}),
    (_ABOUT_STREAM, "stored", {}),
    (_ABOUT_SERVER, "login", _SPAN),
    (_ABOUT_SERVER, "link", {}),
    (_ABOUT_SERVER, "state", {}),
    (_ABOUT_CONNECTION, "state", {}),
)
#: The operations of the rows of a kind, of those that share what is said of a row.
_OPERATIONS = {
    "slow": ("SLOW",), "claim": ("CLAIM",), "stream": ("STREAM",), "stored": ("STORED",),
    "login": ("LOGIN", "DENIED"), "link": ("LINK",), "state": ("SERVER", "START", "SLOW"),
    "dropped": ("PUB", "HPUB"),
}  # fmt: skip


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
            elif bit == _REFUSED_REPLY and name == "reason":
                table[name] = pa.repeat("publish", rows.num_rows)
            else:
                table[name] = rows.column(renamed.get(name, name))
        listed = complete(kind, pa.table(table))
        # A stream answers every message.
        found.add_list(kind, add_up(listed, KINDS[kind].keys) if kind == "stored" else listed)


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
