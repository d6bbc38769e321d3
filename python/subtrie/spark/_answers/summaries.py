"""Group described uses into small tables: edges, values at wildcards, and matches of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .folding import HEAD
from .rule_table import NO_RULES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_GROUPED = ("service", "kind", "plane", "port", "pattern", "route", "standing", "identity")
_EVIDENCE = "standing = 'verified' and taken > 0 and (decided < -1 or allowed)"


def summed(uses: DataFrame) -> DataFrame:
    """Add up the uses of all batches."""
    from pyspark.sql import functions as F

    from .uses import KEYS, SUMS

    return uses.groupBy(*(name for name, _ in KEYS)).agg(
        *(F.sum(name).alias(name) for name in SUMS),
        F.min("first").alias("first"),
        F.max("last").alias("last"),
    )


def edges(described: DataFrame) -> DataFrame:
    """Return the messages of each service to each pattern, by the rule that decides.

    Args:
        described: Columns ``DESCRIBED``, and ``allowed``.

    Returns:
        ``service, kind, plane, port, pattern, route, standing, identity, allowed, decided, code``
        and the sums, ``days`` (with a message that a client received), ``first``, ``last``
        (accepted) and ``witnesses``.
    """
    from pyspark.sql import functions as F

    accepted = F.col("published") > 0
    return described.groupBy(*_GROUPED, "allowed", "decided", "code").agg(
        *(F.sum(name).alias(name) for name in ("published", "refused", "taken", "undelivered")),
        F.sort_array(F.collect_set(F.when(F.col("taken") > 0, F.col("day")))).alias("days"),
        F.min(F.when(accepted, F.col("first"))).alias("first"),
        F.max(F.when(accepted, F.col("last"))).alias("last"),
        F.array_distinct(
            F.array_compact(
                F.array(
                    F.min(F.when(accepted, F.col("subject"))),
                    F.min_by("subject", F.struct("first", "subject")),
                    F.max(F.when(accepted, F.col("subject"))),
                )
            )
        ).alias("witnesses"),
    )


def values(described: DataFrame) -> DataFrame:
    """Return the least and the greatest value at each wildcard of each route.

    Only messages that are evidence for a rule have an effect.

    Returns:
        ``pattern`` (with source and slot), ``position`` (in the path), ``least``, ``greatest``.
    """
    from pyspark.sql import functions as F

    tokens = F.split("subject", r"\.")
    evidence = described.where(_EVIDENCE).where("route is not null")
    parts = evidence.select(
        "pattern", tokens.alias("tokens"), F.posexplode(F.split("route", r"\."))
    ).where("col in ('*', '>')")
    rest = F.array_join(F.slice("tokens", F.col("pos") + HEAD + 1, F.size("tokens")), ".")
    value = F.when(F.col("col") == ">", rest).otherwise(
        F.element_at("tokens", F.col("pos") + HEAD + 1)
    )
    return (
        parts.select("pattern", F.col("pos").alias("position"), value.alias("value"))
        .groupBy("pattern", "position")
        .agg(F.min("value").alias("least"), F.max("value").alias("greatest"))
    )


def matches(described: DataFrame) -> DataFrame:
    """Return how often each rule matched, and how often it decided.

    Returns:
        ``identity`` (only where no rule matches), ``rule`` (its number, or null), ``window``,
        ``accepted``, ``refused``, ``decided``, ``days``, ``last``.
    """
    from pyspark.sql import functions as F

    ruled = described.where(f"decided > {NO_RULES}").withColumn("rule", F.explode_outer("matched"))
    everything = F.col("published") + F.col("refused")
    identity = F.when(F.col("rule").isNull(), F.col("identity"))
    return ruled.groupBy(identity.alias("identity"), "rule", "window").agg(
        F.sum("published").alias("accepted"),
        F.sum("refused").alias("refused"),
        F.sum(F.when(F.col("rule") == F.col("decided"), everything).otherwise(0)).alias("decided"),
        F.sort_array(F.collect_set("day")).alias("days"),
        F.max("last").alias("last"),
    )


def latencies(uses: DataFrame, folded: Any) -> DataFrame:
    """Return the latency of NATS requests: to the first message on their reply subject.

    Args:
        uses: The uses of all batches.
        folded: A function of Spark that folds a column of subjects.

    Returns:
        The columns of the table ``latency``, in microseconds by nearest rank.
    """
    from pyspark.sql import functions as F

    asked = uses.where("use = 'request'").select(
        "server", "position", "subject", "reply", F.col("who").alias("requester"),
        F.col("first").alias("asked"),
    )  # fmt: skip
    answers = uses.where("use = 'publish' and published > 0").select(
        F.col("server").alias("answers_of"), F.col("subject").alias("inbox"),
        F.col("who").alias("responder"), F.col("first").alias("answered"),
    )  # fmt: skip
    same = (
        (F.col("server") == F.col("answers_of"))
        & (F.col("reply") == F.col("inbox"))
        & (F.col("answered") >= F.col("asked"))
    )
    paired = (
        asked.join(answers, same, "left")
        .groupBy("server", "position", "subject", "requester", "asked")
        .agg(F.min(F.struct("answered", "responder")).alias("answer"))
    )
    took = F.unix_micros("answer.answered") - F.unix_micros("asked")
    rows = paired.select(
        "requester", folded("subject").alias("subject"),
        F.col("answer.responder").alias("responder"), took.alias("took"),
    )  # fmt: skip
    return ranked_latencies(rows)


def ranked_latencies(rows: DataFrame, *, errors: bool = False) -> DataFrame:
    """Return count, ranks, unanswered requests and errors, by requester, subject and responder.

    Args:
        rows: A row for each request and responder: ``took`` in microseconds, or null.
        errors: Whether the rows have ``failed``, 1 for an error.
    """
    from pyspark.sql import functions as F

    ranked = "percentile_disc({}) within group (order by took)"
    failed = [F.coalesce(F.sum("failed"), F.lit(0)).alias("errors")] if errors else []
    return rows.groupBy("requester", "subject", "responder").agg(
        F.count("took").alias("count"),
        F.expr(ranked.format(0.5)).cast("bigint").alias("p50"),
        F.expr(ranked.format(0.99)).cast("bigint").alias("p99"),
        F.sum(F.when(F.col("took").isNull(), 1).otherwise(0)).alias("unanswered"),
        *failed,
    )
