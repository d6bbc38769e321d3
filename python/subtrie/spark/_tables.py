"""The tables of the audit, each a function from DataFrames to a DataFrame.

``subjects`` has a row for each subject that was published, with its address and its counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import microbus
from .._errors import SubtrieError
from ._decode import decode, plane_of_pattern

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COUNTS = ("published", "delivered", "heard", "contested", "orphans")


def subjects(rows: DataFrame, delivered: DataFrame) -> DataFrame:
    """Each subject once: its counts and its ``address``."""
    from pyspark.sql import functions as F

    state = F.col("state")
    counted = delivered.groupBy("subject").agg(
        *(F.sum(name).alias(name) for name in _COUNTS),
        F.count_if(state == "undelivered").alias("undelivered"),
        F.count_if(state == "handed_over").alias("handed_over"),
        F.lit(0).cast("bigint").alias("refused"),
    )
    refused = (
        rows.where((F.col("kind") == "publish") & F.col("reason").isNotNull())
        .groupBy("subject")
        .agg(F.count("*").alias("refused"))
    )
    zero = [F.lit(0).cast("bigint").alias(n) for n in (*_COUNTS, "undelivered", "handed_over")]
    both = counted.unionByName(refused.select("subject", *zero, "refused"))
    names = (*_COUNTS, "undelivered", "handed_over", "refused")
    return decode(both.groupBy("subject").agg(*(F.sum(name).alias(name) for name in names)))


def planes(subjects: DataFrame, stood: DataFrame, given: Sequence[str] = ()) -> DataFrame:
    """The planes of the traffic, one column ``plane``: those given, else those of canonical
    addresses that the broker accepted, published or subscribed to."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    if given:
        spark = subjects.sparkSession
        return spark.createDataFrame([(plane,) for plane in sorted(set(given))], "plane string")
    accepted = (F.col("published") > 0) | (F.col("delivered") > 0)
    published = subjects.where(accepted & F.col("address.kind").isNotNull())
    read = F.udf(plane_of_pattern, StringType(), useArrow=False)
    subscribed = stood.select("pattern").distinct().select(read("pattern").alias("plane"))
    return (
        published.select(F.col("address.plane").alias("plane"))
        .union(subscribed)
        .where(F.col("plane").isNotNull())
        .distinct()
    )


def sorted_out(subjects: DataFrame, planes: DataFrame) -> DataFrame:
    """``subjects`` with ``sort``: ``request``, ``reply``, ``malformed`` (wears a plane and is no
    canonical address) or ``foreign``."""
    from pyspark.sql import functions as F

    worn = planes.select(F.col("plane").alias("worn"))
    first = F.substring_index("subject", ".", 1)
    kind = F.col("address.kind")
    sort = (
        F.when(F.col("worn").isNull(), "foreign")
        .when(kind.isNotNull(), kind)
        .otherwise("malformed")
    )
    return (
        subjects.join(F.broadcast(worn), first == F.col("worn"), "left")
        .withColumn("sort", sort)
        .drop("worn")
    )


def call_graph(sorted_subjects: DataFrame) -> DataFrame:
    """Who calls whom, and what came of it."""
    from pyspark.sql import functions as F

    names = ("published", "refused", "delivered", "undelivered", "handed_over")
    return (
        sorted_subjects.where(F.col("sort") == "request")
        .groupBy(
            F.col("address.plane").alias("plane"),
            F.col("address.source").alias("source"),
            F.col("address.host").alias("destination"),
            F.col("address.port").alias("port"),
            F.col("address.method").alias("method"),
        )
        .agg(*(F.sum(name).alias(name) for name in names))
    )


def replies(sorted_subjects: DataFrame) -> DataFrame:
    """Who answered whom, and how often."""
    from pyspark.sql import functions as F

    return (
        sorted_subjects.where((F.col("sort") == "reply") & (F.col("published") > 0))
        .groupBy(F.col("address.source").alias("replier"), F.col("address.host").alias("caller"))
        .agg(F.sum("published").alias("count"))
    )


def malformed(sorted_subjects: DataFrame) -> DataFrame:
    """What wears a plane and is no canonical address."""
    from pyspark.sql import functions as F

    return sorted_subjects.where((F.col("sort") == "malformed") & (F.col("published") > 0)).select(
        "subject",
        F.col("published").alias("count"),
        "heard",
        F.col("address.reason").alias("reason"),
    )


def foreign(sorted_subjects: DataFrame) -> DataFrame:
    """What is none of the planes' traffic."""
    from pyspark.sql import functions as F

    return sorted_subjects.where((F.col("sort") == "foreign") & (F.col("published") > 0)).select(
        "subject", F.col("published").alias("count"), F.col("address.family").alias("class")
    )


def refused(rows: DataFrame) -> DataFrame:
    """What the broker answered with a permissions violation. A publish refused for its reply
    subject stands under the subject it was published to."""
    from pyspark.sql import functions as F

    who = F.coalesce("user", "name", "conn").alias("who")
    kind, reason = F.col("kind"), F.col("reason")
    told = rows.where((kind == "refusal") & (reason != "reply")).select(
        who, "subject", reason.alias("kind")
    )
    by_reply = rows.where((kind == "publish") & (reason == "reply")).select(
        who, "subject", F.lit("publish").alias("kind")
    )
    return (
        told.unionByName(by_reply)
        .groupBy("who", "subject", "kind")
        .agg(F.count("*").alias("count"))
        .select("who", "subject", "count", "kind")
    )


def spoofed(rows: DataFrame, planes: DataFrame) -> DataFrame:
    """Publishes whose source is another host than the connection says it is (its user, else its
    name), where that is a host. ``accepted`` of ``count`` passed the broker."""
    from pyspark.sql import functions as F

    claim = F.udf(_claim, "struct<who: string, claimed: string, plane: string>", useArrow=False)
    grouped = (
        rows.where((F.col("kind") == "publish") & F.coalesce("user", "name").isNotNull())
        .groupBy("user", "name", "subject")
        .agg(F.count("*").alias("count"), F.count_if(F.col("reason").isNull()).alias("accepted"))
        .withColumn("claim", claim("user", "name", "subject"))
        .where(F.col("claim").isNotNull())
    )
    return (
        grouped.join(F.broadcast(planes), F.col("claim.plane") == F.col("plane"), "left_semi")
        .groupBy(
            F.col("claim.who").alias("who"), F.col("claim.claimed").alias("claimed"), "subject"
        )
        .agg(F.sum("count").alias("count"), F.sum("accepted").alias("accepted"))
    )


def identity(user: str | None, name: str | None) -> str | None:
    """The host that a connection says it is: its user, else its name, where that is a host."""
    for text in (user, name):
        if text:
            try:
                return microbus.check_identity_host(text)
            except SubtrieError:
                continue
    return None


def _claim(user: str | None, name: str | None, subject: str) -> tuple[str, str, str] | None:
    who = identity(user, name)
    if who is None:
        return None
    try:
        address = microbus.decode(subject)
    except SubtrieError:
        return None
    return None if address.source == who else (who, address.source, address.plane)


def lost(sorted_subjects: DataFrame, stood: DataFrame) -> DataFrame:
    """Well-formed, accepted, heard by nobody: with the patterns that match, or the nearest."""
    from pyspark.sql import functions as F

    from ._match import match

    unheard = F.col("sort").isin("request", "reply") & (F.col("undelivered") > 0)
    return match(
        sorted_subjects.where(unheard).select("subject", F.col("undelivered").alias("count")), stood
    )


def undelivered(lost: DataFrame, delivered: DataFrame, stood: DataFrame) -> DataFrame:
    """``lost`` as it is told: ``nearest`` is the oldest pattern that matches where one does. The
    subject is ``inactive`` when nothing that matches was subscribed at one of its publishes."""
    from pyspark.sql import functions as F

    from ._subscriptions import coverage

    matches = F.size("matched") > 0
    pairs = lost.where(matches).select("subject", F.explode("matched").alias("pattern"))
    subscribed = (
        delivered.where(F.col("state") == "undelivered")
        .select("log", "subject", "pos")
        .join(pairs, "subject")
        .join(coverage(stood), ["log", "pattern"])
        .where((F.col("start") < F.col("pos")) & (F.col("pos") < F.col("end")))
        .select("log", "subject", "pos")
        .distinct()
        .groupBy("subject")
        .agg(F.count("*").alias("subscribed"))
    )
    return lost.join(subscribed, "subject", "left").select(
        "subject",
        "count",
        F.when(matches, F.col("matched")[0]).otherwise(F.col("nearest")).alias("nearest"),
        "differs_at",
        (matches & (F.coalesce("subscribed", F.lit(0)) < F.col("count"))).alias("inactive"),
    )


def quarantine(rows: DataFrame) -> DataFrame:
    """The lines that no table could take: where, why, and how they begin."""
    from pyspark.sql import functions as F

    return rows.where(F.col("kind") == "quarantine").select("log", "pos", "reason", "text")
