"""Facts: what the tables need of the events, summed where the events are read.

Facts of one kind are an Arrow table. What Spark moves is a row for each kind and bucket, with the
table as the bytes of an Arrow stream, so its cost does not depend on the number of facts. Facts
about one subject are in one bucket, the same in every process; a bucket comes to one task.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .._schema import arrow_schema, arrow_type
from .._sources.log_reader import native
from .rows import add_up, filled

if TYPE_CHECKING:
    import pyarrow as pa

    from .._slot_redaction import Redaction

#: The rows that Spark moves: the kind and the bucket of facts, their number, and their bytes.
FACT_ROWS: tuple[tuple[str, str], ...] = (
    ("fact", "string"),
    ("bucket", "int"),
    ("rows", "bigint"),
    ("data", "binary"),
)
#: The number of buckets: more of them need less memory at once, and more rows of Spark.
BUCKETS = 64
#: The bucket of facts about whole logs, which the driver reads.
FOR_DRIVER = -1
#: The distinct keys and subjects that a task holds before it passes them on: about 110 bytes each.
#: More of them are added up before they are moved.
_HELD = 600_000
#: The facts of several buckets that are added up together: about 300 bytes each.
_TOGETHER = 200_000

#: The columns of events that facts are made of.
EVENT_COLUMNS = (
    *("server", "file", "offset", "time", "conn", "identity", "direction", "op", "subject"),
    *("reply", "queue", "sid", "size", "deliveries", "refused", "forwarded", "ambiguous"),
    *("subscription", "position", "reason", "_corrupt_record"),
)

_PUBLISH = ("server", "window", "conn", "identity", "subject")
_DELIVERY = ("server", "window", "conn", "sid", "queue", "subscription", "subject")
_SUMS = ("published", "refused", "taken", "undelivered", "forwarded", "ambiguous", "bytes")
_TIMES = tuple(f"{end}{s}" for s in ("", "_accepted", "_undelivered") for end in ("first", "last"))
_HOP = (*_PUBLISH, "reply", "size", "position", "time", "taken", "forwarded")
#: The columns of facts, by kind:
#:
#: ``publish``      messages of clients by server, window, conn, identity and subject
#: ``delivery``     lines to clients by server, window, conn, sid, queue, subscription and subject
#: ``undelivered``  one message that no client received
#: ``hop`` / ``arrival``  one message sent to / received from another server
#: ``refused``      refused operations by identity, conn, subject and reason (its kind)
#: ``slow``         connections that read too slowly
#: ``unparseable``  one line
#: ``subscription`` one line that begins or ends subscriptions; ``reason`` is its direction
#: ``plane``        a plane of accepted traffic, in the column ``subject``
#: ``count``        lines by category, accepted and ambiguous messages, in the column ``subject``
#: ``range``        one range of a stream: server, its start (position) and its end (size)
FACTS: dict[str, tuple[str, ...]] = {
    "publish": (*_PUBLISH, *_SUMS, *_TIMES),
    "delivery": (*_DELIVERY, "count"),
    "undelivered": ("server", "subject", "position"),
    "hop": _HOP,
    "arrival": _HOP,
    "refused": ("identity", "conn", "subject", "reason", "count", "first", "last"),
    "slow": ("server", "conn", "identity", "first", "last"),
    "unparseable": ("server", "file", "position", "reason", "text"),
    "subscription": (
        *("server", "conn", "identity", "op", "subject", "queue", "sid", "size", "position"),
        *("time", "reason"),
    ),
    "plane": ("subject",),
    "count": ("subject", "count"),
    "range": ("server", "position", "size"),
}
#: The column that decides the bucket, of facts that are not about subjects.
_BUCKETED_BY = {"slow": "identity", "unparseable": "file"}
_DRIVEN = ("subscription", "plane", "count", "range")
#: The columns that identify facts that add up; other facts are one each.
_KEYS = {
    "refused": ("identity", "conn", "subject", "reason"),
    "slow": ("server", "conn", "identity"),
    "plane": ("subject",),
    "count": ("subject",),
}
_REFUSAL = {name: name for name in _KEYS["refused"]} | {
    "reason": "refused",
    "first": "time",
    "last": "time",
}
_SLOW = {name: name for name in _KEYS["slow"]} | {"first": "time", "last": "time"}
_NUMBERS = (*_SUMS, "position", "subscription", "size", "count")
# What TrafficSums.add_events says of a row, and the facts it becomes: the columns of the event.
_LISTED = (
    (1, "undelivered", {"server": "server", "subject": "subject", "position": "position"}),
    (2, "hop", {name: name for name in _HOP} | {"taken": "deliveries"}),
    (4, "arrival", {name: name for name in _HOP} | {"taken": "deliveries"}),
    (8, "subscription", {name: name for name in FACTS["subscription"]} | {"reason": "direction"}),
    (16, "refused", _REFUSAL),
    (32, "refused", _REFUSAL),
    (128, "slow", _SLOW),
    (
        64,
        "unparseable",
        {
            "server": "server",
            "file": "file",
            "position": "offset",
            "reason": "reason",
            "text": "_corrupt_record",
        },
    ),
)
_REFUSED_REPLY = 32


def fact_schema(kind: str) -> pa.Schema:
    """Return the Arrow schema of facts of a kind."""

    def type_of(name: str) -> str:
        if name in ("window", "time", *_TIMES):
            return "timestamp"
        return "bigint" if name in _NUMBERS else "string"

    return arrow_schema([(name, type_of(name)) for name in FACTS[kind]])


def facts_of(
    events: Iterable[pa.RecordBatch],
    *,
    window: int | None = None,
    follow: bool = False,
    redaction: Redaction | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the facts of events as rows of ``FACT_ROWS``.

    Memory: about 110 bytes for each of 600,000 distinct keys and subjects.

    Args:
        events: Events, with at least ``EVENT_COLUMNS``.
        window: The length of a period in microseconds; without it all times are one period.
        follow: Whether to list messages between servers, to follow them into other logs.
        redaction: What to replace in subjects.
    """
    buckets = 1 if redaction else BUCKETS
    sums = native().TrafficSums(window=window, follow=follow, buckets=buckets)
    found = FactTables()
    for batch in events:
        _list_others(found, batch, sums.add_events(batch), window)
        if len(sums) + found.held > _HELD:
            yield _passed_on(sums, found, redaction)
            found = FactTables()
    yield _passed_on(sums, found, redaction)


def _list_others(
    found: FactTables, batch: pa.RecordBatch, flags: bytes, window: int | None
) -> None:
    """Add the rows of a batch that are facts by themselves."""
    import numpy as np
    import pyarrow as pa

    if not flags:
        return
    told = np.frombuffer(flags, np.uint8)
    for bit, kind, columns in _LISTED:
        at = np.flatnonzero(told & bit)
        if not len(at):
            continue
        rows = batch.take(pa.array(at))
        table = {}
        for name in FACTS[kind]:
            if name == "window":
                table[name] = _period(rows.column("time"), window)
            elif name == "count":
                table[name] = pa.repeat(pa.scalar(1, pa.int64()), len(at))
            elif bit == _REFUSED_REPLY and name == "reason":
                table[name] = pa.repeat("publish", len(at))
            else:
                table[name] = rows.column(columns[name])
        found.add(kind, complete(kind, pa.table(table)))


def _passed_on(sums: Any, found: FactTables, redaction: Redaction | None) -> pa.RecordBatch:
    """Return the sums and the other facts of a task as rows, and begin again."""
    import pyarrow as pa
    import pyarrow.compute as pc

    *made, publish_starts, delivery_starts, planes = sums.take()
    publishes, deliveries = (pa.Table.from_struct_array(pa.array(each)) for each in made)
    counted = [name for name in ("published", "ambiguous") if name in publishes.column_names]
    totals = {name: pc.sum(publishes[name]).as_py() or 0 for name in counted}
    found.add_counts(totals)
    found.add("plane", pa.table({"subject": pa.array(planes, pa.string())}))
    if redaction is not None:
        found.add("publish", complete("publish", publishes))
        found.add("delivery", complete("delivery", deliveries))
        return found.redacted(redaction).rows()
    buckets = [
        (kind, bucket, table.slice(start, end - start))
        for kind, table, starts in (
            ("publish", publishes, publish_starts),
            ("delivery", deliveries, delivery_starts),
        )
        for bucket, (start, end) in enumerate(pairwise(starts))
        if end > start
    ]
    return found.rows(buckets)


class FactTables:
    """Facts of several kinds."""

    def __init__(self) -> None:
        self._parts: dict[str, list[pa.Table]] = {}
        self._sums: Any = None
        #: The number of facts that are held, without sums.
        self.held = 0

    def add(self, kind: str, facts: pa.Table) -> None:
        """Add facts of a kind."""
        if facts.num_rows:
            self._parts.setdefault(kind, []).append(facts)
            self.held += facts.num_rows

    def add_counts(self, counts: Mapping[str, int]) -> None:
        """Add lines that were counted."""
        import pyarrow as pa

        names = pa.array(list(counts), pa.string())
        self.add(
            "count", pa.table({"subject": names, "count": pa.array(counts.values(), pa.int64())})
        )

    def add_rows(
        self, rows: Iterable[pa.RecordBatch], buckets: tuple[int, int] = (FOR_DRIVER, BUCKETS)
    ) -> None:
        """Add the facts of rows of ``FACT_ROWS``; those of messages and deliveries are summed.

        Args:
            rows: The rows.
            buckets: The first of the buckets whose facts are added, and the one after the last.
        """
        for batch in rows:
            columns = (batch.column(name) for name in ("fact", "bucket", "data"))
            for kind, bucket, data in zip(*columns, strict=True):
                if buckets[0] <= bucket.as_py() < buckets[1]:
                    self.add_data(kind.as_py(), data.as_buffer())

    def add_data(self, kind: str, data: Any) -> None:
        """Add facts of a kind from the bytes of an Arrow stream."""
        import pyarrow as pa

        with pa.ipc.open_stream(data, options=pa.ipc.IpcReadOptions(use_threads=False)) as stream:
            if kind not in ("publish", "delivery"):
                self.add(kind, stream.read_all())
                return
            for batch in stream:
                self.sum_up(kind, batch)

    def sum_up(self, kind: str, batch: pa.RecordBatch) -> None:
        """Add messages or deliveries to the sums."""
        if self._sums is None:
            self._sums = native().TrafficSums(buckets=BUCKETS)
        if kind == "publish":
            self._sums.add_publishes(batch)
        else:
            self._sums.add_deliveries(batch)

    def sums(self) -> tuple[pa.Table, pa.Table]:
        """Return messages and deliveries, one row for each key."""
        import pyarrow as pa

        found = self._added()
        if found is None:
            return fact_schema("publish").empty_table(), fact_schema("delivery").empty_table()
        made = found.take()[:2]
        publishes, deliveries = (pa.Table.from_struct_array(pa.array(each)) for each in made)
        return complete("publish", publishes), complete("delivery", deliveries)

    def numbered(self) -> tuple[pa.Table, pa.Table, pa.RecordBatch, pa.RecordBatch] | None:
        """Return messages and deliveries with ``at`` in place of the subject; none without both.

        The other two are the distinct subjects and their addresses, as ``take_numbered`` returns
        them.
        """
        import pyarrow as pa

        found = self._added()
        if found is None:
            return None
        *made, subjects, addresses = map(pa.array, found.take_numbered())
        publishes, deliveries = map(pa.Table.from_struct_array, made)
        subjects, addresses = map(pa.RecordBatch.from_struct_array, (subjects, addresses))
        return (
            complete("publish", publishes, "at"),
            complete("delivery", deliveries, "at"),
            subjects,
            addresses,
        )

    def _added(self) -> Any:
        """Return the sums of all messages and deliveries; none if there are none."""
        for kind in ("publish", "delivery"):
            for part in self._parts.pop(kind, ()):
                for batch in part.to_batches():
                    self.sum_up(kind, batch)
        return self._sums

    def table(self, kind: str) -> pa.Table:
        """Return the facts of a kind that is listed; those that add up are added up."""
        import pyarrow as pa

        parts = self._parts.get(kind, ())
        table = pa.concat_tables([fact_schema(kind).empty_table(), *parts])
        if kind in _KEYS and table.num_rows:
            table = complete(kind, add_up(table, _KEYS[kind]))
        return table

    def counts(self) -> dict[str, int]:
        """Return the counts by name."""
        table = self.table("count")
        return dict(zip(table["subject"].to_pylist(), table["count"].to_pylist(), strict=True))

    def redacted(self, redaction: Redaction) -> FactTables:
        """Return the same facts with the slots of subjects replaced."""
        import pyarrow as pa

        found = FactTables()
        kinds = [kind for kind in self._parts if kind not in ("publish", "delivery")]
        tables = {kind: self.table(kind) for kind in kinds}
        tables["publish"], tables["delivery"] = self.sums()
        for kind, table in tables.items():
            rows = table.combine_chunks()
            if kind not in ("plane", "count", "range"):
                batches = rows.to_batches()
                redacted = [redaction.columns(b, ("subject", "reply", "text")) for b in batches]
                rows = pa.Table.from_batches(redacted, rows.schema)
            found.add(kind, rows)
        return found

    def rows(self, more: Sequence[tuple[str, int, pa.Table]] = ()) -> pa.RecordBatch:
        """Return all facts as rows of ``FACT_ROWS``; facts that are in a bucket may be added."""
        import pyarrow as pa

        publishes, deliveries = self.sums()
        parts: list[tuple[str, int, pa.Table]] = list(more)
        listed = {kind: self.table(kind) for kind in self._parts}
        for kind, table in ({"publish": publishes, "delivery": deliveries} | listed).items():
            parts += [(kind, bucket, rows) for bucket, rows in _bucketed(kind, table)]
        columns = {
            "fact": pa.array([kind for kind, _, _ in parts], pa.string()),
            "bucket": pa.array([bucket for _, bucket, _ in parts], pa.int32()),
            "rows": pa.array([table.num_rows for _, _, table in parts], pa.int64()),
            "data": pa.array([stream_bytes(table) for _, _, table in parts], pa.binary()),
        }
        return pa.record_batch(columns, schema=arrow_schema(FACT_ROWS))


def by_buckets(rows: Iterable[pa.RecordBatch]) -> Iterator[FactTables]:
    """Yield the facts of some buckets at a time, from rows of ``FACT_ROWS`` sorted by bucket.

    All facts of a bucket are together. Memory: about 300 bytes for each of 200,000 facts, or of
    those of one bucket.
    """
    current, found, held = None, FactTables(), 0
    for batch in rows:
        columns = (batch.column(name) for name in ("fact", "bucket", "rows", "data"))
        for kind, number, count, data in zip(*columns, strict=True):
            bucket = number.as_py()
            if bucket != current and held >= _TOGETHER:
                yield found
                found, held = FactTables(), 0
            current = bucket
            held += count.as_py()
            found.add_data(kind.as_py(), data.as_buffer())
    if current is not None:
        yield found


def count_facts(counts: Mapping[str, int]) -> pa.RecordBatch:
    """Return lines that were counted as rows of ``FACT_ROWS``."""
    found = FactTables()
    found.add_counts(counts)
    return found.rows()


def range_fact(server: str, start: int, end: int) -> pa.RecordBatch:
    """Return the fact that a range of a log was read."""
    import pyarrow as pa

    found = FactTables()
    found.add(
        "range",
        complete("range", pa.table({"server": [server], "position": [start], "size": [end]})),
    )
    return found.rows()


def stream_bytes(table: pa.Table) -> bytes:
    """Return a table as an Arrow stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def complete(kind: str, table: pa.Table, subject: str = "subject") -> pa.Table:
    """Return facts with the columns and types of their kind; a missing sum is 0.

    Args:
        kind: The kind of the facts.
        table: The facts.
        subject: The column of the subject; ``at`` holds numbers.
    """
    import pyarrow as pa

    schema = fact_schema(kind)
    if subject != "subject":
        numbered = pa.field(subject, pa.int32())
        schema = schema.set(schema.get_field_index("subject"), numbered)
    if table.column_names != schema.names:
        table = filled(table, schema.names, _SUMS)
    return table.cast(schema)


def _bucketed(kind: str, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Yield the facts of each bucket, and its number."""
    import numpy as np
    import pyarrow as pa

    if not table.num_rows:
        return
    if kind in _DRIVEN:
        yield FOR_DRIVER, table
        return
    column = table[_BUCKETED_BY.get(kind, "subject")]
    coded = column.combine_chunks().dictionary_encode()
    hashes = [zlib.crc32((text or "").encode()) % BUCKETS for text in coded.dictionary.to_pylist()]
    of_text = pa.array(hashes, pa.int32()).take(coded.indices)
    buckets = of_text.fill_null(0).to_numpy(zero_copy_only=False)
    order = np.argsort(buckets, kind="stable")
    sorted_rows = table.take(pa.array(order))
    numbers, starts = np.unique(buckets[order], return_index=True)
    for number, start, end in zip(numbers, starts, [*starts[1:], len(order)], strict=True):
        yield int(number), sorted_rows.slice(int(start), int(end - start))


def _period(times: pa.Array, window: int | None) -> pa.Array:
    """Return the start of the period of each time, or nulls."""
    import numpy as np
    import pyarrow as pa

    kind = arrow_type("timestamp")
    if window is None:
        return pa.nulls(len(times), kind)
    micros = times.cast(pa.int64())
    starts = micros.fill_null(0).to_numpy(zero_copy_only=False) // window * window
    return pa.array(starts, pa.int64(), mask=np.asarray(micros.is_null())).cast(kind)
