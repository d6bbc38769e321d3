"""The rows of a table of messages alone, made in the tasks that read it.

Messages without subscriptions and deliveries need no match and no settling, and every plane of an
address is a plane of the traffic. So each task makes partial rows of the tables, and no partials
with single subjects are moved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..audit._partial.events import EVENT_COLUMNS, Reading, list_others
from ..audit._partial.kinds import PARTIAL_ROWS
from ..audit._partial.partial import Partial, take_numbered
from ..audit._schema import arrow_schema
from ..audit._tables.bucket import Subjects, sums_by_subject
from ..audit._tables.by_subject import HOTTEST, NAMED, hot_rows, most_published, outside_rows
from ..audit._tables.context import subscriptions_of
from ..audit._tables.edges import edge_rows
from ..audit._tables.pattern_index import PatternIndex, index_files, open_index
from ..audit._tables.rows import Rows, rows
from ..audit._tables.traffic import identity_rows, sorted_rows, unparseable_rows
from ._columns import spark_schema
from ._table_of_messages import narrowed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: The distinct keys and subjects that a task holds before it makes rows of them: about 1 KB each.
_HELD = 400_000
#: The bucket of rows that are made.
_MADE = 0


@dataclass(frozen=True)
class MessageRows:
    """The rows and the head of a table of messages.

    Attributes:
        head: The head, as ``PARTIAL_ROWS``.
        rows: The rows of the tables, as ``TABLE_ROWS``.
        hottest: Counts the subjects, for ``hot_subjects``; takes the number of messages.
    """

    head: DataFrame
    rows: DataFrame
    hottest: Callable[[int], pa.Table]


def message_rows(
    events: DataFrame, planes: Sequence[str], window: int | None, cached: list[DataFrame]
) -> MessageRows:
    """Return what a table of messages alone becomes.

    Args:
        events: The table, for which ``only_published`` is true.
        planes: The planes to audit; none for those of the traffic.
        window: The length of a period, in seconds.
        cached: Receives what is kept by the executors.
    """
    micros = None if window is None else window * 1_000_000
    given, whole = narrowed(events, EVENT_COLUMNS)
    maker = _RowMaker(tuple(planes), micros)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make rows of the batches of a task."""
        yield from maker.rows(map(whole, batches))

    made = given.mapInArrow(read, spark_schema((*PARTIAL_ROWS, ("key", "string")))).persist()
    cached.append(made)
    rows = made.where(f"bucket = {_MADE}").selectExpr("kind AS `table`", "key", "data")
    names = [name for name in ("subject", "size") if name in given.columns]
    counted = given.select(*names)
    return MessageRows(made, rows, lambda published: hottest_counted(counted, published))


@dataclass(frozen=True)
class _RowMaker:
    """Makes the rows of the events of a task."""

    planes: tuple[str, ...]
    #: The length of a period in microseconds.
    window: int | None
    held: int = field(default_factory=lambda: _HELD)
    named: int = field(default_factory=lambda: NAMED)

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows of the tables, and the head."""
        sums = Reading(window=self.window).sums(buckets=1)
        found, count, missing = Partial(), 0, 0
        for batch in batches:
            count += batch.num_rows
            missing += batch.column("subject").null_count
            list_others(found, batch, sums.add_events(batch), self.window)
            if len(sums) + found.held > self.held:
                yield from self._passed_on(sums, found, {})
                found = Partial()
        counts = {"operations": count - missing, "unparseable_lines": missing,
                  "unsettled": count - missing}  # fmt: skip
        yield from self._passed_on(sums, found, counts)

    def _passed_on(
        self, sums: Any, found: Partial, counts: Mapping[str, int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the sums and the other rows as rows of tables, and begin again."""
        import pyarrow as pa
        import pyarrow.compute as pc

        made = [unparseable_rows(found.table("unparseable"))]
        told = Partial()
        if len(sums):
            publishes, deliveries, subjects, addresses = take_numbered(sums)
            seen = pc.unique(addresses.column("plane").drop_null())
            known = Subjects(subjects, addresses, _no_patterns(), self.planes or seen.to_pylist())
            told.add_list("plane", pa.table({"subject": seen}))
            made += edge_rows(publishes, deliveries, known)
            made += identity_rows(publishes, known)
            by_subject, unnamed = _by_subject(publishes, known, self.named)
            made += by_subject
            totals = {name: pc.sum(publishes[name]).as_py() for name in ("published", "ambiguous")}
            told.add_counts(totals | {"unnamed": unnamed})
        size = 0
        for batch in sorted_rows(made):
            size += batch.nbytes
            count = pa.repeat(pa.scalar(0, pa.int64()), batch.num_rows)
            bucket = pa.repeat(pa.scalar(_MADE, pa.int32()), batch.num_rows)
            table, key, data = batch.columns
            yield pa.record_batch([table, bucket, count, data, key], schema=_schema())
        told.add_counts({**counts, "made": size})
        head = told.to_rows()
        keys = pa.nulls(head.num_rows, pa.string())
        yield pa.record_batch([*head.columns, keys], schema=_schema())


def _by_subject(publishes: pa.Table, subjects: Subjects, named: int) -> tuple[list[Rows], int]:
    """Return partial rows by subject, and how many messages one has at most that is not named."""
    import pyarrow as pa

    summed = sums_by_subject(publishes)
    hot, unnamed = most_published(summed, subjects, named)
    name, table = rows("hot_subjects", hot, ("subject",))
    told = pa.repeat(pa.scalar(unnamed, pa.int64()), table.num_rows)
    return [(name, table.append_column("unnamed", told)), outside_rows(summed, subjects)], unnamed


@functools.cache
def _no_patterns() -> PatternIndex:
    files, _ = index_files(subscriptions_of(Partial().table("subscription")))
    return open_index([name for name, _ in files], dict(files).__getitem__)


def _schema() -> pa.Schema:
    return arrow_schema((*PARTIAL_ROWS, ("key", "string")))


def hottest_counted(messages: DataFrame, published: int) -> pa.Table:
    """Return the rows of ``hot_subjects`` by counting each subject, in a job of its own.

    Args:
        messages: The column ``subject``, and ``size`` if there is one. Rows without a subject are
            not counted.
        published: The number of messages.
    """
    from pyspark.sql import functions as F

    size = F.col("size") if "size" in messages.columns else F.lit(0)
    found = (
        messages.where("subject IS NOT NULL")
        .groupBy(F.make_valid_utf8("subject").alias("subject"))
        .agg(F.count("*").alias("published"), F.coalesce(F.sum(size), F.lit(0)).alias("bytes"))
        .orderBy(F.desc("published"), "subject")
        .limit(HOTTEST)
    )
    return hot_rows([row.asDict() for row in found.collect()], published)
