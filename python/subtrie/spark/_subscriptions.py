"""Subscriptions seen in a log: from where to where each one stood.

A subscription begins at its SUB and ends at its UNSUB or DELSUB, at the end of its connection, or
with the log. One that the broker refused never stood. A second SUB with a number in use is ignored,
as the broker ignores it; a number may be used again after its end.
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
#: The end of what still stands when its log ends.
NEVER = 2**62
_KINDS = ("subscribe", "unsubscribe", "closed", "refusal")


def subscriptions(rows: DataFrame) -> DataFrame:
    """One row for each accepted subscription, of the rows of ``nats-trace``.

    ``until`` is where the next subscription with the same connection and number begins: message
    lines that are still under way when a subscription ends belong to it up to there.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    events = rows.where(F.col("kind").isin(*_KINDS)).where(
        (F.col("kind") != "refusal") | (F.col("reason") == "subscribe")
    )
    stood = (
        events.select("log", "conn", "pos", "kind", "sid", "subject", "queue", "account")
        .repartition("log", "conn")
        .sortWithinPartitions("log", "conn", "pos")
        .mapInArrow(_stood, SCHEMA)
    )
    number = Window.partitionBy("log", "conn", "sid").orderBy("start")
    return stood.withColumn("until", F.coalesce(F.lead("start").over(number), F.lit(NEVER)))


def coverage(stood: DataFrame) -> DataFrame:
    """Stretches in which anyone held a pattern: ``log``, ``pattern``, ``start``, ``end``."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = Window.partitionBy("log", "pattern").orderBy("start", "end")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    fresh = F.coalesce(F.col("start") > F.max("end").over(before), F.lit(True))
    return (
        stood.select("log", "pattern", "start", "end")
        .withColumn("fresh", fresh.cast("int"))
        .withColumn("stretch", F.sum("fresh").over(order))
        .groupBy("log", "pattern", "stretch")
        .agg(F.min("start").alias("start"), F.max("end").alias("end"))
        .drop("stretch")
    )


def _stood(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Follows each connection through its events, which come in order."""
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
    import pyarrow as pa

    text, position = pa.string(), pa.int64()
    types = [pa.int32(), text, text, text, text, text, position, position]
    names = ["log", "conn", "sid", "pattern", "queue", "account", "start", "end"]
    columns = [pa.array(c, t) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
    return pa.record_batch(columns, names=names)
