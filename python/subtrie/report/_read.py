"""Read the result of an audit into the content of a report, without Spark."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .._core.printable import printable, shortened
from ..audit import open_run, verdict
from ..audit._run import json_object
from ._content import Edge, Report
from ._edges import edges_of
from ._findings import MOST_FINDINGS, all_findings
from ._rows import earliest, latest, rows_of, time_text
from ._rule_diffs import rule_diffs
from ._sections import sections_of

if TYPE_CHECKING:
    from ..audit import Run

#: The planes that the title names.
_PLANES = 3


def read_report(
    run: str | os.PathLike[str] | Run, *, name: str | None = None, logs: Sequence[str] = ()
) -> Report:
    """Return the report of an audit.

    The tables are read once or a few times, a batch at a time; memory grows with what the report
    shows, not with the tables.

    Args:
        run: The directory that ``subtrie audit --out`` wrote, or an open result.
        name: What the commands in the report call the directory (default: its path).
        logs: The logs that were audited, as the commands name them (default: ``LOG``).

    Raises:
        OSError: There is no result.
        ValueError: Its manifest is damaged, or it was written by a newer version.
    """
    if isinstance(run, (str, os.PathLike)):
        result, name = open_run(run), name or os.fspath(run)
    else:
        result, name = run, name or "RUN"
    try:
        return _report(result, name, logs)
    except (TypeError, KeyError, AttributeError, ArithmeticError, IndexError) as error:
        # A result may be of another program, or changed by hand.
        raise ValueError(
            f"{name}: a value of the result is not that of an audit: {error}"
        ) from error


def _report(result: Run, name: str, logs: Sequence[str]) -> Report:
    (record,) = rows_of(result, "runs")
    graph, edges, edges_total = edges_of(result)
    findings = all_findings(result, name=name, logs=logs)
    sections, empty = sections_of(result)
    if graph != "flows":  # where there are calls, the flows say the same in more words
        sections.sort(key=lambda each: each.table == "flows")
    return Report(
        title=_title(result.summary["planes"], graph),
        verdict=verdict(result),
        run={
            **{key: record[key] for key in ("run", "version", "input_digest")},
            "options": json_object(record["options"]),
            "planes": result.summary["planes"],
        },
        counts=_counts(result, edges, edges_total),
        graph=graph,
        findings=findings[:MOST_FINDINGS],
        findings_left_out=max(0, len(findings) - MOST_FINDINGS),
        edges=edges,
        edges_total=edges_total,
        diffs=rule_diffs(result),
        sections=sections,
        empty=empty,
    )


def _title(planes: list[str], graph: str) -> str:
    if planes:
        named = ", ".join(printable(shortened(plane)) for plane in planes[:_PLANES])
        more = len(planes) - _PLANES
        return f"Traffic on {named}" + (f" and {more} more planes" if more > 0 else "")
    if graph == "flows":
        return "Traffic without Microbus"
    return "Traffic"


def _counts(result: Run, edges: list[Edge], edges_total: int) -> dict[str, Any]:
    """Return what was read: lines, messages, services, and the time from first to last."""
    first: datetime | None = None
    last: datetime | None = None
    for table in ("call_graph", "undelivered", "flows"):
        for row in rows_of(result, table):
            first, last = earliest(first, row["first"]), latest(last, row["last"])
    counters = result.counters
    followed = ("folded_messages", "untimed_requests")
    return {
        **{key: result.summary[key] for key in sorted(result.summary) if key != "planes"},
        **{key: counters[key] for key in followed if key in counters},
        "published": counters.get("published"),
        "services": len({end for each in edges for end in (each.source, each.destination)}),
        "edges": edges_total,
        "subscriptions": result.count("subscriptions"),
        "first": time_text(first),
        "last": time_text(last),
    }
