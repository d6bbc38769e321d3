"""A partial: what the tables need of some events. Partials of several parts add up to one.

``part → Partial``, ``Partial + Partial → Partial``: any division of the events and any order of
adding gives the same rows. The head (subscriptions, planes, counts) is needed whole; all else
divides into buckets of subjects, from which the rows of the tables are made one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .._readers.log_reader import native
from .kinds import (
    BUCKETS,
    KINDS,
    SUMMED,
    Piece,
    add_up,
    batches_of,
    bucket_rows,
    complete,
    in_buckets,
    kind_schema,
    rows_in,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from .._slot_redaction import Redaction

#: Messages, deliveries, distinct subjects, and their addresses.
Numbered = tuple["pa.Table", "pa.Table", "pa.RecordBatch", "pa.RecordBatch"]
#: Messages or deliveries that a task has summed: their kind, the starts of their buckets, the rows.
Taken = tuple[str, list[int], "pa.Table"]
#: The bytes of memory that a distinct key or subject of the sums needs, and any other row.
SUM_BYTES, ROW_BYTES = 110, 500
#: The rows of several buckets that are added up together: about 1 KB each, as they become rows of
#: tables. More of them need fewer calls.
TOGETHER = 100_000


class Partial:
    """The sums and rows of some events, of which the tables are made."""

    def __init__(self) -> None:
        self._listed: dict[str, list[pa.Table]] = {}
        #: Messages and deliveries that are not added to the sums, and the starts of their buckets.
        self._taken: list[Taken] = []
        self._sums: Any = None
        #: The number of rows without the sums.
        self.held = 0

    @classmethod
    def of_rows(cls, rows: Iterable[pa.RecordBatch]) -> Partial:
        """Return the partial of ``PARTIAL_ROWS``."""
        self = cls()
        for kind, _, _, data in rows_in(rows):
            self.add_bytes(kind, data)
        return self

    @property
    def summed(self) -> int:
        """The number of distinct keys and subjects of the sums."""
        return 0 if self._sums is None else len(self._sums)

    @property
    def nbytes(self) -> int:
        """About how many bytes of memory are held."""
        return SUM_BYTES * self.summed + ROW_BYTES * self.held

    # To add

    def add(self, other: Partial) -> None:
        """Add what another partial has."""
        for kind, parts in other._listed.items():
            for part in parts:
                self.add_list(kind, part)
        for kind, _, table in other._take_summed():
            self._sum(kind, table)

    def take_sums(self, sums: Any) -> None:
        """Add the sums of a task, which begin again."""
        import pyarrow as pa
        import pyarrow.compute as pc

        taken, planes = _taken_of(sums)
        publishes = taken[0][2]
        counted = [name for name in ("published", "ambiguous") if name in publishes.column_names]
        self.add_counts({name: pc.sum(publishes[name]).as_py() or 0 for name in counted})
        self.add_list("plane", pa.table({"subject": pa.array(planes, pa.string())}))
        self._taken += taken

    def add_list(self, kind: str, rows: pa.Table) -> None:
        """Add rows of a kind that is not summed natively."""
        if rows.num_rows:
            self._listed.setdefault(kind, []).append(rows)
            self.held += rows.num_rows

    def _add_rows(self, kind: str, rows: pa.Table) -> None:
        """Add rows of a kind."""
        if kind in SUMMED:
            self._sum(kind, rows)
        else:
            self.add_list(kind, rows)

    def _add_taken(self, taken: Iterable[Taken], others: Iterable[tuple[str, pa.Table]]) -> None:
        """Add what ``_take_summed`` and ``_take_others`` returned, without adding it up again."""
        self._taken += taken
        for kind, rows in others:
            self.add_list(kind, rows)

    def add_counts(self, counts: Mapping[str, int]) -> None:
        """Add lines that were counted."""
        import pyarrow as pa

        names = pa.array(list(counts), pa.string())
        self.add_list(
            "count", pa.table({"subject": names, "count": pa.array(counts.values(), pa.int64())})
        )

    def add_publishes(self, rows: pa.Table) -> None:
        """Add messages."""
        for batch in rows.to_batches():
            self._native().add_publishes(batch)

    def add_bytes(self, kind: str, data: Any) -> None:
        """Add rows of a kind from the bytes of an Arrow stream."""
        with batches_of(data) as stream:
            if kind not in SUMMED:
                self.add_list(kind, stream.read_all())
                return
            for batch in stream:
                self._add_summed(kind, batch)

    def _add_summed(self, kind: str, batch: pa.RecordBatch) -> None:
        sums = self._native()
        if kind == "publish":
            sums.add_publishes(batch)
        else:
            sums.add_deliveries(batch)

    def _native(self) -> Any:
        if self._sums is None:
            self._sums = native().TrafficSums(buckets=BUCKETS)
        return self._sums

    def _sum(self, kind: str, table: pa.Table) -> None:
        """Add messages or deliveries to the sums."""
        for batch in table.to_batches():
            self._add_summed(kind, batch)

    # What is in it

    def numbered(self) -> Numbered | None:
        """Take messages and deliveries by the number of their subject; none without both."""
        taken, self._taken = self._taken, []
        for kind, _, table in taken:
            self._sum(kind, table)
        return None if self._sums is None else numbered_tables(self._sums.take_numbered())

    def table(self, kind: str) -> pa.Table:
        """Return the rows of a kind that is not summed natively; those with equal keys added up."""
        import pyarrow as pa

        parts = self._listed.get(kind, ())
        table = pa.concat_tables([kind_schema(kind).empty_table(), *parts])
        keys = KINDS[kind].keys
        if keys and table.num_rows:
            table = complete(kind, add_up(table, keys))
        return table

    def take_table(self, kind: str) -> pa.Table:
        """Return the rows of a kind as ``table`` does, and forget them."""
        table = self.table(kind)
        self.held -= sum(rows.num_rows for rows in self._listed.pop(kind, ()))
        return table

    def counts(self) -> dict[str, int]:
        """Return the counts by name."""
        table = self.table("count")
        return dict(zip(table["subject"].to_pylist(), table["count"].to_pylist(), strict=True))

    def head(self) -> Partial:
        """Take what is needed whole: subscriptions, planes, counts and ranges."""
        found = Partial()
        for kind in [kind for kind in self._listed if KINDS[kind].bucketed_by is None]:
            for rows in self._listed.pop(kind):
                self.held -= rows.num_rows
                found.add_list(kind, rows)
        return found

    def redacted(self, redaction: Redaction) -> Partial:
        """Return the same rows with the slots of subjects replaced."""
        import pyarrow as pa

        found = Partial()
        for kind, table in [*((kind, table) for kind, _, table in self._take_summed()),
                            *self._take_others()]:  # fmt: skip
            rows = table.combine_chunks()
            if kind not in ("plane", "count", "range"):
                batches = [
                    redaction.columns(batch, ("subject", "reply", "sid", "text"))
                    for batch in rows.to_batches()
                ]
                rows = pa.Table.from_batches(batches, rows.schema)
            found._add_rows(kind, rows)
        return found

    def _take_summed(self) -> Iterator[Taken]:
        """Take messages and deliveries."""
        taken, self._taken = self._taken, []
        yield from taken
        if self._sums is not None:
            yield from _taken_of(self._sums)[0]

    def _take_others(self) -> Iterator[tuple[str, pa.Table]]:
        """Take the rows that are not summed natively."""
        for kind in self._listed:
            yield kind, self.table(kind)
        self._listed, self.held = {}, 0

    def to_rows(self) -> pa.RecordBatch:
        """Take all rows, as ``PARTIAL_ROWS``."""
        pieces: list[Piece] = []
        for kind, starts, table in self._take_summed():
            pieces += [
                (kind, bucket, table.slice(start, end - start))
                for bucket, (start, end) in enumerate(pairwise(starts))
                if end > start
            ]
        for kind, table in self._take_others():
            pieces += in_buckets(kind, table)
        return bucket_rows(pieces)


def _taken_of(sums: Any) -> tuple[list[Taken], list[str]]:
    """Take messages and deliveries, sorted by bucket, and the planes of their subjects."""
    import pyarrow as pa

    *made, publish_starts, delivery_starts, planes = sums.take()
    publishes, deliveries = (pa.Table.from_struct_array(pa.array(each)) for each in made)
    taken: list[Taken] = [
        ("publish", publish_starts, publishes),
        ("delivery", delivery_starts, deliveries),
    ]
    return taken, planes


def numbered_tables(taken: Iterable[Any]) -> Numbered:
    """Return sums with ``at`` in place of the subject, the distinct subjects and addresses."""
    import pyarrow as pa

    *made, subjects, addresses = map(pa.array, taken)
    publishes, deliveries = map(pa.Table.from_struct_array, made)
    subjects, addresses = map(pa.RecordBatch.from_struct_array, (subjects, addresses))
    return (
        complete("publish", publishes, "at"),
        complete("delivery", deliveries, "at"),
        subjects,
        addresses,
    )


def by_buckets(
    rows: Iterable[tuple[str, int, int, Any]], together: int = TOGETHER
) -> Iterator[Partial]:
    """Yield the partials of some buckets at a time.

    Memory: that of ``together`` rows, or of those of one bucket.

    Args:
        rows: Kind, bucket, number and bytes of rows, those of one bucket after each other.
        together: The number of rows from which on no further bucket is added.
    """
    current, found, held = None, Partial(), 0
    for kind, bucket, count, data in rows:
        if bucket != current and held >= together:
            yield found
            found, held = Partial(), 0
        current = bucket
        held += count
        found.add_bytes(kind, data)
    if current is not None:
        yield found
