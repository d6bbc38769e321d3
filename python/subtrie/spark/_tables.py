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

_COUNTS = ("published", "delivered", "delivered_publishes", "ambiguous", "unmatched")


def subjects(rows: DataFrame, delivered: DataFrame) -> DataFrame:
    """Return one row per subject, with its counts and its ``address``."""
    from pyspark.sql import functions as F

    state = F.col("state")
    counted = delivered.groupBy("subject").agg(
        *(F.sum(name).alias(name) for name in _COUNTS),
        F.count_if(state == "undelivered").alias("undelivered"),
        F.count_if(state == "forwarded").alias("forwarded"),
        F.lit(0).cast("bigint").alias("refused"),
    )
    refused = (
        rows.where((F.col("kind") == "publish") & F.col("reason").isNotNull())
        .groupBy("subject")
        .agg(F.count("*").alias("refused"))
    )
    zero = [F.lit(0).cast("bigint").alias(n) for n in (*_COUNTS, "undelivered", "forwarded")]
    both = counted.unionByName(refused.select("subject", *zero, "refused"))
    names = (*_COUNTS, "undelivered", "forwarded", "refused")
    return decode(both.groupBy("subject").agg(*(F.sum(name).alias(name) for name in names)))


def planes(
    subjects: DataFrame, active_subscriptions: DataFrame, given: Sequence[str] = ()
) -> DataFrame:
    """Return the planes of the traffic, as one column ``plane``.

    These are the planes given, else those of the canonical addresses that the broker accepted,
    whether published or subscribed to.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    if given:
        spark = subjects.sparkSession
        return spark.createDataFrame([(plane,) for plane in sorted(set(given))], "plane string")
    accepted = (F.col("published") > 0) | (F.col("delivered") > 0)
    published = subjects.where(accepted & F.col("address.kind").isNotNull())
    read = F.udf(plane_of_pattern, StringType(), useArrow=False)
    patterns = active_subscriptions.select("pattern").distinct()
    subscribed = patterns.select(read("pattern").alias("plane"))
    return (
        published.select(F.col("address.plane").alias("plane"))
        .union(subscribed)
        .where(F.col("plane").isNotNull())
        .distinct()
    )


def classified(subjects: DataFrame, planes: DataFrame) -> DataFrame:
    """Add the column ``category`` to ``subjects``.

    It is ``request``, ``reply``, ``malformed`` (the first token is a plane of the traffic, and the
    subject is not a canonical address) or ``other_traffic``.
    """
    from pyspark.sql import functions as F

    known = planes.select(F.col("plane").alias("known_plane"))
    first = F.substring_index("subject", ".", 1)
    kind = F.col("address.kind")
    category = (
        F.when(F.col("known_plane").isNull(), "other_traffic")
        .when(kind.isNotNull(), kind)
        .otherwise("malformed")
    )
    return (
        subjects.join(F.broadcast(known), first == F.col("known_plane"), "left")
        .withColumn("category", category)
        .drop("known_plane")
    )


def call_graph(classified_subjects: DataFrame) -> DataFrame:
    """Return the requests, counted by caller, destination, port and method."""
    from pyspark.sql import functions as F

    names = ("published", "refused", "delivered", "undelivered", "forwarded")
    return (
        classified_subjects.where(F.col("category") == "request")
        .groupBy(
            F.col("address.plane").alias("plane"),
            F.col("address.source").alias("source"),
            F.col("address.host").alias("destination"),
            F.col("address.port").alias("port"),
            F.col("address.method").alias("method"),
        )
        .agg(*(F.sum(name).alias(name) for name in names))
    )


def replies(classified_subjects: DataFrame) -> DataFrame:
    """Return the replies, counted by the host that replied and the host that called."""
    from pyspark.sql import functions as F

    return (
        _published(classified_subjects, "reply")
        .groupBy(F.col("address.source").alias("replier"), F.col("address.host").alias("caller"))
        .agg(F.sum("published").alias("count"))
    )


def malformed(classified_subjects: DataFrame) -> DataFrame:
    """Return the subjects that begin with a plane and are not canonical addresses."""
    from pyspark.sql import functions as F

    return _published(classified_subjects, "malformed").select(
        "subject",
        F.col("published").alias("count"),
        F.col("delivered_publishes").alias("delivered"),
        F.col("address.reason").alias("reason"),
    )


def other_traffic(classified_subjects: DataFrame) -> DataFrame:
    """Return the subjects outside the planes, with their class."""
    from pyspark.sql import functions as F

    return _published(classified_subjects, "other_traffic").select(
        "subject", F.col("published").alias("count"), F.col("address.family").alias("class")
    )


def _published(classified_subjects: DataFrame, category: str) -> DataFrame:
    """Return the subjects of a category to which the broker accepted a publish."""
    from pyspark.sql import functions as F

    return classified_subjects.where((F.col("category") == category) & (F.col("published") > 0))


def refused(rows: DataFrame) -> DataFrame:
    """Return what the broker answered with a permissions violation.

    A publish that was refused for its reply subject is listed under the subject it was published
    to.
    """
    from pyspark.sql import functions as F

    who = F.coalesce("user", "name", "conn").alias("who")
    kind, reason = F.col("kind"), F.col("reason")
    by_subject = rows.where((kind == "refusal") & (reason != "reply")).select(
        who, "subject", reason.alias("kind")
    )
    by_reply = rows.where((kind == "publish") & (reason == "reply")).select(
        who, "subject", F.lit("publish").alias("kind")
    )
    return (
        by_subject.unionByName(by_reply)
        .groupBy("who", "subject", "kind")
        .agg(F.count("*").alias("count"))
        .select("who", "subject", "count", "kind")
    )


def spoofed(rows: DataFrame, planes: DataFrame) -> DataFrame:
    """Return the publishes whose source is a host other than the connection's identity.

    The identity is the connection's user, else its name, if that is a host. ``accepted`` of
    ``count`` publishes passed the broker.
    """
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
    """Return the host of a connection: its user, else its name, if that is a host."""
    for text in (user, name):
        if text:
            try:
                return microbus.check_identity_host(text)
            except SubtrieError:
                continue
    return None


def _claim(user: str | None, name: str | None, subject: str) -> tuple[str, str, str] | None:
    """Return identity, claimed source and plane of a spoofed subject, else None."""
    who = identity(user, name)
    if who is None:
        return None
    try:
        address = microbus.decode(subject)
    except SubtrieError:
        return None
    return None if address.source == who else (who, address.source, address.plane)


def undelivered_matches(
    classified_subjects: DataFrame, active_subscriptions: DataFrame
) -> DataFrame:
    """Match the undelivered requests and replies with all patterns of the log.

    A row has the subject, how many of its publishes were undelivered, and the columns of ``match``.
    """
    from pyspark.sql import functions as F

    from ._match import match

    undelivered = F.col("category").isin("request", "reply") & (F.col("undelivered") > 0)
    counted = classified_subjects.where(undelivered).select(
        "subject", F.col("undelivered").alias("count")
    )
    return match(counted, active_subscriptions)


def undelivered(
    undelivered_matches: DataFrame, delivered: DataFrame, active_subscriptions: DataFrame
) -> DataFrame:
    """Return the undelivered subjects with the nearest pattern.

    ``nearest`` is the oldest pattern that matches, if one does. ``subscription_inactive`` says that
    no matching pattern was subscribed at one or more of the publishes.
    """
    from pyspark.sql import functions as F

    from ._subscriptions import coverage

    matches = F.size("matched") > 0
    pairs = undelivered_matches.where(matches).select(
        "subject", F.explode("matched").alias("pattern")
    )
    subscribed = (
        delivered.where(F.col("state") == "undelivered")
        .select("log", "subject", "pos")
        .join(pairs, "subject")
        .join(coverage(active_subscriptions), ["log", "pattern"])
        .where((F.col("start") < F.col("pos")) & (F.col("pos") < F.col("end")))
        .select("log", "subject", "pos")
        .distinct()
        .groupBy("subject")
        .agg(F.count("*").alias("subscribed"))
    )
    inactive = matches & (F.coalesce("subscribed", F.lit(0)) < F.col("count"))
    return undelivered_matches.join(subscribed, "subject", "left").select(
        "subject",
        "count",
        F.when(matches, F.col("matched")[0]).otherwise(F.col("nearest")).alias("nearest"),
        "differs_at",
        inactive.alias("subscription_inactive"),
    )


def unparseable(rows: DataFrame) -> DataFrame:
    """Return the lines that could not be parsed: position, reason, and first characters."""
    from pyspark.sql import functions as F

    return rows.where(F.col("kind") == "unparseable").select("log", "pos", "reason", "text")
