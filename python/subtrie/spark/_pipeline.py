"""The audit: from trace logs to tables, on Spark.

The logs are read once, into rows; who got which publish is decided once; every table is made from
these two. No table passes through the driver: only counts, and the distinct patterns for the index.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import _tables as tables
from ._delivery import deliveries, elsewhere
from ._run_folder import RunFolder, rows_of_table
from ._subscriptions import subscriptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The tables, in the order in which they are told, and their columns.
TABLES: dict[str, tuple[str, ...]] = {
    "call_graph": (
        *("plane", "source", "destination", "port", "method"),
        *("published", "refused", "delivered", "undelivered", "handed_over"),
    ),
    "replies": ("replier", "caller", "count"),
    "undelivered": ("subject", "count", "nearest", "differs_at", "inactive"),
    "malformed": ("subject", "count", "heard", "reason"),
    "foreign": ("subject", "count", "class"),
    "refused": ("who", "subject", "count", "kind"),
    "spoofed": ("who", "claimed", "subject", "count", "accepted"),
    "quarantine": ("log", "pos", "reason", "text"),
}
_LINES = ("operations", "payloads", "server", "quarantined")


class Audit:
    """The result: ``summary`` (the counts) and the tables, each a Parquet file.

    Without an output folder the files go with this object: use it in a ``with`` statement.
    """

    def __init__(self, summary: dict[str, Any], folder: RunFolder) -> None:
        self.summary = summary
        self._folder = folder

    def path(self, table: str) -> str:
        """The Parquet file of a table of ``TABLES``."""
        return os.fspath(self._folder.tables / f"{table}.parquet")

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """The rows of a table, as a stream."""
        return rows_of_table(self.path(table), TABLES[table])

    def table(self, spark: SparkSession, name: str) -> DataFrame:
        """A table as a DataFrame."""
        return spark.read.parquet(self.path(name))

    def __enter__(self) -> Audit:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder.place is None:
            self._folder.discard()


def audit(
    spark: SparkSession,
    logs: Sequence[str],
    *,
    planes: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    split_bytes: int | None = None,
    step: Callable[[str], None] = lambda name: None,
) -> Audit:
    """Audits trace logs of nats-server; each log is one broker's.

    ``planes`` are found from the traffic unless given; ``out`` is a folder for the tables;
    ``step`` is told what begins. Raises ``OSError`` for a log that cannot be read and
    ``NotAResult`` for an output folder that holds something else.
    """
    from ._trace_source import SPLIT_BYTES, read_logs

    folder = RunFolder(out, TABLES)
    try:
        step("reading lines")
        read = read_logs(spark, logs, split_bytes=split_bytes or SPLIT_BYTES)
        rows = folder.stage(read, "rows")
        step("following subscriptions")
        stood = folder.stage(subscriptions(rows), "subscriptions")
        step("who got which publish")
        delivered = folder.stage(deliveries(rows, stood), "deliveries")
        if len(logs) > 1:
            delivered = folder.stage(elsewhere(delivered), "elsewhere")
        step("decoding subjects")
        subjects = folder.stage(tables.subjects(rows, delivered), "subjects")
        found = folder.stage(tables.planes(subjects, stood, planes), "planes")
        sorted_subjects = tables.sorted_out(subjects, found)
        step("matching what nobody heard")
        lost = folder.stage(tables.lost(sorted_subjects, stood), "lost")
        made = {
            "call_graph": tables.call_graph(sorted_subjects),
            "replies": tables.replies(sorted_subjects),
            "undelivered": tables.undelivered(lost, delivered, stood),
            "malformed": tables.malformed(sorted_subjects),
            "foreign": tables.foreign(sorted_subjects),
            "refused": tables.refused(rows),
            "spoofed": tables.spoofed(rows, found),
            "quarantine": tables.quarantine(rows),
        }
        for name, columns in TABLES.items():
            step(f"table {name}")
            folder.write(made[name].select(*columns), name)
        step("counting")
        summary = _summary(rows, delivered, found)
        folder.finish(summary)
    except BaseException:
        folder.discard()
        raise
    return Audit(summary, folder)


def _summary(rows: DataFrame, delivered: DataFrame, planes: DataFrame) -> dict[str, Any]:
    from pyspark.sql import functions as F

    counted = rows.where(F.col("kind") == "count").groupBy("subject").agg(F.sum("size"))
    by_sort = {row[0]: row[1] for row in counted.collect()}
    lines = {name: int(by_sort.get(name, 0)) for name in _LINES}
    sums = delivered.agg(
        *(F.coalesce(F.sum(name), F.lit(0)) for name in ("contested", "orphans")),
        F.count_if(F.col("state") == "handed_over"),
    ).collect()[0]
    return {
        "lines": sum(lines.values()),
        **lines,
        "planes": [row[0] for row in planes.orderBy("plane").toLocalIterator()],
        "contested": int(sums[0]),
        "orphans": int(sums[1]),
        "handed_over": int(sums[2]),
    }
