"""The rows of a table as people read them: one for many ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .._partial.rates import both_rates, rate_of_row, table_rate
from .._tables.streams import folded

if TYPE_CHECKING:
    from .._run import Run

#: The tables that have a row for each id in a subject.
_OF_EACH_ID = frozenset({"refused"})
#: The rows that are folded; the others are as they are.
_MOST = 100_000
#: The columns in which they differ, or that are added up.
_VARYING = frozenset({"subject", "count", "first", "last", "rate"})
#: The columns of a program, and those of its identity, of which a table has one.
_PROGRAMS = (
    (("user", "client"), ("identity", "publisher", "requester", "who", "service")),
    (("subscriber_user", "subscriber_client"), ("subscriber",)),
)


def told_elsewhere(rows: Sequence[dict[str, Any]]) -> frozenset[str]:
    """Return the columns of users and clients that say no more than the identity beside them.

    They do if several programs have one identity. A rule that nothing used is that of no program.
    """
    names = rows[0].keys() if rows else ()
    if "decided" in names:
        rows = [row for row in rows if row["accepted"] or row["refused"]] or rows
    return frozenset(
        column
        for columns, identities in _PROGRAMS
        for owner in identities
        for column in columns
        if owner in names
        and column in names
        and len({(row[owner], row[column]) for row in rows}) == len({row[owner] for row in rows})
    )


def shown_rows(result: Run, table: str) -> Iterator[dict[str, Any]]:
    """Iterate over the rows of a table; those that differ in an id of their subject are one.

    A subject that stands for several has ``*`` in place of numbers and random names.

    Args:
        result: The result of an audit.
        table: The name of a table.
    """
    rows = result.rows(table)
    if table not in _OF_EACH_ID:
        yield from rows
        return
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        if len(groups) >= _MOST:
            yield row
            continue
        others = (value for name, value in row.items() if name not in _VARYING)
        key = (folded(row["subject"]), *others)
        found = groups.setdefault(key, row)
        if found is not row:
            found["subject"] = key[0]
            found["count"] += row["count"]
            rate = both_rates(rate_of_row(found), rate_of_row(row))
            found["rate"] = table_rate(rate, of=found["count"])
            for name, least in (("first", min), ("last", max)):
                times = [each[name] for each in (found, row) if each[name] is not None]
                found[name] = least(times, default=None)
    yield from groups.values()
