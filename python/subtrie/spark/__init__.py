"""Audit traffic on Spark: functions from DataFrame to DataFrame.

``decode(df)`` and ``match(df, subscriptions)`` add columns; ``audit(spark, logs)`` makes the tables
of ``subtrie audit``, and ``audit_stream`` those of logs that grow. After ``register(spark)``,
``nats-trace``, ``nats-wire`` and ``nats-monitor`` are formats of ``spark.read``, the first also of
``spark.readStream``. Only ``local_session``, ``cluster_session`` and ``connect_session`` start a
session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.public_names import publish
from ..audit._answers.adoption import proposed_permissions
from ..audit._answers.questions import Questions, load_code, load_rules
from ..audit._partial.selection import Selection
from ..audit._results.run_difference import run_difference
from ..audit._results.verdict import verdict
from ..audit._runs.run_folder import OutputFolderError
from ..audit._schema import ANSWERS, EVENTS, TABLES
from ._answer_functions import (
    at,
    consumers,
    flows,
    gap,
    history,
    latency,
    permission_usage,
    synthesise,
    violations,
)
from ._decode import decode
from ._lake import write_lake
from ._match import match
from ._pipeline import Audit, audit
from ._sessions.carried import register_source
from ._sessions.local_session import SparkStartError, local_session
from ._sessions.remote_session import cluster_session, connect_session
from ._sessions.ship import ship
from ._settled import settled
from ._stream import audit_stream, open_audit
from ._table_functions import (
    call_graph,
    claimed_users,
    coverage,
    cross_plane,
    fan_out,
    hot_subjects,
    jetstream_errors,
    links,
    logins,
    malformed,
    other_traffic,
    refused,
    replies,
    servers,
    slow_consumers,
    spoofed,
    subscriptions,
    undelivered,
    unparseable,
)
from ._table_of_messages import events
from ._table_of_spans import spans

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Register the data sources ``nats-trace``, ``nats-wire`` and ``nats-monitor``.

    Where the package is sent with ``ship``, that comes first.
    """
    from ._sources.monitor_source import MonitorSource
    from ._sources.trace_source import TraceSource
    from ._sources.wire_source import WireSource

    for source in (TraceSource, WireSource, MonitorSource):
        register_source(spark, source)


__all__ = [
    "ANSWERS",
    "EVENTS",
    "TABLES",
    "Audit",
    "OutputFolderError",
    "Questions",
    "Selection",
    "SparkStartError",
    "at",
    "audit",
    "audit_stream",
    "call_graph",
    "claimed_users",
    "cluster_session",
    "connect_session",
    "consumers",
    "coverage",
    "cross_plane",
    "decode",
    "events",
    "fan_out",
    "flows",
    "gap",
    "history",
    "hot_subjects",
    "jetstream_errors",
    "latency",
    "links",
    "load_code",
    "load_rules",
    "local_session",
    "logins",
    "malformed",
    "match",
    "open_audit",
    "other_traffic",
    "permission_usage",
    "proposed_permissions",
    "refused",
    "register",
    "replies",
    "run_difference",
    "servers",
    "settled",
    "ship",
    "slow_consumers",
    "spans",
    "spoofed",
    "subscriptions",
    "synthesise",
    "undelivered",
    "unparseable",
    "verdict",
    "violations",
    "write_lake",
]

publish(globals())
