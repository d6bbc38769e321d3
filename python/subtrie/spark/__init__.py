"""The audit of traffic on Spark: functions from DataFrame to DataFrame.

``decode(df)`` and ``match(df, subscriptions)`` add columns; ``audit(spark, logs)`` makes the tables
of ``subtrie audit``; ``nats-trace``, ``nats-wire`` and ``nats-monitor`` are formats of
``spark.read`` once ``register(spark)`` was called. No function here makes a session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .decode import decode
from .match import match
from .pipeline import Audit, audit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Makes the data sources ``nats-trace``, ``nats-wire``, ``nats-monitor`` known to a session."""
    from .monitor_source import MonitorSource
    from .trace_source import TraceSource
    from .wire_source import WireSource

    for source in (TraceSource, WireSource, MonitorSource):
        spark.dataSource.register(source)


__all__ = ["Audit", "audit", "decode", "match", "register"]
