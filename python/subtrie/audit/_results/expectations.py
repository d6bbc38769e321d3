"""Expectations: what the tables of a result must satisfy, written as data.

An expectation has a ``name`` and one of these forms:

- ``{"unique": TABLE, "columns": [...]}``: no two rows agree in the columns, by default the keys;
- ``{"empty": TABLE}``: the table has no rows;
- ``{"sum": [TERM, ...], "equals" | "at_most" | "at_least": [TERM, ...]}``.

A term is a number, ``counts.NAME`` (a counter of the run), ``TABLE`` (its number of rows) or
``TABLE.COLUMN`` (the sum of the column).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._schema import TABLE_KEYS, TABLES

if TYPE_CHECKING:
    from .._run import Run

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "equals": lambda a, b: a == b,
    "at_most": lambda a, b: a <= b,
    "at_least": lambda a, b: a >= b,
}
_FORMS = ({"unique", "columns"}, {"empty"}, *({"sum", name} for name in _COMPARISONS))

#: What holds for every result: keys are unique, and sums are conserved.
BUILTIN: tuple[dict[str, Any], ...] = (
    *({"name": f"keys of {name} are unique", "unique": name} for name in TABLE_KEYS),
    {
        "name": "every line has one category",
        "sum": ["counts.operations", "counts.payloads", "counts.server"],
        "equals": ["counts.lines", "-counts.unparseable_lines"],
    },
    {
        "name": "every unparseable line is listed",
        "sum": ["unparseable"],
        "equals": ["counts.unparseable_lines"],
    },
    {
        "name": "every accepted publish is in one table",
        "sum": ["call_graph.published", "replies.published", "malformed.count",
                "other_traffic.count"],
        "equals": ["counts.published"],
    },
    {
        "name": "every request and reply without a subscriber is listed",
        "sum": ["undelivered.count"],
        "equals": ["call_graph.undelivered", "replies.undelivered"],
    },
    {
        "name": "deliveries of requests and replies are among all deliveries",
        "sum": ["call_graph.delivered", "replies.delivered"],
        "at_most": ["fan_out.delivered"],
    },
    {
        "name": "deliveries to known subscriptions are among all deliveries",
        "sum": ["coverage.delivered"],
        "at_most": ["fan_out.delivered"],
    },
    {
        "name": "the most frequent subjects are among all publishes",
        "sum": ["hot_subjects.published"],
        "at_most": ["counts.published"],
    },
)  # fmt: skip


def read_expectations(source: str) -> list[dict[str, Any]]:
    """Return the expectations of ``builtin``, or of a JSON or TOML file with a list ``expect``.

    Raises:
        OSError: The file cannot be read.
        ValueError: It does not contain expectations.
    """
    if source == "builtin":
        return [dict(each) for each in BUILTIN]
    text = Path(source).read_text(encoding="utf-8")
    try:
        document = json.loads(text)
    except RecursionError:
        raise ValueError(f"{source}: it is nested too deeply") from None
    except ValueError as not_json:
        try:
            document = tomllib.loads(text)
        except RecursionError:
            raise ValueError(f"{source}: it is nested too deeply") from None
        except ValueError as error:
            reason = not_json if source.endswith(".json") else error
            raise ValueError(f"{source}: {reason}") from None
    found = document.get("expect") if isinstance(document, dict) else document
    if not isinstance(found, list) or not found:
        raise ValueError(f"{source}: the file contains no expectations (a list `expect`)")
    for number, each in enumerate(found, 1):
        told = _why_not(each)
        if told is not None:
            raise ValueError(f"{source}: expectation {number}: {told}")
    return found


def failures(result: Run, expectations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the expectations that a result does not satisfy.

    Each row has ``expectation`` (the name), ``expected`` and ``found``. Cost: reads the columns
    that are named; memory for the keys of one table.
    """
    found = []
    for each in expectations:
        row = _failure(result, each)
        if row is not None:
            found.append({"expectation": each.get("name") or json.dumps(each), **row})
    return found


def _failure(result: Run, each: Mapping[str, Any]) -> dict[str, Any] | None:
    if "unique" in each:
        table = each["unique"]
        columns = list(each.get("columns") or TABLE_KEYS[table])
        keys = result.columns(table, columns)
        distinct = keys.group_by(columns).aggregate([]).num_rows
        if distinct == keys.num_rows:
            return None
        return {"expected": f"{keys.num_rows} distinct keys", "found": f"{distinct}"}
    if "empty" in each:
        count = result.count(each["empty"])
        return None if count == 0 else {"expected": "no rows", "found": f"{count} rows"}
    name = next(name for name in _COMPARISONS if name in each)
    left = sum(_value(result, term) for term in each["sum"])
    right = sum(_value(result, term) for term in each[name])
    if _COMPARISONS[name](left, right):
        return None
    return {"expected": f"{name.replace('_', ' ')} {right:g}", "found": f"{left:g}"}


def _value(result: Run, term: Any) -> float:
    """Return the value of a term."""
    if not isinstance(term, str):
        return float(term)
    sign, term = (-1, term[1:]) if term.startswith("-") else (1, term)
    table, _, column = term.partition(".")
    if table == "counts":
        return sign * float(result.counters[column])
    if not column:
        return sign * result.count(table)
    import pyarrow.compute as pc

    return sign * float(pc.sum(result.columns(table, [column])[column]).as_py() or 0)


def _why_not(each: Any) -> str | None:
    """Return why a value is not an expectation, or None."""
    if not isinstance(each, dict):
        return "not an object"
    form = set(each) - {"name"}
    if not any(form == known or form == known - {"columns"} for known in _FORMS):
        return (
            "its keys must be unique (and columns), empty, or sum and equals, at_most or at_least"
        )
    for table in (each.get("unique"), each.get("empty")):
        if table is not None and table not in TABLES:
            return f"there is no table {table!r}"
    for column in each.get("columns") or ():
        if column not in TABLES[each["unique"]]:
            return f"table {each['unique']!r} has no column {column!r}"
    for name in ("sum", *_COMPARISONS):
        terms = each.get(name, [])
        if not isinstance(terms, list):
            return f"{name} must be a list of terms"
        for term in terms:
            told = _why_no_term(term)
            if told is not None:
                return told
    return None


def _why_no_term(term: Any) -> str | None:
    if isinstance(term, int | float) and not isinstance(term, bool):
        return None
    if not isinstance(term, str):
        return f"a term is a number or a text, not {term!r}"
    table, dot, column = term.removeprefix("-").partition(".")
    if table == "counts":
        return None if column in COUNTERS else f"there is no counter {column!r}"
    if table not in TABLES:
        return f"there is no table {table!r}"
    if dot and column not in TABLES[table]:
        return f"table {table!r} has no column {column!r}"
    return None


#: The counters of a run.
COUNTERS = (
    *("lines", "operations", "payloads", "server", "unparseable_lines"),
    *("published", "ambiguous", "unmatched", "forwarded"),
)
