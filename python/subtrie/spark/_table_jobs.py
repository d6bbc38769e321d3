"""The jobs of Spark that make and write the tables of a run, from facts.

The driver gets the subscriptions, the planes and the counts, and sends an index of the patterns to
the workers; then the tasks make the rows of all subjects, and write the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..audit._runs.run_folder import RunFolder, table_bytes
from ..audit._tables.fact_rows import FOR_DRIVER
from ..audit._tables.fact_tables import FactTables, by_buckets
from ..audit._tables.hottest import HOT
from ..audit._tables.pattern_index import PatternIndex, open_files, subscription_blocks
from ..audit._tables.table_writer import WRITTEN, Task, all_rows, by_table, committed, table_writer
from ..audit._tables.tables import TABLE_ROWS, rows_of, sorted_rows, subscription_rows
from ..audit._tables.traffic import Traffic, traffic_of
from ._columns import spark_schema
from ._message_rows import MessageRows
from ._sessions.shipped_files import send_file, worker_path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: More tasks than this do not write tables faster: each table is written by one.
_WRITERS = 4
#: The bytes of rows that one task sorts and adds up sooner than Spark shares them out.
_ONE_TASK = 32 * 1024 * 1024


def write_tables(
    spark: SparkSession,
    facts: DataFrame,
    folder: RunFolder,
    planes: tuple[str, ...],
    tasks: int | None,
    describe: Callable[[Mapping[str, int]], dict[str, Any]],
    *,
    step: Callable[..., None] = lambda *_: None,
    stream: dict[str, Any] | None = None,
    alone: MessageRows | None = None,
    for_driver: list[pa.RecordBatch] | None = None,
) -> dict[str, Any]:
    """Run both jobs, commit the result, and return the counts.

    Args:
        spark: The session.
        facts: All facts; they are read twice.
        folder: Where the tables go.
        planes: The planes to audit; none for those of the traffic.
        tasks: The number of tasks that share the subjects.
        describe: Returns the row of the table ``runs`` for the counters of the run.
        step: Is called with the name of each step as it begins.
        stream: What a stream needs to go on, for the manifest.
        alone: What a table of messages alone became; ``facts`` are its facts.
        for_driver: What ``facts_for_driver`` returns, if the first job has run.
    """
    found = facts_for_driver(facts) if for_driver is None else for_driver
    traffic = read_traffic(spark, found, planes)
    step("writing tables", traffic.lines)
    write = table_writer(folder, traffic)
    if alone is not None and traffic.counts.get("made", 0) <= _ONE_TASK:
        written = alone.rows.coalesce(1).mapInArrow(sorted_first(write), WRITTEN)
    elif tasks == 1:
        others = facts.where(f"bucket > {FOR_DRIVER}")
        written = others.mapInArrow(in_one_task(traffic, write), WRITTEN)
    else:
        rows = partial_rows(spark, facts, traffic, tasks) if alone is None else alone.rows
        writers = rows.repartition(min(_WRITERS, tasks or _WRITERS), "table")
        written = writers.sortWithinPartitions("table", "key").mapInArrow(write, WRITTEN)
    entries = [row.asDict() for row in written.collect()]
    if alone is not None and any(row["table"] == HOT and not row["file"] for row in entries):
        hottest = alone.hottest(traffic.counts["published"]).to_pylist()
        entries = [row for row in entries if row["table"] != HOT] + [table_bytes(HOT, hottest)]
    return committed(folder, traffic, entries, describe, stream)


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
            yield from sorted_rows(rows_of(found, open_index(traffic), traffic.planes))

    def of_subscriptions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the rows of the subscriptions."""
        for batch in batches:
            if batch.num_rows:
                for block in subscription_blocks(worker_path(traffic.files[2])):
                    yield from sorted_rows(subscription_rows(block))

    schema = spark_schema(TABLE_ROWS)
    others = facts.where(f"bucket > {FOR_DRIVER}")
    shared = others.repartition("bucket") if tasks is None else others.repartition(tasks, "bucket")
    about_subjects = shared.sortWithinPartitions("bucket").mapInArrow(of_subjects, schema)
    return about_subjects.union(spark.range(0, 1, 1, 1).mapInArrow(of_subscriptions, schema))


def open_index(traffic: Traffic) -> PatternIndex:
    """Return the index of the patterns; in a worker."""
    return open_files(*map(worker_path, traffic.files))


def in_one_task(traffic: Traffic, write: Task) -> Task:
    """Return a task that makes and writes all tables: a small log needs no shuffle."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the rows of all facts, and write them."""
        facts = FactTables()
        facts.add_rows(batches)
        yield from write(all_rows(facts, traffic, open_index(traffic)))

    return run


def sorted_first(write: Task) -> Task:
    """Return a task that sorts the rows of all tables and writes them."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Sort the rows by table and key, and write them."""
        import pyarrow as pa

        found = list(batches)
        if found:
            yield from write(by_table(pa.Table.from_batches(found)))

    return run
