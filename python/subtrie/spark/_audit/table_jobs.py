"""The job that writes the tables of a run, and its commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._runs.run_folder import RunFolder, table_bytes
from .fact_rows import FOR_DRIVER
from .hottest import HOT
from .message_rows import MessageRows
from .table_writer import WRITTEN, in_one_task, sorted_first, table_writer
from .tables import TOTALS
from .traffic import LINES, Traffic, facts_for_driver, partial_rows, read_traffic

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: More tasks than this do not write tables faster: each table is written by one.
_WRITERS = 4
#: The bytes of rows that one task sorts and adds up sooner than Spark shares them out.
_ONE_TASK = 32 * 1024 * 1024


def write_tables(
    spark: SparkSession,
    facts: DataFrame,
    folder: RunFolder,
    planes: tuple[str, ...],
    tasks: int | None,
    describe: Callable[[Mapping[str, int]], dict[str, Any]],
    *,
    step: Callable[..., None] = lambda *_: None,
    stream: dict[str, Any] | None = None,
    alone: MessageRows | None = None,
    for_driver: list[pa.RecordBatch] | None = None,
) -> dict[str, Any]:
    """Run both jobs, commit the result, and return the counts.

    Args:
        spark: The session.
        facts: All facts; they are read twice.
        folder: Where the tables go.
        planes: The planes to audit; none for those of the traffic.
        tasks: The number of tasks that share the subjects.
        describe: Returns the row of the table ``runs`` for the counters of the run.
        step: Is called with the name of each step as it begins.
        stream: What a stream needs to go on, for the manifest.
        alone: What a table of messages alone became; ``facts`` are its facts.
        for_driver: What ``facts_for_driver`` returns, if the first job has run.
    """
    found = facts_for_driver(facts) if for_driver is None else for_driver
    traffic = read_traffic(spark, found, planes)
    step("writing tables", traffic.lines)
    write = table_writer(folder, traffic)
    if alone is not None and traffic.counts.get("made", 0) <= _ONE_TASK:
        written = alone.rows.coalesce(1).mapInArrow(sorted_first(write), WRITTEN)
    elif tasks == 1:
        others = facts.where(f"bucket > {FOR_DRIVER}")
        written = others.mapInArrow(in_one_task(traffic, write), WRITTEN)
    else:
        rows = partial_rows(spark, facts, traffic, tasks) if alone is None else alone.rows
        writers = rows.repartition(min(_WRITERS, tasks or _WRITERS), "table")
        written = writers.sortWithinPartitions("table", "key").mapInArrow(write, WRITTEN)
    entries = [row.asDict() for row in written.collect()]
    if alone is not None and any(row["table"] == HOT and not row["file"] for row in entries):
        hottest = alone.hottest(traffic.counts["published"]).to_pylist()
        entries = [row for row in entries if row["table"] != HOT] + [table_bytes(HOT, hottest)]
    return committed(folder, traffic, entries, describe, stream)


def committed(
    folder: RunFolder,
    traffic: Traffic,
    entries: Sequence[dict[str, Any]],
    describe: Callable[[Mapping[str, int]], dict[str, Any]],
    stream: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Commit the files that were written, and return the counts."""
    counts = traffic.counts
    summary = {
        "lines": traffic.lines,
        **{name: counts.get(name, 0) for name in LINES},
        "planes": list(traffic.planes),
        "ambiguous": counts.get("ambiguous", 0),
        "unmatched": traffic.unmatched,
        "forwarded": sum(row["rows"] for row in entries if row["table"] == TOTALS),
    }
    counters = {name: count for name, count in summary.items() if isinstance(count, int)}
    counters |= {name: counts.get(name, 0) for name in ("published", "unsettled")}
    written_files = [row for row in entries if row["table"] != TOTALS]
    folder.commit([*written_files, table_bytes("runs", [describe(counters)])], summary, stream)
    return summary
