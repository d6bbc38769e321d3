"""The verdict on a run: one line that says what is wrong, the most serious first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._audit.pipeline import Audit


def verdict(result: Audit) -> str:
    """Return one line that says what is wrong, such as ``4 spoofed and accepted, 44 undelivered``.

    Messages are counted. Cost: the tables it counts are read once, a batch at a time.

    Args:
        result: The result of an audit.
    """
    spoofed, accepted = _sum(result, "spoofed", "count"), _sum(result, "spoofed", "accepted")
    forbidden = sum(
        row["count"] for row in _rows(result, "violations") if row["kind"].startswith("forbidden")
    )
    undelivered = _sum(result, "undelivered", "count")
    if not result.summary["planes"]:  # without Microbus traffic, only the flows tell
        undelivered += sum(
            row["undelivered"] for row in _rows(result, "flows") if row["subscriber"] is None
        )
    refused, unparseable = _sum(result, "refused", "count"), result.summary["unparseable_lines"]
    slow = _sum(result, "slow_consumers", "count")
    attempts = f" ({spoofed - accepted:,} spoofed)" if spoofed > accepted else ""
    counts = (
        (accepted, "spoofed and accepted"),
        (forbidden, "forbidden and accepted"),
        (undelivered, "undelivered"),
        (_sum(result, "malformed", "count"), "malformed"),
        (refused, f"refused{attempts}"),
        (slow, "slow consumer" if slow == 1 else "slow consumers"),
        (unparseable, "unparseable"),
    )
    return ", ".join(f"{count:,} {what}" for count, what in counts if count) or "no findings"


def _rows(result: Audit, table: str) -> Iterator[dict[str, Any]]:
    """Iterate over the rows of a table; an older result may not have it."""
    try:
        return result.rows(table)
    except KeyError:
        return iter(())


def _sum(result: Audit, table: str, column: str) -> int:
    return sum(row[column] for row in _rows(result, table))
