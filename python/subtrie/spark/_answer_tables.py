"""Make the tables of answers of a run, before its result is published."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..audit._answers.questions import Questions
from ..audit._readers.log_files import input_kind
from ..audit._readers.payload_heads import check_logs
from ..audit._runs.run_folder import More
from ..audit._schema import EVENTS, arrow_schema
from ._sources.payload_heads import payload_heads

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_FORMATS = {"log": "nats-trace", "capture": "nats-wire", "snapshot": "nats-monitor"}


def answer_tables(
    spark: SparkSession,
    logs: Sequence[str] | DataFrame,
    questions: Questions,
    step: Callable[..., None] = lambda *_: None,
    paths: Sequence[str] | None = None,
) -> More:
    """Return a function that makes the tables of answers from the other tables.

    Args:
        spark: The session.
        logs: The inputs, or a table of events.
        questions: What is asked.
        step: Is called with the name of each step as it begins.
        paths: The logs whose payloads may be read; None if the inputs are not logs.

    Raises:
        ValueError: The heads of payloads are asked for, and there are no logs.
    """
    if questions.payloads is not None:
        if paths is None:
            raise ValueError(
                "payload heads are read from trace logs and captures, not from a table of events"
            )
        check_logs(paths)

    def make(read: Callable[[str], pa.Table], summary: dict[str, Any]) -> Sequence[dict[str, Any]]:
        if questions.unasked(summary):
            return ()
        step("answering questions")
        return _tables(read_events(spark, logs), read("subscriptions"), questions, paths=paths)

    return make


def answers_so_far(
    spark: SparkSession, paths: Sequence[str], ends: Mapping[str, int], questions: Questions
) -> More:
    """Return a function that makes the tables of answers of logs that grow.

    Args:
        spark: The session.
        paths: The logs, as ``audit_stream`` is given them.
        ends: The position up to which the log of each server is in the other tables.
        questions: What is asked. The rules may be of services that have not begun yet.
    """

    def make(read: Callable[[str], pa.Table], summary: dict[str, Any]) -> Sequence[dict[str, Any]]:
        from pyspark.sql import functions as F

        from ..audit._readers.growing_log import files_of

        if questions.unasked(summary):
            return ()
        files = files_of(paths, list(ends))
        events = read_events(spark, files)
        decided = F.lit(False)
        for server, end in ends.items():
            decided = decided | ((F.col("server") == server) & (F.col("position") < end))
        found = events.where(decided)
        return _tables(found, read("subscriptions"), questions, paths=files, complete=False)

    return make


def _tables(
    events: DataFrame,
    subscriptions: pa.Table,
    questions: Questions,
    *,
    paths: Sequence[str] | None,
    complete: bool = True,
) -> list[dict[str, Any]]:
    """Return the tables of answers as the entries of files."""
    from ..audit._answers.here import entries_of
    from ._answers_on_spark import answers_on_spark

    heads = None
    if questions.payloads is not None and paths is not None:
        heads = payload_heads(events.sparkSession, paths)
    found = answers_on_spark(events, subscriptions, questions, heads=heads, complete=complete)
    return entries_of(found)


def read_events(spark: SparkSession, logs: Sequence[str] | DataFrame) -> DataFrame:
    """Return the events of trace logs, captures and snapshots; a table of events as it is.

    Raises:
        OSError: An input does not exist or cannot be opened.
    """
    if not isinstance(logs, list | tuple):
        return logs  # type: ignore[return-value]
    from ._sources.monitor_source import MonitorSource
    from ._sources.trace_source import TraceSource
    from ._sources.wire_source import WireSource

    for source in (TraceSource, WireSource, MonitorSource):
        spark.dataSource.register(source)
    by_kind: dict[str, list[str]] = {}
    for path in logs:
        by_kind.setdefault(input_kind(path), []).append(path)
    names = [name for name, _ in EVENTS]
    found = None
    for kind, some in sorted(by_kind.items()):
        rows = spark.read.format(_FORMATS[kind]).option("paths", json.dumps(some)).load()
        rows = rows.select(*names)
        found = rows if found is None else found.unionByName(rows)
    if found is None:
        raise OSError("no input was given")
    return found


def with_subscriptions(events: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Return events with further subscriptions, which are active before the first event.

    Args:
        events: A table with the columns ``EVENTS``.
        subscriptions: Rows with ``server``, ``conn``, ``sid``, ``start``, ``identity``, ``pattern``
            and ``queue``.
    """
    import pyarrow as pa

    rows = subscriptions.toArrow().sort_by([("server", "ascending"), ("start", "ascending")])
    schema = arrow_schema(EVENTS)
    length = rows.num_rows
    given = {
        "server": rows["server"],
        "time": rows["start"],
        "conn": rows["conn"],
        "identity": rows["identity"],
        "direction": pa.repeat("in", length),
        "op": pa.repeat("SUB", length),
        "subject": rows["pattern"],
        "queue": rows["queue"],
        "sid": rows["sid"],
        "position": pa.array(range(-length, 0), pa.int64()),
    }
    columns = [given.get(f.name, pa.nulls(length, f.type)).cast(f.type) for f in schema]
    spark = events.sparkSession
    extra = spark.createDataFrame(pa.table(columns, schema=schema))
    return events.unionByName(extra.select(*events.columns))
