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

from ..audit._partial.kinds import PARTIAL_ROWS, batches_of
from ..audit._partial.partial import Partial, numbered_tables
from ..audit._partial.parts import EVENT_COLUMNS, Reading, list_others
from ..audit._schema import TABLE_KEYS, Rows, arrow_schema, rows
from ..audit._tables.bucket import Subjects, by_account, sums_by_subject
from ..audit._tables.by_subject import (
    HOTTEST,
    NAMED,
    hot_rows,
    names_of_most,
    outside_rows,
)
from ..audit._tables.context import subscriptions_of
from ..audit._tables.pattern_index import PatternIndex, index_files, open_index
from ..audit._tables.traffic import edge_rows, identity_rows, sorted_rows, unparseable_rows
from ._columns import spark_schema
from ._table_of_messages import narrowed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: The distinct keys and subjects that a task holds before it makes rows of them: about 100 bytes
#: each.
_HELD = 1_000_000
#: The groups of subjects: the sums of one stay in the cache of the processor while it is added to.
_GROUPS = 64
#: The bucket of rows that are made.
_MADE = 0


@dataclass(frozen=True)
class MessageRows:
    """The rows and the head of a table of messages.

    Attributes:
        head: The head, as ``PARTIAL_ROWS``.
        rows: The rows of the tables, as ``TABLE_ROWS``.
        hottest: Counts subjects, for ``hot_subjects``; takes the number of messages, and the
            subjects as an Arrow stream, None for all.
    """

    head: DataFrame
    rows: DataFrame
    hottest: Callable[[int, bytes | None], pa.Table]


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
    given, constants, whole = narrowed(events, EVENT_COLUMNS)
    maker = _RowMaker(tuple(planes), micros, constants, whole)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make rows of the batches of a task."""
        yield from maker.rows(batches)

    made = given.mapInArrow(read, spark_schema((*PARTIAL_ROWS, ("key", "string")))).persist()
    cached.append(made)
    rows = made.where(f"bucket = {_MADE}").selectExpr("kind AS `table`", "key", "data")
    names = [name for name in ("subject", "account", "size") if name in given.columns]
    counted = given.select(*names)
    return MessageRows(made, rows, functools.partial(hottest_counted, counted))


@dataclass(frozen=True)
class _RowMaker:
    """Makes the rows of the events of a task."""

    planes: tuple[str, ...]
    #: The length of a period in microseconds.
    window: int | None
    #: The columns with one text in all rows, and what adds the columns that Spark does not give.
    constants: Mapping[str, str]
    whole: Callable[[pa.RecordBatch], pa.RecordBatch]
    held: int = field(default_factory=lambda: _HELD)
    named: int = field(default_factory=lambda: NAMED)

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows of the tables, and the head."""
        sums, hot = Reading(window=self.window).sums(buckets=_GROUPS), _Hot(self.named)
        found, count, missing = Partial(), 0, 0
        for batch in batches:
            lost = batch.column("subject").null_count
            count, missing = count + batch.num_rows, missing + lost
            if lost:
                all_of = self.whole(batch)
                list_others(found, all_of, sums.add_events(all_of), self.window)
            else:
                sums.add_events(batch, self.constants)
            if len(sums) + found.held > self.held:
                yield from self._passed_on(sums, found, hot, {})
                found = Partial()
        counts = {"operations": count - missing, "unparseable_lines": missing,
                  "unsettled": count - missing}  # fmt: skip
        yield from self._passed_on(sums, found, hot, counts)

    def _passed_on(
        self, sums: Any, found: Partial, hot: _Hot, counts: Mapping[str, int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the sums and the other rows as rows of tables, and begin again."""
        import pyarrow as pa
        import pyarrow.compute as pc

        made = [unparseable_rows(found.table("unparseable"))]
        told = Partial()
        if len(sums):
            taken, most, unnamed = sums.take_by_address(list(self.planes), self.named, hot.before)
            publishes, deliveries, subjects, addresses = by_account(*numbered_tables(taken))
            seen = pc.unique(addresses.column("plane").drop_null())
            known = Subjects(subjects, addresses, _no_patterns(), self.planes or seen.to_pylist())
            told.add_list("plane", pa.table({"subject": seen}))
            made += edge_rows(publishes, deliveries, known)
            made += identity_rows(publishes, known)
            made += [hot.rows(pa.Table.from_struct_array(pa.array(most)), unnamed)]
            made += [outside_rows(sums_by_subject(publishes), known)]
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


class _Hot:
    """The subjects of a task with the most messages, part by part.

    A part also names those that have the most in the parts before it: what a task counts of the
    hottest subjects is then complete, unless one becomes hot late.

    Args:
        most: The number of subjects that are named.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._before: pa.Table | None = None

    @property
    def before(self) -> list[str]:
        """The subjects that have the most messages in the parts before."""
        return [] if self._before is None else self._before["subject"].to_pylist()

    def rows(self, found: pa.Table, unnamed: int) -> Rows:
        """Return the rows of a part.

        Args:
            found: Its subjects with the most messages, and those in ``before``.
            unnamed: How many messages a subject has at most that is not among them.
        """
        import pyarrow as pa

        before = self._before
        nobody = pa.nulls(found.num_rows, pa.string())  # messages alone tell no account
        found = found.append_column("account", nobody)
        self._before = names_of_most([found, *(() if before is None else (before,))], self._most)
        name, table = rows("hot_subjects", found, TABLE_KEYS["hot_subjects"])
        told = pa.repeat(pa.scalar(unnamed, pa.int64()), table.num_rows)
        return name, table.append_column("unnamed", told)


@functools.cache
def _no_patterns() -> PatternIndex:
    files, _ = index_files(subscriptions_of(Partial().table("subscription")))
    return open_index([name for name, _ in files], dict(files).__getitem__)


def _schema() -> pa.Schema:
    return arrow_schema((*PARTIAL_ROWS, ("key", "string")))


def hottest_counted(messages: DataFrame, published: int, candidates: bytes | None) -> pa.Table:
    """Return the rows of ``hot_subjects`` by counting subjects, in a job of its own.

    Args:
        messages: The column ``subject``, and ``account`` and ``size`` if there are such. Rows
            without a subject are not counted.
        published: The number of messages.
        candidates: The subjects to count, as an Arrow stream; None for all.
    """
    from pyspark.sql import functions as F

    size = F.col("size") if "size" in messages.columns else F.lit(0)
    account = F.col("account") if "account" in messages.columns else F.lit(None).cast("string")
    counted = messages.where("subject IS NOT NULL").withColumns(
        {"subject": F.make_valid_utf8("subject"), "account": account}
    )
    if candidates is not None:
        with batches_of(candidates) as batches:
            named = messages.sparkSession.createDataFrame(batches.read_all())
        same = [counted[name].eqNullSafe(named[name]) for name in ("subject", "account")]
        counted = counted.join(F.broadcast(named), same[0] & same[1], "left_semi")
    found = (
        counted.groupBy("subject", "account")
        .agg(F.count("*").alias("published"), F.coalesce(F.sum(size), F.lit(0)).alias("bytes"))
        .orderBy(F.desc("published"), "subject", "account")
        .limit(HOTTEST)
    )
    return hot_rows([row.asDict() for row in found.collect()], published)
