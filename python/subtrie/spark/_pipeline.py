"""The audit: from trace logs to tables, on Spark.

The logs are read once, into rows; deliveries are matched with publishes once; every table is made
from these two. No table passes through the driver: only counts, and the distinct patterns for the
index.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import _tables as tables
from ._delivery import cross_broker, deliveries
from ._run_folder import RunFolder, rows_of_table
from ._subscriptions import subscriptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The tables, in the order in which they are printed, and their columns.
TABLES: dict[str, tuple[str, ...]] = {
    "call_graph": (
        *("plane", "source", "destination", "port", "method"),
        *("published", "refused", "delivered", "undelivered", "forwarded"),
    ),
    "replies": ("replier", "caller", "count"),
    "undelivered": ("subject", "count", "nearest", "differs_at", "subscription_inactive"),
    "malformed": ("subject", "count", "delivered", "reason"),
    "other_traffic": ("subject", "count", "class"),
    "refused": ("who", "subject", "count", "kind"),
    "spoofed": ("who", "claimed", "subject", "count", "accepted"),
    "unparseable": ("log", "pos", "reason", "text"),
}
_LINES = ("operations", "payloads", "server", "unparseable_lines")


class Audit:
    """The result of an audit: its counts and its tables, each a Parquet file.

    Without an output directory the files are removed when the ``with`` block of this object ends.

    Attributes:
        summary: The counts of lines and windows, and the list of planes.
    """

    def __init__(self, summary: dict[str, Any], folder: RunFolder) -> None:
        self.summary = summary
        self._folder = folder

    def path(self, table: str) -> str:
        """Return the Parquet file of a table of ``TABLES``."""
        return os.fspath(self._folder.tables / f"{table}.parquet")

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of a table, one batch in memory at a time."""
        return rows_of_table(self.path(table), TABLES[table])

    def table(self, spark: SparkSession, name: str) -> DataFrame:
        """Return a table as a DataFrame.

        Args:
            spark: The session that reads it.
            name: A table of ``TABLES``.
        """
        return spark.read.parquet(self.path(name))

    def __enter__(self) -> Audit:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder.target is None:
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
    """Audit trace logs of nats-server.

    Args:
        spark: The session that runs the job.
        logs: The logs, one for each broker.
        planes: The planes to audit. Without them they are detected from the traffic.
        out: A directory for the tables. Without it they are temporary.
        split_bytes: The most bytes that one task reads.
        step: Is called with the name of each step as it begins.

    Returns:
        The counts and the tables.

    Raises:
        OSError: A log cannot be read.
        OutputFolderError: The output directory holds something other than an earlier result.
    """
    from ._trace_source import SPLIT_BYTES, read_logs

    folder = RunFolder(out, TABLES)
    try:
        step("reading lines")
        read = read_logs(spark, logs, split_bytes=split_bytes or SPLIT_BYTES)
        rows = folder.stage(read, "rows")
        step("following subscriptions")
        active_subscriptions = folder.stage(subscriptions(rows), "subscriptions")
        step("matching deliveries with publishes")
        delivered = folder.stage(deliveries(rows, active_subscriptions), "deliveries")
        if len(logs) > 1:
            delivered = folder.stage(cross_broker(delivered), "cross_broker")
        step("decoding subjects")
        subjects = folder.stage(tables.subjects(rows, delivered), "subjects")
        found = folder.stage(tables.planes(subjects, active_subscriptions, planes), "planes")
        classified = tables.classified(subjects, found)
        step("matching undelivered subjects")
        matches = folder.stage(
            tables.undelivered_matches(classified, active_subscriptions), "undelivered_matches"
        )
        made = {
            "call_graph": tables.call_graph(classified),
            "replies": tables.replies(classified),
            "undelivered": tables.undelivered(matches, delivered, active_subscriptions),
            "malformed": tables.malformed(classified),
            "other_traffic": tables.other_traffic(classified),
            "refused": tables.refused(rows),
            "spoofed": tables.spoofed(rows, found),
            "unparseable": tables.unparseable(rows),
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
    """Return the counts of lines and windows, and the planes."""
    from pyspark.sql import functions as F

    counted = rows.where(F.col("kind") == "count").groupBy("subject").agg(F.sum("size"))
    by_kind = {row[0]: row[1] for row in counted.collect()}
    lines = {name: int(by_kind.get(name, 0)) for name in _LINES}
    sums = delivered.agg(
        *(F.coalesce(F.sum(name), F.lit(0)) for name in ("ambiguous", "unmatched")),
        F.count_if(F.col("state") == "forwarded"),
    ).collect()[0]
    return {
        "lines": sum(lines.values()),
        **lines,
        "planes": [row[0] for row in planes.orderBy("plane").toLocalIterator()],
        "ambiguous": int(sums[0]),
        "unmatched": int(sums[1]),
        "forwarded": int(sums[2]),
    }
