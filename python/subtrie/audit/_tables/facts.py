"""Facts: what the tables need of the events, summed where the events are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from .._readers.log_reader import native
from .._schema import arrow_type
from .fact_kinds import FACTS, HOP, KEYS, complete
from .fact_rows import BUCKETS
from .fact_tables import FactTables

if TYPE_CHECKING:
    import pyarrow as pa

    from .._slot_redaction import Redaction

#: The distinct keys and subjects that a task holds before it passes them on: about 110 bytes each.
#: More of them are added up before they are moved.
_HELD = 600_000
#: The facts that are not sums, such as subscriptions, that a task holds: about 500 bytes each.
_LISTED_HELD = 100_000

#: The columns of events that facts are made of.
EVENT_COLUMNS = (
    *("server", "file", "offset", "time", "conn", "identity", "identity_source", "user", "client"),
    *("direction", "op", "subject"),
    *("reply", "queue", "sid", "size", "deliveries", "refused", "forwarded", "ambiguous"),
    *("subscription", "position", "reason", "_corrupt_record"),
)

_REFUSAL = {name: name for name in KEYS["refused"]} | {
    "reason": "refused",
    "first": "time",
    "last": "time",
}
_SPAN = {"first": "time", "last": "time"}
_SLOW = {name: name for name in KEYS["slow"]} | _SPAN
_CLAIM = {name: name for name in KEYS["claim"]} | _SPAN
#: What a connection is remarked for, by the operation of the row.
_REMARKS = {"slow": "SLOW", "claim": "CLAIM"}
_ABOUT_CONNECTION = 128
# What TrafficSums.add_events says of a row, and the facts it becomes: the columns of the event.
_LISTED = (
    (1, "undelivered", {"server": "server", "subject": "subject", "position": "position"}),
    (2, "hop", {name: name for name in HOP} | {"taken": "deliveries"}),
    (4, "arrival", {name: name for name in HOP} | {"taken": "deliveries"}),
    (8, "subscription", {name: name for name in FACTS["subscription"]} | {"reason": "direction"}),
    (16, "refused", _REFUSAL),
    (32, "refused", _REFUSAL),
    (_ABOUT_CONNECTION, "slow", _SLOW),
    (_ABOUT_CONNECTION, "claim", _CLAIM),
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


class PartFacts(NamedTuple):
    """Facts of a part of the events.

    Attributes:
        tables: The facts.
        buckets: Messages and deliveries that ``tables`` has not, by kind and bucket.
    """

    tables: FactTables
    buckets: Sequence[tuple[str, int, pa.Table]] = ()

    def rows(self) -> pa.RecordBatch:
        """Return the facts as rows of ``FACT_ROWS``, for another process."""
        return self.tables.rows(self.buckets)

    def add_to(self, facts: FactTables) -> None:
        """Add the facts to others of this process."""
        facts.add_tables(self.tables)
        for kind, _, table in self.buckets:
            for batch in table.to_batches():
                facts.sum_up(kind, batch)


def facts_of(
    events: Iterable[pa.RecordBatch],
    *,
    window: int | None = None,
    follow: bool = False,
    redaction: Redaction | None = None,
) -> Iterator[PartFacts]:
    """Yield the facts of events.

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
        list_others(found, batch, sums.add_events(batch), window)
        if len(sums) + found.held > _HELD:
            yield _passed_on(sums, found, redaction)
            found = FactTables()
        elif found.held > _LISTED_HELD:
            yield PartFacts(found if redaction is None else found.redacted(redaction))
            found = FactTables()
    yield _passed_on(sums, found, redaction)


def list_others(found: FactTables, batch: pa.RecordBatch, flags: bytes, window: int | None) -> None:
    """Add the rows of a batch that are facts by themselves."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if not flags:
        return
    told = np.frombuffer(flags, np.uint8)
    for bit, kind, columns in _LISTED:
        at = np.flatnonzero(told & bit)
        if not len(at):
            continue
        rows = batch.take(pa.array(at))
        if bit == _ABOUT_CONNECTION:
            rows = rows.filter(pc.equal(rows.column("op"), _REMARKS[kind]))
            if not rows.num_rows:
                continue
        table = {}
        for name in FACTS[kind]:
            if name == "window":
                table[name] = _period(rows.column("time"), window)
            elif name == "count":
                table[name] = pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)
            elif bit == _REFUSED_REPLY and name == "reason":
                table[name] = pa.repeat("publish", rows.num_rows)
            else:
                table[name] = rows.column(columns[name])
        found.add(kind, complete(kind, pa.table(table)))


def _passed_on(sums: Any, found: FactTables, redaction: Redaction | None) -> PartFacts:
    """Return the sums and the other facts of a task, and begin again."""
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
        return PartFacts(found.redacted(redaction))
    buckets = [
        (kind, bucket, table.slice(start, end - start))
        for kind, table, starts in (
            ("publish", publishes, publish_starts),
            ("delivery", deliveries, delivery_starts),
        )
        for bucket, (start, end) in enumerate(pairwise(starts))
        if end > start
    ]
    return PartFacts(found, buckets)


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
