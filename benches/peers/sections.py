"""The rows of a run as sections of a table, the same for terminal, pipe and page."""

from __future__ import annotations

from dataclasses import dataclass, field

from figures import figures
from rows import CORE, PYTHON, Row, losing, ratio

ORDERS = ("hot", "zipf", "uniform")


@dataclass
class Section:
    """A heading, column names and lines; ``lost`` holds the lines in which another is ahead."""

    title: str
    columns: list[str]
    lines: list[list[str]] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)


def number(value: object, digits: int = 0) -> str:
    """A figure for people: thousands apart; nothing where there is none."""
    return f"{value:,.{digits}f}" if isinstance(value, (int, float)) else ""


def times(value: float | None) -> str:
    """A ratio."""
    return "" if value is None else f"{value:,.2f}"


def _of(rows: list[Row], *measures: str) -> list[Row]:
    return [row for row in rows if row["measure"] in measures]


def lookups(rows: list[Row]) -> list[Section]:
    """A section for each size and order, the fastest first."""
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
    """What a call from Python stands on."""
    section = Section("what a lookup from Python stands on", ["", "median ns"])
    for row in sorted(_of(rows, "yardstick"), key=lambda row: row["median_ns"]):
        section.lines.append([row["who"], number(row["median_ns"])])
    return [section]


def batches(rows: list[Row]) -> list[Section]:
    """Columns, in subjects a second."""
    section = Section("a column at once", ["", "subscriptions", "order", "million/s"])
    for row in _of(rows, "batch"):
        rate = number(row["per_second"] / 1e6, 2)
        section.lines.append([row["who"], number(row["size"]), row["order"], rate])
    return [section]


def memory(rows: list[Row]) -> list[Section]:
    """Bytes a subscription."""
    section = Section(
        "memory, bytes a subscription", ["", "subscriptions", "its own count", "the heap's growth"]
    )
    for row in _of(rows, "memory"):
        counts = [number(row.get("own_bytes")), number(row.get("heap_bytes"))]
        section.lines.append([row["who"], number(row["size"]), *counts])
    return [section]


def changes(rows: list[Row]) -> list[Section]:
    """Building, and single changes at size."""
    build = Section("building, from empty to all", ["", "subscriptions", "thousand/s"])
    for row in _of(rows, "build"):
        rate = number(row["per_second"] / 1e3)
        build.lines.append([row["who"], number(row["size"]), rate])
    single = Section(
        "one change at size, and every insert while growing",
        ["", "", "subscriptions", "median ns", "p99 ns", "longest µs", "× ours"],
    )
    for row in _of(rows, "insert", "remove", "grow"):
        spread = [number(row["median_ns"]), number(row["p99_ns"]), number(row["max_ns"] / 1e3)]
        times_ours = times(ratio(rows, row))
        single.lines.append([row["measure"], row["who"], number(row["size"]), *spread, times_ours])
    return [build, single]


def readers(rows: list[Row]) -> list[Section]:
    """Readers beside a writer."""
    section = Section(
        "readers beside a writer, hot",
        ["", "readers", "writer", "million/s", "changes/s", "median ns", "p99.9 ns", "longest µs"],
    )
    for row in _of(rows, "readers"):
        section.lines.append(
            [
                row["scheme"],
                str(row["readers"]),
                row["writer"],
                number(row["per_second"] / 1e6, 2),
                number(row["changes_per_second"]),
                number(row["median_ns"]),
                number(row["p999_ns"]),
                number(row["max_ns"] / 1e3),
            ]
        )
    return [section]


def questions(rows: list[Row]) -> list[Section]:
    """The other questions, from Python."""
    section = Section("other questions, 6,000 subscriptions", ["", "", "median ns", "× Python"])
    for row in _of(rows, "select", "groups", "has_interest", "count", "explain"):
        to_python = times(ratio(rows, row, to=PYTHON))
        section.lines.append([row["measure"], row["who"], number(row["median_ns"]), to_python])
    return [section]


def wanted(rows: list[Row]) -> list[Section]:
    """What the index is held to."""
    section = Section("what we hold the index to", ["", "wanted", "seen", ""])
    for figure in figures(rows):
        verdict = {None: "", True: "reached", False: "missed"}[figure.reached]
        if figure.reached is False:
            section.lost.add(len(section.lines))
        section.lines.append([figure.what, figure.wanted, figure.shown, verdict])
    return [section]


def lost(rows: list[Row]) -> list[Section]:
    """Where another is ahead of ours."""
    section = Section(
        "where another is ahead", ["", "", "subscriptions", "order", "ours is behind"]
    )
    for row, _, behind in losing(rows):
        where = [row["measure"], row["who"], number(row["size"]), row.get("order", "")]
        section.lines.append([*where, f"{behind:,.2f} ×"])
    return [section]


def all_sections(rows: list[Row]) -> list[Section]:
    """The whole table."""
    parts = (lookups, yardsticks, batches, memory, changes, readers, questions, wanted, lost)
    return [section for part in parts for section in part(rows) if section.lines]
