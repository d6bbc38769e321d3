"""The audit of traffic on Spark: functions from DataFrame to DataFrame.

``decode(df)`` and ``match(df, subscriptions)`` add columns; ``audit(spark, logs)`` makes the tables
of ``subtrie audit``; ``nats-trace``, ``nats-wire`` and ``nats-monitor`` are formats of
``spark.read`` once ``register(spark)`` was called. No function here makes a session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._decode import decode
from ._log_files import settled, size_of
from ._match import match
from ._pipeline import TABLES, Audit, audit
from ._run_folder import NotAResult
from ._session import CannotStart, local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Makes the data sources ``nats-trace``, ``nats-wire``, ``nats-monitor`` known to a session."""
    from ._monitor_source import MonitorSource
    from ._trace_source import TraceSource
    from ._wire_source import WireSource

    for source in (TraceSource, WireSource, MonitorSource):
        spark.dataSource.register(source)


__all__ = [
    "TABLES",
    "Audit",
    "CannotStart",
    "NotAResult",
    "audit",
    "decode",
    "local_session",
    "match",
    "register",
    "settled",
    "size_of",
]
