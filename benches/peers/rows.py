"""Rows of all programs: compare their answers, and find indexes that are faster than subtrie."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]

CORE, PYTHON, GSL = "subtrie core", "subtrie, Python", "gsl (Go)"
# Another build, given with `--baseline`.
BASELINE, BASELINE_CORE = "baseline, Python", "baseline core"
# The index that a broker runs, with its cache of whole subjects.
CACHED_GO = "sublist with its cache (Go)"
# An image of the index, which is looked up in place.
IMAGE = "subtrie image, Python"
SPLIT, EMPTY = 'subject.split("."), Python', "empty native call, Python"
# What a program can do by hand, by the size of the cache.
CACHES = {
    "lru_cache(1024) over a dictionary trie, Python": 1024,
    "lru_cache(None) over a dictionary trie, Python": None,
}
# The number of subjects in a round of a Python benchmark.
ROUND = 1000


def of_pytest(report: dict[str, Any]) -> list[Row]:
    """Extract the rows of a report of pytest-benchmark."""
    rows: list[Row] = []
    for one in report["benchmarks"]:
        row: Row = one["extra_info"]["row"]
        median = one["stats"]["median"]
        match row["measure"]:
            case "build":
                rows.append(row | {"per_second": round(row["size"] / median)})
            case "batch":
                row = row | {"per_second": round(row.pop("subjects") / median)}
                rows.append(row)
            case "change":
                rows += [
                    {"who": row["who"], "measure": kind, "size": row["size"], **row[kind]}
                    for kind in ("insert", "remove")
                ]
            case _:
                rows.append(row | {"median_ns": round(median / ROUND * 1e9, 1)})
    return rows


# The fields that identify a row within a run.
_NAMES = (
    *("who", "measure", "size", "order", "threads", "scheme", "readers", "writer"),
    *("form", "call"),
)


def best(runs: Iterable[Row]) -> list[Row]:
    """Merge rows of the same name: the shortest time and the highest rate of all runs.

    Other load on the machine only adds time. Rows with different answers are not merged.
    """
    merged: dict[tuple[Any, ...], Row] = {}
    for row in runs:
        key = *(row.get(name) for name in _NAMES), row.get("checksum")
        one = merged.setdefault(key, dict(row))
        for name, value in row.items():
            if name.endswith(("_ns", "_bytes")) or name == "over_100_us":
                one[name] = min(one[name], value)
            elif name.endswith("per_second"):
                one[name] = max(one[name], value)
    return list(merged.values())


def disagreeing(rows: Iterable[Row]) -> list[str]:
    """List programs whose answers differ from the majority, for each size and order."""
    groups: defaultdict[tuple[int, str], defaultdict[tuple[str, int], set[str]]]
    groups = defaultdict(lambda: defaultdict(set))
    for row in rows:
        if "checksum" in row:
            key = row["size"], row["order"]
            groups[key][row["checksum"], row["matches"]].add(row["who"])
    wrong = []
    for (size, order), answers in sorted(groups.items()):
        most = max(answers.values(), key=len)
        for (_, matches), who in answers.items():
            if who is not most:
                wrong.append(
                    f"{', '.join(sorted(who))}: {matches} matches at {size:,} {order}, "
                    f"not those of {', '.join(sorted(most))}"
                )
    return wrong


def is_own(who: str) -> bool:
    """Return whether rows of this name are of subtrie, this build or an earlier one."""
    return who.startswith(("subtrie", "baseline"))


def ours(row: Row) -> str:
    """Return the name of subtrie's index in the language of a row."""
    return PYTHON if row["who"].endswith(", Python") else CORE


def find(rows: Iterable[Row], **wanted: Any) -> Row | None:
    """Return the first row with these fields, or None."""
    for row in rows:
        if all(row.get(key) == value for key, value in wanted.items()):
            return row
    return None


def ratio(
    rows: list[Row], row: Row, field: str = "median_ns", to: str | None = None
) -> float | None:
    """Divide a field of a row by that of subtrie's row for the same measure."""
    same = {key: row[key] for key in ("measure", "size", "order") if key in row}
    own = find(rows, who=to or ours(row), **same)
    if own is None or not own.get(field) or row.get(field) is None:
        return None
    return float(row[field] / own[field])


# The fields in which less is better, by measure; of rates, more is better.
_LESS = {"lookup": "median_ns", "insert": "median_ns", "remove": "median_ns"}
_LESS |= {"grow": "max_ns", "memory": "heap_bytes"}


def losing(rows: list[Row]) -> list[tuple[Row, str, float]]:
    """Find rows that are better than subtrie's: the row, the field, and the factor."""
    lost = []
    for row in rows:
        if row["who"].startswith("subtrie"):
            continue
        measure = row["measure"]
        if measure in _LESS:
            field = _LESS[measure]
            times = ratio(rows, row, field)
            behind = 1 / times if times else None
        elif measure == "build":
            field = "per_second"
            behind = ratio(rows, row, field)
        elif measure == "yardstick" and "split" in row["who"]:
            field = "median_ns"
            own = find(rows, who=PYTHON, measure="lookup", size=row["size"], order=row["order"])
            behind = own[field] / row[field] if own else None
        else:
            continue
        if behind and behind > 1:
            lost.append((row, field, behind))
    return lost
