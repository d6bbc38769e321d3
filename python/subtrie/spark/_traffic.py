"""From facts to the rows of the tables: the subscriptions first, then all subjects.

The driver gets the subscriptions, the planes and the counts, and sends an index of the patterns to
the workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._decode import plane_of_pattern
from ._facts import FACTS
from ._pattern_index import PatternIndex, index_files, open_files
from ._schema import arrow_schema, spark_schema
from ._shipped_files import send_file, worker_path
from ._subscriptions import subscriptions_of
from ._tables import ROWS, rows_of, subscription_rows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: The kinds of facts that the driver needs.
_FOR_DRIVER = ("subscription", "plane", "count")


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
    def unmatched(self) -> int:
        """The deliveries that no message took, if the events say what was taken."""
        counts = self.counts
        unmatched = counts.get("unmatched", 0)
        return unmatched + (counts["sent"] - counts["matched"] if counts.get("settled") else 0)

    def open_index(self) -> PatternIndex:
        """Return the index of the patterns; in a worker."""
        image, table = map(worker_path, self.shipped)
        return open_files(image, table)


def read_traffic(spark: SparkSession, facts: DataFrame, planes: Sequence[str]) -> Traffic:
    """Run the job that reads all facts, and send the patterns to the workers.

    Args:
        spark: The session.
        facts: All facts.
        planes: The planes to audit; none for those of the traffic.
    """
    import pyarrow.compute as pc
    from pyspark.sql import functions as F

    small = facts.where(F.col("fact").isin(*_FOR_DRIVER)).toArrow()
    subscriptions = subscriptions_of(small.filter(pc.equal(small["fact"], "subscription")))
    counted = small.filter(pc.equal(small["fact"], "count"))
    counts: dict[str, int] = {}
    for name, count in zip(
        counted["subject"].to_pylist(), counted["count"].to_pylist(), strict=True
    ):
        counts[name] = counts.get(name, 0) + count
    found = set(small.filter(pc.equal(small["fact"], "plane"))["subject"].to_pylist())
    patterns = pc.unique(subscriptions["pattern"]).to_pylist()
    found |= {plane for plane in map(plane_of_pattern, patterns) if plane is not None}
    files = index_files(subscriptions)
    for name, data in files:
        send_file(spark, name, data)
    known = sorted(set(planes)) or sorted(found)
    return Traffic(counts, tuple(known), tuple(name for name, _ in files))


def partial_rows(
    spark: SparkSession, facts: DataFrame, traffic: Traffic, tasks: int | None
) -> DataFrame:
    """Return the partial rows of all tables.

    Args:
        spark: The session.
        facts: All facts.
        traffic: What ``read_traffic`` found.
        tasks: The number of tasks that share the subjects; None leaves it to Spark.
    """
    from pyspark.sql import functions as F

    def of_subjects(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the rows of the subjects that came to this task."""
        import pyarrow as pa

        table = pa.Table.from_batches(list(batches), arrow_schema(FACTS))
        yield from rows_of(table, traffic.open_index(), traffic.planes).to_batches()

    def of_subscriptions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the rows of the subscriptions."""
        for batch in batches:
            if batch.num_rows:
                yield from subscription_rows(traffic.open_index()).to_batches()

    schema = spark_schema(ROWS)
    others = facts.where(~F.col("fact").isin(*_FOR_DRIVER))
    shared = others.repartition("key") if tasks is None else others.repartition(tasks, "key")
    about_subjects = shared.mapInArrow(of_subjects, schema)
    return about_subjects.unionByName(spark.range(0, 1, 1, 1).mapInArrow(of_subscriptions, schema))
