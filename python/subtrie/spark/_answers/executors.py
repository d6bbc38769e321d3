"""Add up messages for answers: in this process, or in the tasks of Spark; the sums are the same."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..._core import engine
from ..._core.errors import SubtrieError
from .._runs.run_folder import table_bytes
from .._schema import spark_schema
from .._sessions.shipped_files import send_file, worker_path
from .bucket import (
    Subscribed,
    flow_sums,
    microbus_sums,
    publish_sums,
    refusal_sums,
    request_sums,
    subscribed_in,
    summed,
)
from .described import Description
from .questions import Questions
from .selection import ReadEvents
from .sums import Sums
from .tables import Answers, sorted_rows
from .uses import READ, USES, uses_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: The sums that each table of answers is made of.
PUBLISHES, FLOWS, REQUESTS = "publishes", "flows", "requests"
EVERYTHING = (PUBLISHES, FLOWS, REQUESTS)

_MICROSECONDS = 1_000_000
_SENT = ("server", "position", "time", "subject")
_ROWS = "kind string, sums string"
#: Rows that are described at once, and rows of uses that are kept before they are added up.
_DESCRIBED_AT_ONCE, _HELD = 65_536, 1_000_000


def answers_here(
    read: ReadEvents,
    subscriptions: pa.Table,
    questions: Questions,
    *,
    heads: Iterable[pa.RecordBatch] | None = None,
    wanted: Sequence[str] = EVERYTHING,
) -> Answers:
    """Return the answers, added up in this process.

    Args:
        read: Reads the events.
        subscriptions: The rows of the table ``subscriptions``.
        questions: What is asked.
        heads: The rows of ``HEADS``, for the latency of Microbus requests.
        wanted: The sums that are asked for.

    Raises:
        ValueError: The rules name no service of the traffic, or the time is outside the log.
    """
    import pyarrow as pa

    answers = Answers(subscriptions, questions)
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in uses_of(read(READ), window=_window(questions)):
        held.append(batch)
        rows += batch.num_rows
        if rows > _HELD:
            held = summed(held).to_batches()
            rows = max(0, sum(each.num_rows for each in held) - _HELD)
    _of_bucket(answers.sums, summed(held), answers.description(None), {}, wanted)
    if heads is not None:
        of_heads = pa.Table.from_batches(heads)
        accepted = pa.concat_tables(
            [_accepted(pa.Table.from_batches([each])) for each in read((*_SENT, *_HOW)) if each]
        )
        keys = ["server", "position"]
        microbus_sums(answers.sums, accepted.join(of_heads, keys, join_type="inner"), _host)
    answers.check()
    return answers


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
    description = answers.description(spark)
    window = _window(questions)

    def used(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Sum the events of each batch."""
        return uses_of(batches, window=window)

    uses = events.select(*READ).mapInArrow(used, spark_schema(USES)).persist()
    try:
        everywhere = (F.col("use") == "subscribe") & F.col("subject").rlike("[*>]")
        names = ("use", "server", "position", "subject", "who", "queue")
        file = _send_table(spark, uses.where(everywhere).select(*names).toArrow())

        def of_bucket(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            """Add up the uses of a task, whose buckets no other task has."""
            sums = Sums()
            _of_bucket(
                sums, summed(list(batches)), description, subscribed_in(_table(file)), wanted
            )
            yield from _batches(sums)

        bucket = F.coalesce(F.when(F.col("use") == "request", F.col("reply")), F.col("subject"))
        buckets = uses.where(~everywhere).repartition(bucket)
        _collect(buckets.mapInArrow(of_bucket, _ROWS), answers.sums)
    finally:
        uses.unpersist()
    if heads is not None:
        accepted = events.where("op in ('PUB', 'HPUB') and direction = 'in' and refused is null")
        sent = accepted.select(*_SENT).join(heads, ["server", "position"])

        def of_messages(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            """Pair the messages of a task, which has all those with one id."""
            import pyarrow as pa

            some = list(batches)
            sums = Sums()
            if some:
                microbus_sums(sums, pa.Table.from_batches(some), _host)
            yield from _batches(sums)

        _collect(sent.repartition("message_id").mapInArrow(of_messages, _ROWS), answers.sums)
    if complete:
        answers.check()
    return answers


def entries_of(answers: Answers) -> list[dict[str, Any]]:
    """Return the tables of answers as the entries of files."""
    return [table_bytes(name, sorted_rows(name, rows)) for name, rows in answers.tables().items()]


_HOW = ("op", "direction", "refused")


def _accepted(events: pa.Table) -> pa.Table:
    """Return the publishes that a server accepted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    published = pc.is_in(events["op"], value_set=pa.array(["PUB", "HPUB"]))
    incoming = pc.fill_null(pc.equal(events["direction"], "in"), False)
    kept = pc.and_(pc.and_(published, incoming), pc.is_null(events["refused"]))
    return events.filter(kept).select(list(_SENT))


def _of_bucket(
    sums: Sums, uses: pa.Table, description: Description, subscribed: Subscribed,
    wanted: Sequence[str],
) -> None:  # fmt: skip
    """Add the wanted sums of a bucket."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if PUBLISHES in wanted:
        published = uses.filter(pc.equal(uses["use"], "publish"))
        for batch in published.to_batches(max_chunksize=_DESCRIBED_AT_ONCE):
            for described in description.describe([batch]):
                publish_sums(sums, pa.Table.from_batches([described]), description.rules)
        refusal_sums(sums, uses)
    if FLOWS in wanted:
        flow_sums(sums, uses, subscribed)
    if REQUESTS in wanted:
        request_sums(sums, uses)


def _window(questions: Questions) -> int | None:
    return None if questions.window is None else questions.window * _MICROSECONDS


def _host(token: str) -> str:
    try:
        return str(engine.unflatten_host(token))
    except SubtrieError:
        return token


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
