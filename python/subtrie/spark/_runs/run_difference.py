"""The difference of two runs: the rows that are new, gone, or changed by more than a share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .._schema import TABLE_COLUMNS, TABLE_KEYS

if TYPE_CHECKING:
    from .._audit.pipeline import Audit

#: Tables whose keys are lines, connections or times: two runs have no rows in common.
_OF_ONE_RUN = frozenset({"subscriptions", "unparseable", "runs", "at", "history"})


def run_difference(old: Audit, new: Audit, *, share: float = 0.2) -> Iterator[dict[str, Any]]:
    """Yield the rows of tables that differ between two runs, as before and after a deployment.

    Both tables of a pair are in memory at a time. Tables of connections, lines and times are left
    out, as their rows are those of one run.

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
        before, after = (_by_key(each, table) for each in (old, new))
        for key in sorted(before.keys() | after.keys(), key=_order):
            one, two = before.get(key), after.get(key)
            row = {"table": table, "key": dict(zip(TABLE_KEYS[table], key, strict=True))}
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


def _by_key(result: Audit, table: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    keys = TABLE_KEYS[table]
    return {tuple(row[name] for name in keys): row for row in result.rows(table)}


def _differ(one: int | None, two: int | None, share: float) -> bool:
    """Return whether two counts differ by more than a share of the larger one."""
    if one is None or two is None:
        return one is not two
    return abs(one - two) > share * max(abs(one), abs(two))


def _order(key: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    return [(value is not None, value) for value in key]
