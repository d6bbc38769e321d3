"""Turn the rows of a run into sections of a table, for the terminal and the page."""

from __future__ import annotations

from dataclasses import dataclass, field

from figures import figures
from rows import CORE, PYTHON, Row, losing, ratio

ORDERS = ("hot", "zipf", "uniform")


@dataclass
class Section:
    """A heading, column names and lines; ``lost`` has the lines where another index is faster."""

    title: str
    columns: list[str]
    lines: list[list[str]] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)


def number(value: object, digits: int = 0) -> str:
    """Format a number with thousands separators; None is empty."""
    return f"{value:,.{digits}f}" if isinstance(value, (int, float)) else ""


def times(value: float | None) -> str:
    """Format a ratio."""
    return "" if value is None else f"{value:,.2f}"


def _of(rows: list[Row], *measures: str) -> list[Row]:
    return [row for row in rows if row["measure"] in measures]


def lookups(rows: list[Row]) -> list[Section]:
    """Make a section for each size and order, the fastest first."""
    made = []
    found = _of(rows, "lookup")
    for size in sorted({row["size"] for row in found}):
        for order in ORDERS:
            here = [row for row in found if (row["size"], row["order"]) == (size, order)]
            if not here:
                continue
            section = Section(
                f"a lookup, {size:,} subscriptions, {order}",
                ["", "median ns", "p99 ns", "× core", "× Python"],
            )
            for row in sorted(here, key=lambda row: row["median_ns"]):
                to_core, to_python = (ratio(rows, row, to=who) for who in (CORE, PYTHON))
                ours = row["who"].startswith("subtrie")
                if not ours and min(to_python or 1, ratio(rows, row) or 1) < 1:
                    section.lost.add(len(section.lines))
                figures = [number(row["median_ns"]), number(row.get("p99_ns"))]
                section.lines.append([row["who"], *figures, times(to_core), times(to_python)])
            made.append(section)
    return made


def yardsticks(rows: list[Row]) -> list[Section]:
    """Make the section with the cost of a call from Python."""
    section = Section("cost of a call from Python", ["", "median ns"])
    for row in sorted(_of(rows, "yardstick"), key=lambda row: row["median_ns"]):
        section.lines.append([row["who"], number(row["median_ns"])])
    return [section]


def batches(rows: list[Row]) -> list[Section]:
    """Make the section of batch lookups, in subjects per second."""
    section = Section("batch lookups", ["", "subscriptions", "order", "million/s"])
    for row in _of(rows, "batch"):
        rate = number(row["per_second"] / 1e6, 2)
        section.lines.append([row["who"], number(row["size"]), row["order"], rate])
    return [section]


def memory(rows: list[Row]) -> list[Section]:
    """Make the section of bytes per subscription."""
    section = Section(
        "memory, bytes per subscription", ["", "subscriptions", "own count", "heap growth"]
    )
    for row in _of(rows, "memory"):
        counts = [number(row.get("own_bytes")), number(row.get("heap_bytes"))]
        section.lines.append([row["who"], number(row["size"]), *counts])
    return [section]


def changes(rows: list[Row]) -> list[Section]:
    """Make the sections of building and of single changes at full size."""
    build = Section("building an index", ["", "subscriptions", "thousand/s"])
    for row in _of(rows, "build"):
        rate = number(row["per_second"] / 1e3)
        build.lines.append([row["who"], number(row["size"]), rate])
    single = Section(
        "one change at full size, and every insert while growing",
        ["", "", "subscriptions", "median ns", "p99 ns", "longest µs", "× subtrie"],
    )
    for row in _of(rows, "insert", "remove", "grow"):
        spread = [number(row["median_ns"]), number(row["p99_ns"]), number(row["max_ns"] / 1e3)]
        times_ours = times(ratio(rows, row))
        single.lines.append([row["measure"], row["who"], number(row["size"]), *spread, times_ours])
    return [build, single]


def readers(rows: list[Row]) -> list[Section]:
    """Make the section of readers during writes."""
    section = Section(
        "readers during writes, hot",
        ["", "readers", "writer", "million/s", "of CPU time", "changes/s", "median ns", "p99.9 ns",
         "longest µs"],
    )  # fmt: skip
    for row in _of(rows, "readers"):
        section.lines.append(
            [
                row["scheme"],
                str(row["readers"]),
                row["writer"],
                number(row["per_second"] / 1e6, 2),
                number(row["per_cpu_second"] / 1e6 if "per_cpu_second" in row else None, 2),
                number(row["changes_per_second"]),
                number(row["median_ns"]),
                number(row["p999_ns"]),
                number(row["max_ns"] / 1e3),
            ]
        )
    return [section]


def questions(rows: list[Row]) -> list[Section]:
    """Make the section of the other lookup methods, from Python."""
    section = Section(
        "other lookup methods, 6,000 subscriptions", ["", "", "median ns", "× Python"]
    )
    for row in _of(rows, "select", "groups", "has_interest", "count", "explain"):
        to_python = times(ratio(rows, row, to=PYTHON))
        section.lines.append([row["measure"], row["who"], number(row["median_ns"]), to_python])
    return [section]


def wanted(rows: list[Row]) -> list[Section]:
    """Make the section of targets."""
    section = Section("targets of the index", ["", "target", "measured", ""])
    for figure in figures(rows):
        verdict = {None: "", True: "reached", False: "missed"}[figure.reached]
        if figure.reached is False:
            section.lost.add(len(section.lines))
        section.lines.append([figure.what, figure.wanted, figure.shown, verdict])
    return [section]


def lost(rows: list[Row]) -> list[Section]:
    """Make the section of rows in which another index is faster."""
    section = Section(
        "where another index is faster", ["", "", "subscriptions", "order", "subtrie is slower by"]
    )
    for row, _, behind in losing(rows):
        where = [row["measure"], row["who"], number(row["size"]), row.get("order", "")]
        section.lines.append([*where, f"{behind:,.2f} ×"])
    return [section]
