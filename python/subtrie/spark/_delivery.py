"""Who got which publish, on Spark: windows and delivery lines meet by subject, reply and size.

The rule itself is ``window_sweep``; this brings together what competes. The rows of one contest
come to one task, sorted, and pass through it as a stream; contests are hashed over the tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ._delivery_matching import Sweep

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: ``pos`` is null in the row that sums a contest, and set in the row of a single message that no
#: client here was handed: ``state`` is then ``undelivered`` or ``handed_over``. A message that went
#: to another broker also has a row ``hopped`` for each time, and one that came from there a row
#: ``arrived`` or ``arrived_unheard``; see ``elsewhere``.
SCHEMA = (
    "log int, subject string, reply string, size bigint, pos bigint, state string, "
    "published bigint, delivered bigint, heard bigint, contested bigint, orphans bigint"
)
_KEY = ("log", "subject", "reply", "size")


def deliveries(rows: DataFrame, stood: DataFrame) -> DataFrame:
    """What became of the messages of each contest. ``rows`` as of ``nats-trace``, ``stood`` as of
    ``subscriptions``. Refused publishes take no part: the broker handed them to nobody."""
    from pyspark.sql import functions as F

    kind = F.col("kind")
    windows = rows.where(kind.isin("publish", "inbound") & F.col("reason").isNull()).select(
        *_KEY,
        "pos",
        "end",
        (kind == "inbound").alias("far"),
        F.lit(None).cast("string").alias("to"),
    )
    hops = rows.where(kind == "hop").select(
        *_KEY,
        "pos",
        F.lit(None).cast("bigint").alias("end"),
        F.lit(True).alias("far"),
        F.col("conn").alias("to"),
    )
    queued = stood.where(F.col("queue").isNotNull()).select(
        F.col("log").alias("q_log"),
        F.col("conn").alias("q_conn"),
        F.col("sid").alias("q_sid"),
        "queue",
        "start",
        "until",
    )
    lines = (
        rows.where(kind == "delivery")
        .select(*_KEY, "pos", "conn", "sid")
        .join(
            queued,
            (F.col("log") == F.col("q_log"))
            & (F.col("conn") == F.col("q_conn"))
            & (F.col("sid") == F.col("q_sid"))
            & (F.col("pos") > F.col("start"))
            & (F.col("pos") < F.col("until")),
            "left",
        )
        .select(
            *_KEY,
            "pos",
            F.lit(None).cast("bigint").alias("end"),
            F.lit(False).alias("far"),
            # A queue's name holds no blank, so the two forms cannot meet.
            F.coalesce(F.col("queue"), F.concat_ws(" ", "conn", "sid")).alias("to"),
        )
    )
    return (
        windows.unionByName(hops)
        .unionByName(lines)
        .repartition(*_KEY)
        .sortWithinPartitions(*_KEY, "pos")
        .mapInArrow(_swept, SCHEMA)
    )


def elsewhere(delivered: DataFrame) -> DataFrame:
    """``deliveries`` of several brokers' logs, with what became of messages handed over.

    Of one subject, reply and size the messages that hopped and those that arrived are paired in
    order. A message handed over is undelivered when all its hops arrived in logs at hand and nobody
    there heard it; it is no longer ``handed_over`` when somebody did.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = Window.partitionBy("subject", "reply", "size").orderBy("log", "pos")
    state = F.col("state")
    contest = ("subject", "reply", "size")
    hopped = delivered.where(state == "hopped").select(
        *contest, "log", "pos", F.row_number().over(order).alias("turn")
    )
    arrived = delivered.where(state.startswith("arrived")).select(
        *contest, (state == "arrived").alias("there"), F.row_number().over(order).alias("turn")
    )
    fate = (
        hopped.join(arrived, [*contest, "turn"], "left")
        .groupBy("log", "pos")
        .agg(
            F.max(F.coalesce("there", F.lit(False))).alias("there"),
            F.min(F.col("there").isNotNull()).alias("known"),
        )
    )
    told = (
        F.when(F.col("there"), F.lit("heard_elsewhere"))
        .when(F.col("known"), F.lit("undelivered"))
        .otherwise(state)
    )
    handed = state == "handed_over"
    return (
        delivered.where(handed)
        .join(fate, ["log", "pos"], "left")
        .withColumn("state", told)
        .withColumn("heard", (F.col("state") == "heard_elsewhere").cast("bigint"))
        .select(*delivered.columns)
        .unionByName(delivered.where(~F.coalesce(handed, F.lit(False))))
    )


def _swept(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One sweep a contest."""
    found: list[tuple[Any, ...]] = []
    key: tuple[Any, ...] | None = None
    sweep = Sweep()
    sums = [0, 0, 0, 0]  # published, delivered, heard, contested
    for batch in batches:
        columns = [batch.column(i).to_pylist() for i in range(batch.num_columns)]
        for log, subject, reply, size, pos, end, far, to in zip(*columns, strict=True):
            here = (log, subject, reply, size)
            if here != key:
                if key is not None:
                    _close(key, sweep, sums, found)
                key, sweep, sums = here, Sweep(), [0, 0, 0, 0]
            if end is not None:
                sweep.window(pos, end, far)
            elif far:
                sweep.hop(pos, to)
            else:
                sweep.line(pos, to)
            if len(sweep.outcomes) >= 8192:
                assert key is not None
                _settle(key, sweep, sums, found)
        if len(found) >= 8192:
            yield _batch(found)
            found = []
    if key is not None:
        _close(key, sweep, sums, found)
    if found:
        yield _batch(found)


def _settle(
    key: tuple[Any, ...], sweep: Sweep, sums: list[int], found: list[tuple[Any, ...]]
) -> None:
    """Adds up what is decided, and keeps apart what no client here was handed."""
    for outcome in sweep.outcomes:
        sums[1] += outcome.delivered
        sums[3] += outcome.contested
        if outcome.inbound:
            state = "arrived" if outcome.delivered else "arrived_unheard"
            found.append((*key, outcome.pos, state, 0, 0, 0, 0, 0))
            continue
        found.extend((*key, outcome.pos, "hopped", 0, 0, 0, 0, 0) for _ in outcome.hops)
        sums[0] += 1
        sums[2] += outcome.delivered > 0
        if not outcome.delivered:
            state = "handed_over" if outcome.hops else "undelivered"
            found.append((*key, outcome.pos, state, 0, 0, 0, 0, 0))
    sweep.outcomes.clear()


def _close(
    key: tuple[Any, ...], sweep: Sweep, sums: list[int], found: list[tuple[Any, ...]]
) -> None:
    sweep.finish()
    _settle(key, sweep, sums, found)
    # A line that no window took was handed to a client all the same.
    found.append((*key, None, None, sums[0], sums[1] + sweep.orphans, *sums[2:], sweep.orphans))


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    import pyarrow as pa

    names = [part.split()[0] for part in SCHEMA.split(", ")]
    types = [pa.int32(), pa.string(), pa.string(), pa.int64(), pa.int64(), pa.string()]
    types += [pa.int64()] * 5
    columns = [pa.array(c, t) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
    return pa.record_batch(columns, names=names)
