"""Facts of several kinds in one process, added up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._readers.log_reader import native
from .fact_kinds import KEYS, complete, fact_schema
from .fact_rows import BUCKETS, FOR_DRIVER, batches_of, fact_rows, in_buckets, rows_in
from .rows import add_up

if TYPE_CHECKING:
    import pyarrow as pa

    from .._slot_redaction import Redaction

#: Messages, deliveries, distinct subjects, and their addresses.
Numbered = tuple["pa.Table", "pa.Table", "pa.RecordBatch", "pa.RecordBatch"]

#: The facts of several buckets that are added up together: about 1 KB each, as they become rows.
#: More of them need fewer calls.
_TOGETHER = 100_000


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
        for kind, bucket, _, data in rows_in(rows):
            if buckets[0] <= bucket < buckets[1]:
                self.add_data(kind, data)

    def add_tables(self, other: FactTables) -> None:
        """Add other facts, whose messages and deliveries are not summed."""
        for kind, parts in other._parts.items():
            for part in parts:
                if kind not in ("publish", "delivery"):
                    self.add(kind, part)
                    continue
                for batch in part.to_batches():
                    self.sum_up(kind, batch)

    def add_data(self, kind: str, data: Any) -> None:
        """Add facts of a kind from the bytes of an Arrow stream."""
        with batches_of(data) as stream:
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

    def numbered(self) -> Numbered | None:
        """Return all messages and deliveries by the number of their subject; none without both."""
        found = self._added()
        return None if found is None else take_numbered(found)

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
        if kind in KEYS and table.num_rows:
            table = complete(kind, add_up(table, KEYS[kind]))
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
        publishes, deliveries = self.sums()
        listed = {kind: self.table(kind) for kind in self._parts}
        parts: list[tuple[str, int, pa.Table]] = list(more)
        for kind, table in ({"publish": publishes, "delivery": deliveries} | listed).items():
            parts += [(kind, bucket, rows) for bucket, rows in in_buckets(kind, table)]
        return fact_rows(parts)


def take_numbered(sums: Any) -> Numbered:
    """Take the sums, with ``at`` in place of the subject, the distinct subjects and addresses."""
    import pyarrow as pa

    *made, subjects, addresses = map(pa.array, sums.take_numbered())
    publishes, deliveries = map(pa.Table.from_struct_array, made)
    subjects, addresses = map(pa.RecordBatch.from_struct_array, (subjects, addresses))
    return (
        complete("publish", publishes, "at"),
        complete("delivery", deliveries, "at"),
        subjects,
        addresses,
    )


def by_buckets(rows: Iterable[pa.RecordBatch]) -> Iterator[FactTables]:
    """Yield the facts of some buckets at a time, from rows of ``FACT_ROWS`` sorted by bucket.

    All facts of a bucket are together. Memory: that of 100,000 facts, or of those of one bucket.
    """
    current, found, held = None, FactTables(), 0
    for kind, bucket, count, data in rows_in(rows):
        if bucket != current and held >= _TOGETHER:
            yield found
            found, held = FactTables(), 0
        current = bucket
        held += count
        found.add_data(kind, data)
    if current is not None:
        yield found


def count_facts(counts: Mapping[str, int]) -> FactTables:
    """Return lines that were counted, as facts."""
    found = FactTables()
    found.add_counts(counts)
    return found


def range_fact(server: str, start: int, end: int) -> pa.RecordBatch:
    """Return the fact that a range of a log was read."""
    import pyarrow as pa

    found = FactTables()
    found.add(
        "range",
        complete("range", pa.table({"server": [server], "position": [start], "size": [end]})),
    )
    return found.rows()
