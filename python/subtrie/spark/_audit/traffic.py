"""From facts to the rows of the tables: the subscriptions first, then all subjects.

The driver gets the subscriptions, the planes and the counts, and sends an index of the patterns to
the workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._decode import plane_of_pattern
from .._schema import spark_schema
from .._sessions.shipped_files import send_file, worker_path
from .fact_rows import FOR_DRIVER
from .fact_tables import FactTables, by_buckets
from .pattern_index import Files, PatternIndex, index_files, open_files, subscription_blocks
from .subscriptions import subscriptions_of
from .tables import TABLE_ROWS, rows_of, sorted_rows, subscription_rows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: The categories of lines.
LINES = ("operations", "payloads", "server", "unparseable_lines")


@dataclass(frozen=True)
class Traffic:
    """The facts of the traffic that every task needs.

    Attributes:
        counts: The counts of lines, messages and windows.
        planes: The planes that are audited.
        shipped: The names of the files with the patterns, which were sent to the workers.
    """

    counts: dict[str, int]
    planes: tuple[str, ...]
    shipped: tuple[str, ...]

    @property
    def lines(self) -> int:
        """The number of lines."""
        return sum(self.counts.get(name, 0) for name in LINES)

    @property
    def unmatched(self) -> int:
        """The deliveries that no message took, if the events say what was taken."""
        counts = self.counts
        unmatched = counts.get("unmatched", 0)
        return unmatched + (counts["sent"] - counts["matched"] if counts.get("settled") else 0)

    def open_index(self) -> PatternIndex:
        """Return the index of the patterns; in a worker."""
        return open_files(*map(worker_path, self.shipped))


def traffic_of(facts: FactTables, planes: Sequence[str]) -> tuple[Traffic, Files]:
    """Return what every task needs, and the files of the index.

    Args:
        facts: The facts for the driver.
        planes: The planes to audit; none for those of the traffic.
    """
    import pyarrow.compute as pc

    subscriptions = subscriptions_of(facts.table("subscription"))
    found = set(facts.table("plane")["subject"].to_pylist())
    patterns = pc.unique(subscriptions["pattern"]).to_pylist()
    found |= {plane for plane in map(plane_of_pattern, patterns) if plane is not None}
    files = index_files(subscriptions)
    known = sorted(set(planes)) or sorted(found)
    return Traffic(facts.counts(), tuple(known), tuple(name for name, _ in files)), files


def facts_for_driver(facts: DataFrame) -> list[pa.RecordBatch]:
    """Run the job that makes all facts, and return those that the driver reads."""
    found: list[pa.RecordBatch] = facts.where(f"bucket = {FOR_DRIVER}").toArrow().to_batches()
    return found


def read_traffic(
    spark: SparkSession, for_driver: Iterable[pa.RecordBatch], planes: Sequence[str]
) -> Traffic:
    """Return what every task needs, and send the patterns to the workers.

    Args:
        spark: The session.
        for_driver: What ``facts_for_driver`` returned.
        planes: The planes to audit; none for those of the traffic.
    """
    found = FactTables()
    found.add_rows(for_driver)
    traffic, files = traffic_of(found, planes)
    for name, data in files:
        send_file(spark, name, data)
    return traffic


def partial_rows(
    spark: SparkSession, facts: DataFrame, traffic: Traffic, tasks: int | None
) -> DataFrame:
    """Return the partial rows of all tables, as ``TABLE_ROWS``.

    Args:
        spark: The session.
        facts: Rows of ``FACT_ROWS``.
        traffic: What ``read_traffic`` found.
        tasks: The number of tasks that share the subjects; None leaves it to Spark.
    """

    def of_subjects(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the rows of the subjects that came to this task, some buckets at a time."""
        for found in by_buckets(batches):
            yield from sorted_rows(rows_of(found, traffic.open_index(), traffic.planes))

    def of_subscriptions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the rows of the subscriptions."""
        for batch in batches:
            if batch.num_rows:
                for block in subscription_blocks(worker_path(traffic.shipped[2])):
                    yield from sorted_rows(subscription_rows(block))

    schema = spark_schema(TABLE_ROWS)
    others = facts.where(f"bucket > {FOR_DRIVER}")
    shared = others.repartition("bucket") if tasks is None else others.repartition(tasks, "bucket")
    about_subjects = shared.sortWithinPartitions("bucket").mapInArrow(of_subjects, schema)
    return about_subjects.union(spark.range(0, 1, 1, 1).mapInArrow(of_subscriptions, schema))
