"""The rows of a table that a report shows: the largest ones, within a number of bytes."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .._findings.rate import Rate
from ..audit._partial.rates import both_rates, table_rate

if TYPE_CHECKING:
    from ..audit import Run

#: Rows with the largest value in the first of these columns that a table has come first.
_RANKED_BY = ("published", "count", "traffic", "delivered", "accepted")
#: Rules that nothing used come first.
_SMALLEST_FIRST = {"permission_usage"}
#: No table shows more rows than this: a page with more takes seconds to sort on a phone.
MOST_ROWS = 20_000
#: The bytes of JSON that each table has in a report. The call graph is what people explore.
_BUDGET = {"call_graph": 1_800_000, "flows": 900_000}
_OTHER_BUDGET = 200_000


def rows_of(result: Run, table: str) -> Iterator[dict[str, Any]]:
    """Iterate over the rows of a table; an older result may not have it."""
    try:
        return result.rows(table)
    except KeyError:
        return iter(())


def _shown_rows(result: Run, table: str) -> Iterator[dict[str, Any]]:
    """Iterate over the rows of a table; those that differ in an id only are one."""
    from ..audit._results.shown_rows import shown_rows

    try:
        yield from shown_rows(result, table)
    except KeyError:
        return


def largest_rows(result: Run, table: str, columns: tuple[str, ...]) -> tuple[int, list[Any]]:
    """Return the number of rows of a table, and the largest of them as lists of JSON values.

    Memory is bounded by ``MOST_ROWS``; each row of the table is read once.
    """
    sign = 1 if table in _SMALLEST_FIRST else -1
    rank = next((name for name in _RANKED_BY if name in columns), None)
    total = 0

    def ranked() -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield each row after its sort key, which no two rows share."""
        nonlocal total
        for row in _shown_rows(result, table):
            yield (sign * (row[rank] or 0) if rank else 0), total, row
            total += 1

    chosen = heapq.nsmallest(MOST_ROWS, ranked())
    left = _BUDGET.get(table, _OTHER_BUDGET)
    kept = []
    for _, _, row in chosen:
        values = [json_value(row[name]) for name in columns]
        left -= len(json.dumps(values))
        if left < 0:
            break
        kept.append(values)
    return total, kept


def json_value(value: Any) -> Any:
    """Return a value of a row as JSON has it: ISO 8601 text of a time, text of a rate."""
    if isinstance(value, dict):
        return rate_of(value).text or None
    return time_text(value) if isinstance(value, datetime) else value


def rate_of(value: Mapping[str, Any]) -> Rate:
    """Return the rate in the column of a table."""
    start = time_text(value["start"]) or ""
    return Rate(start, value["width_s"], tuple(value["counts"]))


def rates_together(rates: Iterable[Rate | None], *, of: int) -> Rate | None:
    """Return the sum of rates; None if it has not all of a number."""
    found = None
    for each in filter(None, rates):
        start = int(datetime.fromisoformat(each.start).timestamp())
        found = both_rates(found, (each.width_s, start, *each.counts))
    value = table_rate(found, of=of)
    return None if value is None else rate_of(value)


def time_text(value: datetime | None) -> str | None:
    """Return a time as ISO 8601 text with microseconds."""
    return None if value is None else f"{value:%Y-%m-%dT%H:%M:%S.%f}Z"


def earliest(*times: datetime | None) -> datetime | None:
    """Return the earliest of some times; None is left out."""
    return min((each for each in times if each is not None), default=None)


def latest(*times: datetime | None) -> datetime | None:
    """Return the latest of some times; None is left out."""
    return max((each for each in times if each is not None), default=None)


def program_of(row: Mapping[str, Any]) -> str:
    """Return who a row is about, and the client's own name where several may share the user."""
    client = row["client"]
    return str(row["who"]) if client in (None, row["who"]) else f"{row['who']} (client {client})"


def crossed(row: dict[str, Any]) -> str:
    """Return what crossed a link; an older result does not tell."""
    if "messages_in" not in row:
        return ""
    return f"; {row['messages_in']:,} messages had come from it, {row['messages_out']:,} gone to it"
