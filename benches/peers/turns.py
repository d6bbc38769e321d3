"""Turn the rows that were measured in turn into sections of the table."""

from __future__ import annotations

from rows import BASELINE, CACHES, CORE, EMPTY, PYTHON, Row, find, is_own
from sections import Section, number, times


def _of(rows: list[Row], measure: str) -> list[Row]:
    return [row for row in rows if row["measure"] == measure]


def _own(rows: list[Row], row: Row, who: str) -> Row | None:
    same = {key: row[key] for key in ("measure", "size", "order", "form") if key in row}
    return find(rows, who=who, **same)


def in_turns(rows: list[Row]) -> list[Section]:
    """Make the section of lookups, the fastest first."""
    section = Section(
        "least time of a lookup, in turns",
        ["", "subscriptions", "order", "least ns", "× core", "× Python"],
    )
    found = _of(rows, "turns")
    for row in sorted(found, key=lambda row: (row["size"], row["order"], row["least_ns"])):
        core, python = (
            row["least_ns"] / own["least_ns"] if (own := _own(rows, row, who)) else None
            for who in (CORE, PYTHON)
        )
        ours = is_own(row["who"]) or row["who"] == EMPTY
        if not ours and (python or 1) < 1:
            section.lost.add(len(section.lines))
        where = [row["who"], number(row["size"]), row["order"]]
        section.lines.append([*where, number(row["least_ns"]), times(core), times(python)])
    return [section]


def shared(rows: list[Row]) -> list[Section]:
    """Make the section of changes of one pattern with many subscriptions."""
    section = Section("changes of one pattern, in turns", ["", "", "subscriptions", "least ns"])
    for row in _of(rows, "turns shared"):
        what = [row["form"], row["who"], number(row["size"])]
        section.lines.append([*what, number(row["least_ns"])])
    return [section]


def batches_in_turns(rows: list[Row]) -> list[Section]:
    """Make the section of batches on one core."""
    section = Section(
        "batches on one core, in turns", ["", "subscriptions", "order", "million/s", "× baseline"]
    )
    for row in _of(rows, "turns batch"):
        base = _own(rows, row, BASELINE)
        over = row["per_second"] / base["per_second"] if base else None
        where = [row["who"], number(row["size"]), row["order"]]
        section.lines.append([*where, number(row["per_second"] / 1e6, 2), times(over)])
        if row["who"] == PYTHON and (over or 1) < 1:
            section.lost.add(len(section.lines) - 1)
    return [section]


def caches(rows: list[Row]) -> list[Section]:
    """Make the section of what caches hold after the Zipf order."""
    section = Section("caches after the Zipf order", ["", "subscriptions", "entries", "MiB grown"])
    for row in _of(rows, "turns"):
        if row["who"] in CACHES:
            grown = number(row["cache_bytes"] / 2**20, 1)
            section.lines.append([row["who"], number(row["size"]), number(row["entries"]), grown])
    return [section]


def loading(rows: list[Row]) -> list[Section]:
    """Make the section of loading from Python, and of the memory that it takes."""
    load = Section(
        "loading from Python, in turns", ["", "subscriptions", "from", "thousand/s", "× baseline"]
    )
    for row in _of(rows, "turns load"):
        base = find(rows, who=BASELINE, measure=row["measure"], size=row["size"])
        over = row["per_second"] / base["per_second"] if base else None
        rate = number(row["per_second"] / 1e3)
        load.lines.append([row["who"], number(row["size"]), row["form"], rate, times(over)])
    memory = Section(
        "growth of the process, handles kept", ["", "subscriptions", "bytes per subscription"]
    )
    for row in _of(rows, "turns memory"):
        memory.lines.append([row["who"], number(row["size"]), number(row["heap_bytes"])])
    return [load, memory]


def codec(rows: list[Row]) -> list[Section]:
    """Make the section of the codec of addresses."""
    section = Section("the codec of addresses, in turns", ["", "", "least ns", "× subtrie"])
    for row in _of(rows, "turns codec"):
        own = _own(rows, row, PYTHON)
        over = row["least_ns"] / own["least_ns"] if own else None
        section.lines.append([row["form"], row["who"], number(row["least_ns"]), times(over)])
    return [section]


def images(rows: list[Row]) -> list[Section]:
    """Make the section of opening an image, and of what comes first after that."""
    section = Section("opening an image", ["", "", "subscriptions", "least µs"])
    for row in _of(rows, "turns image"):
        took = number(row["least_ns"] / 1e3, 1)
        section.lines.append([row["form"], row["who"], number(row["size"]), took])
    return [section]


def waits(rows: list[Row]) -> list[Section]:
    """Make the section of three threads of Python that share one index."""
    section = Section(
        "waits of three threads",
        ["", "changes", "call", "calls", "median µs", "p99.9 µs", "longest µs"],
    )
    for row in _of(rows, "waits"):
        spread = [number(row[f"{name}_us"], 1) for name in ("median", "p999", "max")]
        what = [row["who"], row["writer"], row["call"], number(row["calls"])]
        section.lines.append([*what, *spread])
    return [section]
