"""Match deliveries with publishes on Spark, by subject, reply and size.

``_delivery_matching`` holds the rule; this module brings together what belongs together. A *match
group* is all messages of one log, subject, reply and size. The rows of a group come to one task,
sorted, and pass through it as a stream; groups are hashed over the tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ._delivery_matching import DeliveryMatcher

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: ``pos`` is null in the row that sums a match group. It is set in the row of a single message that
#: no client of this broker received: ``state`` is then ``undelivered`` or ``forwarded``. A message
#: sent to other brokers also has a row ``hopped`` for each of them, and one received from another
#: broker has a row ``arrived`` or ``arrived_undelivered``; see ``cross_broker``. ``delivered``
#: counts delivery lines, ``delivered_publishes`` the publishes that have one.
SCHEMA = (
    "log int, subject string, reply string, size bigint, pos bigint, state string, "
    "published bigint, delivered bigint, delivered_publishes bigint, ambiguous bigint, "
    "unmatched bigint"
)
_KEY = ("log", "subject", "reply", "size")
_BATCH = 8192  # rows of an Arrow batch, and outcomes kept before they are summed


def deliveries(rows: DataFrame, active_subscriptions: DataFrame) -> DataFrame:
    """Decide for the messages of each match group whether they were delivered.

    Refused publishes are left out: the broker delivers them to no client.

    Args:
        rows: The columns of ``nats-trace``.
        active_subscriptions: The columns of ``subscriptions``.

    Returns:
        The columns of ``SCHEMA``.
    """
    from pyspark.sql import functions as F

    kind = F.col("kind")
    windows = rows.where(kind.isin("publish", "inbound") & F.col("reason").isNull()).select(
        *_KEY,
        "pos",
        "end",
        (kind == "inbound").alias("remote"),
        F.lit(None).cast("string").alias("to"),
    )
    hops = rows.where(kind == "hop").select(
        *_KEY,
        "pos",
        F.lit(None).cast("bigint").alias("end"),
        F.lit(True).alias("remote"),
        F.col("conn").alias("to"),
    )
    queued = active_subscriptions.where(F.col("queue").isNotNull()).select(
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
            F.lit(False).alias("remote"),
            # A queue name has no space, so it differs from every "connection sid".
            F.coalesce(F.col("queue"), F.concat_ws(" ", "conn", "sid")).alias("to"),
        )
    )
    return (
        windows.unionByName(hops)
        .unionByName(lines)
        .repartition(*_KEY)
        .sortWithinPartitions(*_KEY, "pos")
        .mapInArrow(_matched, SCHEMA)
    )


def cross_broker(delivered: DataFrame) -> DataFrame:
    """Follow forwarded messages into the logs of the other brokers.

    Of one subject, reply and size, the messages that left a broker and those that arrived at one
    are paired in order. A forwarded message becomes ``undelivered`` if all its hops arrived in
    given logs and no client there received it, and ``delivered_remotely`` if one did.

    Args:
        delivered: The result of ``deliveries`` for several logs.

    Returns:
        The same columns, with the states of forwarded messages decided where they can be.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = Window.partitionBy("subject", "reply", "size").orderBy("log", "pos")
    state = F.col("state")
    group = ("subject", "reply", "size")
    hopped = delivered.where(state == "hopped").select(
        *group, "log", "pos", F.row_number().over(order).alias("turn")
    )
    arrived = delivered.where(state.startswith("arrived")).select(
        *group, (state == "arrived").alias("received"), F.row_number().over(order).alias("turn")
    )
    paired = (
        hopped.join(arrived, [*group, "turn"], "left")
        .groupBy("log", "pos")
        .agg(
            F.max(F.coalesce("received", F.lit(False))).alias("received"),
            F.min(F.col("received").isNotNull()).alias("known"),
        )
    )
    decided = (
        F.when(F.col("received"), F.lit("delivered_remotely"))
        .when(F.col("known"), F.lit("undelivered"))
        .otherwise(state)
    )
    forwarded = state == "forwarded"
    remotely = (F.col("state") == "delivered_remotely").cast("bigint")
    return (
        delivered.where(forwarded)
        .join(paired, ["log", "pos"], "left")
        .withColumn("state", decided)
        .withColumn("delivered_publishes", remotely)
        .select(*delivered.columns)
        .unionByName(delivered.where(~F.coalesce(forwarded, F.lit(False))))
    )


def _matched(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run one ``DeliveryMatcher`` per match group."""
    found: list[tuple[Any, ...]] = []
    key: tuple[Any, ...] | None = None
    matcher = DeliveryMatcher()
    sums = [0, 0, 0, 0]  # published, delivered, delivered_publishes, ambiguous
    for batch in batches:
        columns = [batch.column(i).to_pylist() for i in range(batch.num_columns)]
        for log, subject, reply, size, pos, end, remote, to in zip(*columns, strict=True):
            group = (log, subject, reply, size)
            if group != key:
                if key is not None:
                    _finish(key, matcher, sums, found)
                key, matcher, sums = group, DeliveryMatcher(), [0, 0, 0, 0]
            if end is not None:
                matcher.window(pos, end, remote)
            elif remote:
                matcher.hop(pos, to)
            else:
                matcher.line(pos, to)
            if len(matcher.outcomes) >= _BATCH:
                assert key is not None
                _add_up(key, matcher, sums, found)
        if len(found) >= _BATCH:
            yield _batch(found)
            found = []
    if key is not None:
        _finish(key, matcher, sums, found)
    if found:
        yield _batch(found)


def _add_up(
    key: tuple[Any, ...], matcher: DeliveryMatcher, sums: list[int], found: list[tuple[Any, ...]]
) -> None:
    """Sum the outcomes, and add a row for each message that no client here received."""
    for outcome in matcher.outcomes:
        sums[1] += outcome.delivered
        sums[3] += outcome.ambiguous
        if outcome.inbound:
            state = "arrived" if outcome.delivered else "arrived_undelivered"
            found.append((*key, outcome.pos, state, 0, 0, 0, 0, 0))
            continue
        found.extend((*key, outcome.pos, "hopped", 0, 0, 0, 0, 0) for _ in outcome.hops)
        sums[0] += 1
        sums[2] += outcome.delivered > 0
        if not outcome.delivered:
            state = "forwarded" if outcome.hops else "undelivered"
            found.append((*key, outcome.pos, state, 0, 0, 0, 0, 0))
    matcher.outcomes.clear()


def _finish(
    key: tuple[Any, ...], matcher: DeliveryMatcher, sums: list[int], found: list[tuple[Any, ...]]
) -> None:
    """End a match group: add the row that sums it."""
    matcher.finish()
    _add_up(key, matcher, sums, found)
    # A delivery line that no window took still reached a client.
    unmatched = matcher.unmatched
    found.append((*key, None, None, sums[0], sums[1] + unmatched, *sums[2:], unmatched))


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    """Return rows of ``SCHEMA`` as Arrow."""
    import pyarrow as pa

    names = [part.split()[0] for part in SCHEMA.split(", ")]
    types = [pa.int32(), pa.string(), pa.string(), pa.int64(), pa.int64(), pa.string()]
    types += [pa.int64()] * 5
    columns = [pa.array(c, t) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
    return pa.record_batch(columns, names=names)
