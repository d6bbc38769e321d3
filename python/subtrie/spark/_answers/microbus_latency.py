"""Latency of Microbus requests, to the first response of each responder, and their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._core import engine
from ..._core.control_headers import ERROR, REQUEST, RESPONSE
from ..._core.errors import SubtrieError
from .summaries import ranked_latencies

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The least status of a response that is an error.
_FIRST_ERROR = 400


def microbus_latency(events: DataFrame, heads: DataFrame, folded: Any) -> list[dict[str, Any]]:
    """Return the rows of ``latency`` of the kind ``microbus``.

    A response belongs to a request by its message id and the host of the requester. Of a message in
    fragments the first one counts. A multicast has a row for each responder.

    Args:
        events: A table with the columns ``EVENTS``.
        heads: The rows of ``payload_heads``.
        folded: A function of Spark that folds a column of subjects.
    """
    from pyspark.sql import functions as F

    accepted = events.where("op in ('PUB', 'HPUB') and direction = 'in' and refused is null")
    sent = accepted.select("server", "position", "time", "subject").join(
        heads, ["server", "position"]
    )
    tokens = F.split("subject", r"\.")
    sent = sent.select(
        "time", "subject", "message_id", "op_code", "status", F.get(tokens, F.lit(1)).alias("zone"),
        F.get(tokens, F.lit(3)).alias("sender"), F.get(tokens, F.lit(4)).alias("receiver"),
    )  # fmt: skip
    asked = (
        sent.where(F.col("zone").isin("safe", "danger") & (F.col("op_code") == REQUEST))
        .groupBy(F.col("sender").alias("requester"), "message_id")
        .agg(
            F.min("time").alias("asked"),
            F.min_by("subject", F.struct("time", "subject")).alias("subject"),
        )
    )
    answers = (
        sent.where((F.col("zone") == "reply") & F.col("op_code").isin(RESPONSE, ERROR))
        .groupBy(
            F.col("receiver").alias("requester"), "message_id", F.col("sender").alias("responder")
        )
        .agg(F.min(F.struct("time", "op_code", "status")).alias("first"))
    )
    failed = (F.col("first.op_code") == ERROR) | (
        F.coalesce(F.col("first.status"), F.lit(0)) >= _FIRST_ERROR
    )
    answers = answers.select(
        "requester", "message_id", "responder", F.col("first.time").alias("answered"),
        F.when(failed, 1).otherwise(0).alias("failed"),
    )  # fmt: skip
    paired = asked.join(answers, ["requester", "message_id"], "left")
    took = F.unix_micros("answered") - F.unix_micros("asked")
    rows = paired.select(
        "requester", folded("subject").alias("subject"), "responder",
        # Clocks of two servers may differ by more than a request takes.
        F.when(took < 0, 0).otherwise(took).alias("took"), "failed",
    )  # fmt: skip
    found = ranked_latencies(rows, errors=True).toArrow().to_pylist()
    for row in found:
        row["kind"] = "microbus"
        for name in ("requester", "responder"):
            row[name] = None if row[name] is None else _host(row[name])
    return list(found)


def _host(token: str) -> str:
    try:
        return str(engine.unflatten_host(token))
    except SubtrieError:
        return token
