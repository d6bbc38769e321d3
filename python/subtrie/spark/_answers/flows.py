"""Flows: publishers, the patterns on which messages were received, and subscribers, of any NATS."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from .folding import fold

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: Microseconds; a rate is that of at least a minute.
_MINUTE = 60_000_000
_COUNTED = ("published", "undelivered", "bytes")


def flow_rows(uses: DataFrame, folded: Any) -> DataFrame:
    """Return the columns of the table ``flows``, without ``per_minute``.

    The log does not say which publisher a delivery comes from. If several publish one subject, its
    deliveries are divided in the ratio of their messages that were received: this is exact for
    subscribers that received all of them.

    Args:
        uses: The uses of all batches.
        folded: A function of Spark that folds a column of subjects.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    published = (
        uses.where("use = 'publish' and published > 0")
        .groupBy("server", "subject", F.col("who").alias("publisher"))
        .agg(
            *(F.sum(name).alias(name) for name in (*_COUNTED, "taken")),
            F.min("first").alias("first"),
            F.max("last").alias("last"),
        )
    )
    subscribed = uses.where("use = 'subscribe'").select(
        F.col("server").alias("of"), F.col("position").alias("at"), "queue",
        F.col("subject").alias("on"), F.col("who").alias("subscriber"),
    )  # fmt: skip
    lines = uses.where("use = 'delivery'").select(
        "server", "position", F.col("subject").alias("about"), F.col("published").alias("lines")
    )
    delivered = (
        lines.join(subscribed, (lines.server == F.col("of")) & (lines.position == F.col("at")))
        .groupBy(F.col("of"), "about", "on", "subscriber", "queue")
        .agg(F.sum("lines").alias("lines"))
    )
    received = published.where("taken > 0").join(
        delivered, (F.col("server") == F.col("of")) & (F.col("subject") == F.col("about"))
    )
    one = Window.partitionBy("server", "subject", "on", "subscriber", "queue")
    share = F.col("lines") * F.col("taken")
    received = received.withColumn("all", F.sum("taken").over(one))
    received = received.withColumn("part", F.floor(share / F.col("all")))
    received = received.withColumn("rest", share - F.col("part") * F.col("all"))
    left = F.col("lines") - F.sum("part").over(one)
    order = one.orderBy(F.desc("rest"), "publisher")
    received = received.withColumn(
        "delivered", F.col("part") + F.when(F.row_number().over(order) <= left, 1).otherwise(0)
    )
    columns = (
        "publisher",
        "pattern",
        "subscriber",
        "queue",
        "delivered",
        *_COUNTED,
        "first",
        "last",
    )
    known = received.withColumn("pattern", folded("on")).select(*columns)
    nothing = F.lit(None).cast("string")
    unreceived = published.where("taken = 0").select(
        "publisher", folded("subject").alias("pattern"), nothing.alias("subscriber"),
        nothing.alias("queue"), F.lit(0).cast("bigint").alias("delivered"), *_COUNTED,
        "first", "last",
    )  # fmt: skip
    return (
        known.unionByName(unreceived)
        .groupBy("publisher", "pattern", "subscriber", "queue")
        .agg(
            F.sum("published").alias("published"),
            F.sum("delivered").cast("bigint").alias("delivered"),
            F.sum("undelivered").alias("undelivered"),
            F.sum("bytes").alias("bytes"),
            F.min("first").alias("first"),
            F.max("last").alias("last"),
        )
    )


def per_minute(row: dict[str, Any]) -> float:
    """Return the messages a minute of a flow, rounded to tenths with integers."""
    span = max((row["last"] - row["first"]) // timedelta(microseconds=1), _MINUTE)
    tenths: int = (row["published"] * 10 * _MINUTE + span // 2) // span
    return tenths / 10


def folding() -> Any:
    """Return a function of Spark that folds a column of subjects."""
    import pyarrow as pa
    from pyspark.sql.pandas.functions import arrow_udf

    def folded(texts: Any) -> Any:
        return fold_column(texts)

    # Spark tells the kind of a function by its annotations, which must be classes.
    folded.__annotations__ = {"texts": pa.Array, "return": pa.Array}
    return arrow_udf(folded, "string")  # type: ignore[call-overload]


def fold_column(texts: pa.Array) -> pa.Array:
    """Return a column of subjects, folded; each distinct one is folded once."""
    import pyarrow as pa

    encoded = texts.dictionary_encode()
    known = [None if each is None else fold(each) for each in encoded.dictionary.to_pylist()]
    return pa.array(known, pa.string()).take(encoded.indices)
