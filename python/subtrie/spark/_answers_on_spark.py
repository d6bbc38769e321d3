"""Answers from a DataFrame of events: tasks of Spark add up its messages, bucket by bucket."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..audit._answers.bucket import microbus_sums, subscribed_in, summed
from ..audit._answers.here import EVERYTHING, FLOWS, SENT, bucket_sums, host_in, window_of
from ..audit._answers.questions import Questions
from ..audit._answers.sums import Sums
from ..audit._answers.tables import Answers
from ..audit._answers.uses import READ, USES, uses_of
from ._columns import spark_schema
from ._sessions.shipped_files import send_file, worker_path
from ._shipped_patterns import ship_patterns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_ROWS = "kind string, sums string"


def answers_on_spark(
    events: DataFrame,
    subscriptions: pa.Table,
    questions: Questions,
    *,
    heads: DataFrame | None = None,
    wanted: Sequence[str] = EVERYTHING,
    complete: bool = True,
) -> Answers:
    """Return the answers, added up by tasks of Spark, one for each bucket of subjects.

    Args:
        events: A table with the columns ``EVENTS``.
        subscriptions: The rows of the table ``subscriptions``.
        questions: What is asked.
        heads: The rows of ``payload_heads``, for the latency of Microbus requests.
        wanted: The sums that are asked for.
        complete: Whether the events are all that will be; else rules may name services that have
            not begun yet.

    Raises:
        ValueError: The rules name no service of the traffic, or the time is outside the log.
    """
    from pyspark.sql import functions as F

    spark = events.sparkSession
    answers = Answers(subscriptions, questions)
    description = answers.description(partial(ship_patterns, spark))
    window = window_of(questions)

    def used(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Sum the events of each batch."""
        return uses_of(batches, window=window)

    uses = events.select(*READ).mapInArrow(used, spark_schema(USES))
    file: str | None = None
    if FLOWS in wanted:  # they need two jobs over the uses: the subscriptions with wildcards first
        uses = uses.persist()
    try:
        everywhere = (F.col("use") == "subscribe") & F.col("subject").rlike("[*>]")
        names = ("use", "server", "position", "subject", "who", "queue")
        if FLOWS in wanted:
            file = _send_table(spark, uses.where(everywhere).select(*names).toArrow())

        def of_bucket(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            """Add up the uses of a task, whose buckets no other task has."""
            sums = Sums()
            subscribed = {} if file is None else subscribed_in(_table(file))
            bucket_sums(sums, summed(list(batches)), description, subscribed, wanted)
            yield from _batches(sums)

        bucket = F.coalesce(F.when(F.col("use") == "request", F.col("reply")), F.col("subject"))
        buckets = uses.where(~everywhere).repartition(bucket)
        _collect(buckets.mapInArrow(of_bucket, _ROWS), answers.sums)
    finally:
        uses.unpersist()
    if heads is not None:
        accepted = events.where("op in ('PUB', 'HPUB') and direction = 'in' and refused is null")
        sent = accepted.select(*SENT).join(heads, ["server", "position"])

        def of_messages(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            """Pair the messages of a task, which has all those with one id."""
            import pyarrow as pa

            some = list(batches)
            sums = Sums()
            if some:
                microbus_sums(sums, pa.Table.from_batches(some), host_in)
            yield from _batches(sums)

        _collect(sent.repartition("message_id").mapInArrow(of_messages, _ROWS), answers.sums)
    if complete:
        answers.check()
    return answers


def _batches(sums: Sums) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    rows = list(sums.rows())
    if rows:
        kinds, texts = zip(*rows, strict=True)
        yield pa.RecordBatch.from_pydict({"kind": kinds, "sums": texts})


def _collect(rows: DataFrame, sums: Sums) -> None:
    for batch in rows.toArrow().to_batches():
        sums.add_rows(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _send_table(spark: SparkSession, table: Any) -> str:
    """Send a table to the workers, and return the name of its file."""
    import pyarrow as pa

    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table)
    data = buffer.getvalue()
    name = f"subtrie-subscribed-{hashlib.sha256(data).hexdigest()[:16]}.arrow"
    send_file(spark, name, data)
    return name


def _table(file: str) -> pa.Table:
    import pyarrow as pa

    with open(worker_path(file), "rb") as stream:
        return pa.ipc.open_stream(stream).read_all()
