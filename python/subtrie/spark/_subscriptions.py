"""The subscriptions of a log, each with the positions at which it begins and ends.

A subscription begins at its SUB and ends at its UNSUB or DELSUB, at the end of its connection, or
with the log. One that the broker refused is left out. A second SUB with a subscription id in use is
ignored, as the broker ignores it; an id may be used again after its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

SCHEMA = (
    "log int, conn string, sid string, pattern string, queue string, account string, "
    "start bigint, end bigint"
)
#: The end of a subscription that is active when its log ends.
NEVER = 2**62
_KINDS = ("subscribe", "unsubscribe", "closed", "refusal")


def subscriptions(rows: DataFrame) -> DataFrame:
    """Return one row for each accepted subscription, from the rows of ``nats-trace``.

    ``until`` is the position at which the next subscription with the same connection and id
    begins: deliveries still in flight when a subscription ends belong to it up to there.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    events = rows.where(F.col("kind").isin(*_KINDS)).where(
        (F.col("kind") != "refusal") | (F.col("reason") == "subscribe")
    )
    spans = (
        events.select("log", "conn", "pos", "kind", "sid", "subject", "queue", "account")
        .repartition("log", "conn")
        .sortWithinPartitions("log", "conn", "pos")
        .mapInArrow(_spans, SCHEMA)
    )
    number = Window.partitionBy("log", "conn", "sid").orderBy("start")
    return spans.withColumn("until", F.coalesce(F.lead("start").over(number), F.lit(NEVER)))


def coverage(active_subscriptions: DataFrame) -> DataFrame:
    """Return the spans in which a pattern was subscribed: ``log``, ``pattern``, ``start``, ``end``.

    Overlapping subscriptions of one pattern are merged.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = Window.partitionBy("log", "pattern").orderBy("start", "end")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    begins = F.coalesce(F.col("start") > F.max("end").over(before), F.lit(True))
    return (
        active_subscriptions.select("log", "pattern", "start", "end")
        .withColumn("begins", begins.cast("int"))
        .withColumn("span", F.sum("begins").over(order))
        .groupBy("log", "pattern", "span")
        .agg(F.min("start").alias("start"), F.max("end").alias("end"))
        .drop("span")
    )


def _spans(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Follow each connection through its events, which come in order."""
    active: dict[str, list[Any]] = {}
    current: tuple[int, str] | None = None
    done: list[list[Any]] = []
    for batch in batches:
        columns = [batch.column(i).to_pylist() for i in range(batch.num_columns)]
        for log, conn, pos, kind, sid, subject, queue, account in zip(*columns, strict=True):
            if (log, conn) != current:
                done.extend(active.values())
                active = {}
                current = (log, conn)
            if kind == "subscribe":
                if sid not in active:
                    active[sid] = [log, conn, sid, subject, queue, account, pos, NEVER]
            elif kind == "closed":
                for row in active.values():
                    row[-1] = pos
                done.extend(active.values())
                active = {}
            else:
                ended = active.pop(sid, None)
                if ended is not None and kind == "unsubscribe":
                    ended[-1] = pos
                    done.append(ended)
        if len(done) >= 8192:
            yield _batch(done)
            done = []
    done.extend(active.values())
    if done:
        yield _batch(done)


def _batch(rows: list[list[Any]]) -> pa.RecordBatch:
    """Return rows of ``SCHEMA`` as Arrow."""
    import pyarrow as pa

    text, position = pa.string(), pa.int64()
    types = [pa.int32(), text, text, text, text, text, position, position]
    names = ["log", "conn", "sid", "pattern", "queue", "account", "start", "end"]
    columns = [pa.array(c, t) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
    return pa.record_batch(columns, names=names)
