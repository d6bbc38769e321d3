"""The audit of traffic on Spark: functions from DataFrame to DataFrame.

``decode(df)`` and ``match(df, subscriptions)`` add columns; ``audit(spark, logs)`` makes the tables
of ``subtrie audit``; ``nats-trace`` is the format of ``spark.read`` once ``register(spark)`` was
called. No function here makes a session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .decode import decode
from .match import match
from .pipeline import Audit, audit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Makes the data source ``nats-trace`` known to a session."""
    from .trace_source import TraceSource

    spark.dataSource.register(TraceSource)


__all__ = ["Audit", "audit", "decode", "match", "register"]
