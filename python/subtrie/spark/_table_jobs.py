"""The jobs of Spark that make and write the tables of a run, from partials.

The driver gets the head, and sends the indexes of patterns to the workers; then the tasks make the
rows of all buckets, and write the tables.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..audit._answers.questions import Questions
from ..audit._partial.kinds import IN_HEAD, rows_in
from ..audit._partial.partial import Partial, by_buckets
from ..audit._runs.run_folder import RunFolder
from ..audit._runs.run_writer import WRITTEN, Task, committed, table_bytes, table_writer
from ..audit._tables.bucket import Bucket
from ..audit._tables.by_subject import CANDIDATES, HOT
from ..audit._tables.context import Context, Whole, context_of
from ..audit._tables.pattern_index import BLOCK, PatternIndex, open_index, release_pages
from ..audit._tables.traffic import TABLE_ROWS, rows_of, sorted_rows, subscription_rows
from ._columns import spark_schema
from ._message_rows import MessageRows
from ._partials import head_of
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
    partials: DataFrame,
    folder: RunFolder,
    planes: tuple[str, ...],
    describe: Callable[[Mapping[str, int]], dict[str, Any]],
    *,
    questions: Questions | None,
    window: int | None,
    tasks: int | None = None,
    step: Callable[..., None] = lambda *_: None,
    stream: dict[str, Any] | None = None,
    alone: MessageRows | None = None,
    head: list[pa.RecordBatch] | None = None,
) -> dict[str, Any]:
    """Run both jobs, commit the result, and return the counts.

    Args:
        spark: The session.
        partials: All partials; they are read twice.
        folder: Where the tables go.
        planes: The planes to audit; none for those of the traffic.
        describe: Returns the row of the table ``runs`` for the counters of the run.
        questions: What is asked beyond the tables of the traffic; None for nothing.
        window: The length of a period in microseconds, or None.
        tasks: The number of tasks that share the buckets; None leaves it to Spark.
        step: Is called with the name of each step as it begins.
        stream: What a stream needs to go on, for the manifest.
        alone: What a table of messages alone became; ``partials`` are its head.
        head: What ``head_of`` returns, if the first job has run.
    """
    whole = read_context(
        spark, head_of(partials) if head is None else head, planes, questions, window
    )
    context = whole.context
    step("writing tables", context.lines)
    write = table_writer(folder, context)
    if alone is not None and context.counts.get("made", 0) <= _ONE_TASK:
        written = alone.rows.coalesce(1).mapInArrow(_all_in_one_task(write), WRITTEN)
    elif tasks == 1:
        rows = partial_rows(spark, partials.coalesce(1), context, 1)
        written = rows.coalesce(1).mapInArrow(_all_in_one_task(write), WRITTEN)
    else:
        rows = partial_rows(spark, partials, context, tasks) if alone is None else alone.rows
        writers = rows.repartition(min(_WRITERS, tasks or _WRITERS), "table")
        written = writers.sortWithinPartitions("table", "key").mapInArrow(write, WRITTEN)
    entries = [row.asDict() for row in written.collect()]
    asked = [row["data"] for row in entries if row["table"] == CANDIDATES]
    if alone is not None and asked:
        hottest = alone.hottest(context.counts["published"], asked[0]).to_pylist()
        entries = [row for row in entries if row["table"] != CANDIDATES]
        entries.append(table_bytes(HOT, hottest))
    return committed(folder, whole, entries, describe, stream=stream, step=step)


def read_context(
    spark: SparkSession,
    head: Iterable[pa.RecordBatch],
    planes: Sequence[str],
    questions: Questions | None = None,
    window: int | None = None,
) -> Whole:
    """Return what the rows of all buckets depend on, and send the indexes to the workers."""
    whole = context_of(Partial.of_rows(head), planes, questions, window)
    for name, data in whole.files:
        send_file(spark, name, data)
    return whole


def partial_rows(
    spark: SparkSession,
    partials: DataFrame,
    context: Context,
    tasks: int | None,
    wanted: Collection[str] | None = None,
) -> DataFrame:
    """Return the partial rows of tables, as ``TABLE_ROWS``.

    Args:
        spark: The session.
        partials: Rows of ``PARTIAL_ROWS``.
        context: What ``read_context`` found.
        tasks: The number of tasks that share the buckets; None leaves it to Spark.
        wanted: The names of the tables; by default all.
    """

    def of_buckets(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the rows of the buckets that came to this task, some at a time."""
        for partial in by_buckets(rows_in(batches)):
            yield from sorted_rows(rows_of(Bucket(partial, context, _opened), wanted))

    def of_subscriptions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the rows of the subscriptions."""
        for batch in batches:
            if batch.num_rows:
                for block in _subscription_blocks(worker_path(context.subscribed[2])):
                    yield from sorted_rows(subscription_rows(block))

    schema = spark_schema(TABLE_ROWS)
    shared = partials.where(f"bucket > {IN_HEAD}")
    if tasks is None:
        shared = shared.repartition("bucket")
    elif tasks > 1:
        shared = shared.repartition(tasks, "bucket")
    of_partials = shared.sortWithinPartitions("bucket").mapInArrow(of_buckets, schema)
    return of_partials.union(spark.range(0, 1, 1, 1).mapInArrow(of_subscriptions, schema))


def _opened(names: tuple[str, ...]) -> PatternIndex:
    """Return the index in these files; in a worker."""
    return open_index(names, lambda name: _mapped(worker_path(name)))


def _mapped(path: str) -> mmap.mmap:
    """Map a file into memory."""
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _subscription_blocks(path: str) -> Iterator[pa.Table]:
    """Yield the subscriptions in a file of an index, 65,536 at a time.

    Memory: one block; the pages of the others are not kept.
    """
    import pyarrow as pa

    mapped = _mapped(path)
    table = pa.ipc.open_file(pa.py_buffer(mapped)).read_all()
    for start in range(0, table.num_rows, BLOCK):
        yield table.slice(start, BLOCK)
        release_pages(mapped)


def _all_in_one_task(write: Task) -> Task:
    """Return a task that sorts the rows of all tables and writes them."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Sort the rows by table and key, and write them."""
        import pyarrow as pa

        found = list(batches)
        if found:
            keys = [("table", "ascending"), ("key", "ascending")]
            yield from write(pa.Table.from_batches(found).sort_by(keys).to_batches())

    return run
