"""The difference of two runs: the rows that are new, gone, or changed by more than a share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .._answers.folding import fold
from .._schema import TABLE_COLUMNS, TABLE_KEYS

if TYPE_CHECKING:
    from .._run import Run

#: Tables whose keys are lines, connections or times: two runs have no rows in common.
_OF_ONE_RUN = frozenset({"subscriptions", "unparseable", "runs", "at", "history"})
#: Columns with subjects as they were sent: two runs have no inbox, order or instance in common, so
#: these are folded, and the rows that become equal are added up.
_FOLDED = {
    "other_traffic": "subject",
    "fan_out": "subject",
    "hot_subjects": "subject",
    "coverage": "pattern",
}


def run_difference(old: Run, new: Run, *, share: float = 0.2) -> Iterator[dict[str, Any]]:
    """Yield the rows of tables that differ between two runs, as before and after a deployment.

    Both tables of a pair are in memory at a time. Tables of connections, lines and times are left
    out, as their rows are those of one run. Subjects are folded, except undelivered ones. The name
    of a broker is left out (None) if each run has one, as a restart gives it another.

    Args:
        old: The earlier result.
        new: The later result.
        share: Numbers that changed by at most this share of the larger one are not a change.

    Yields:
        ``table``, ``change`` (``new``, ``gone`` or ``changed``), ``key`` (by column) and, of a
        changed row, ``columns``: the old and the new value of each column that changed. Of other
        rows it has the values that are not 0.

    Raises:
        ValueError: ``share`` is not from 0 to 1.
    """
    if not 0 <= share <= 1:
        raise ValueError("share must be from 0 to 1")
    for table, columns in TABLE_COLUMNS.items():
        if table in _OF_ONE_RUN:
            continue
        counted = [n for n, kind in columns if kind == "bigint" and n not in TABLE_KEYS[table]]
        before, after = _pair(old, new, table, counted)
        for key in sorted(before.keys() | after.keys(), key=_order):
            one, two = before.get(key), after.get(key)
            named = dict(zip(TABLE_KEYS[table], key, strict=True))
            if named.get("account", "") is None:
                del named["account"]  # a system without accounts
            row = {"table": table, "key": named}
            if one is None or two is None:
                present: Mapping[str, Any] = one or two or {}
                values = {name: present[name] for name in counted if present[name]}
                yield {**row, "change": "new" if one is None else "gone", "columns": values}
                continue
            changed = {
                name: [one[name], two[name]]
                for name in counted
                if _differ(one[name], two[name], share)
            }
            if changed:
                yield {**row, "change": "changed", "columns": changed}


_Rows = dict[tuple[Any, ...], dict[str, Any]]


def _pair(old: Run, new: Run, table: str, counted: list[str]) -> tuple[_Rows, _Rows]:
    """Return the rows of both runs by key."""
    one, two = list(old.rows(table)), list(new.rows(table))
    unnamed = "server" in TABLE_KEYS[table] and all(
        len({row["server"] for row in rows}) <= 1 for rows in (one, two)
    )
    return _by_key(one, table, counted, unnamed), _by_key(two, table, counted, unnamed)


def _by_key(rows: list[dict[str, Any]], table: str, counted: list[str], unnamed: bool) -> _Rows:
    found: _Rows = {}
    folded = _FOLDED.get(table)
    for row in rows:
        same = dict(row)
        if folded is not None and same[folded] is not None:
            same[folded] = fold(same[folded])
        if unnamed:
            same["server"] = None
        first = found.setdefault(tuple(same[name] for name in TABLE_KEYS[table]), same)
        if first is not same:
            for name in counted:
                first[name] = (first[name] or 0) + (same[name] or 0)
    return found


def _differ(one: int | None, two: int | None, share: float) -> bool:
    """Return whether two counts differ by more than a share of the larger one."""
    if one is None or two is None:
        return one is not two
    return abs(one - two) > share * max(abs(one), abs(two))


def _order(key: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    return [(value is not None, value) for value in key]
