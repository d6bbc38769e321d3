"""Comparison of the audit of the broker's log with the services' own counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from subtrie.microbus import RequestAddress, decode

from .counters import Counters, edge_of

Report = Mapping[str, Any]


def differences(counted: Counters, report: Report, lines: int) -> list[str]:
    """Return a sentence for each number that differs; an empty list if none does.

    Args:
        counted: The counts of the services.
        report: The result of the audit.
        lines: The number of lines in the log.
    """
    return [
        f"{what}: the services counted {ours}, the audit says {theirs}"
        for what, ours, theirs in _pairs(counted, report, lines)
        if ours != theirs
    ]


def _pairs(counted: Counters, report: Report, lines: int) -> Iterator[tuple[str, int, int]]:
    """Yield every number that both sides have: its name, the services' value, the audit's."""
    yield "lines in the log", lines, report["lines"]
    parts = ("operations", "payloads", "server", "unparseable_lines")
    yield "lines in all tables", lines, sum(report[part] for part in parts)
    yield "unmatched deliveries", 0, report["unmatched"]

    undelivered = Counter[Any]()
    for subject, count in counted.undelivered.items():
        if isinstance(decode(subject), RequestAddress):
            undelivered[edge_of(subject)] += count
    edge = ("source", "destination", "port", "method")
    for column, ours in (
        ("published", counted.sent),
        ("delivered", counted.handled),
        ("undelivered", undelivered),
        ("refused", Counter[Any]()),
    ):
        theirs = _counts(report["call_graph"], edge, column)
        yield from _each(f"call graph, {column}", ours, theirs)

    replies = _counts(report["replies"], ("replier", "caller"), "published")
    yield from _each("replies", counted.replies, replies)
    for table, ours, key in (
        ("undelivered", counted.undelivered, ("subject",)),
        ("malformed", counted.malformed, ("subject",)),
        ("spoofed", counted.spoofed, ("who", "claimed", "subject")),
        ("other_traffic", counted.other_traffic, ("subject",)),
        ("refused", Counter[Any](), ("subject",)),
    ):
        yield from _each(table, ours, _counts(report[table], key, "count"))
    delivered = _counts(report["malformed"], ("subject",), "received")
    yield from _each("malformed, delivered", counted.rejected, delivered)


def _counts(rows: Iterable[Mapping[str, Any]], key: tuple[str, ...], column: str) -> Counter[Any]:
    """Return the rows of a table as counts by key; a key of one column is that value."""
    counts = Counter[Any]()
    for row in rows:
        values = tuple(row[name] for name in key)
        counts[values if len(values) > 1 else values[0]] += int(row[column])
    return counts


def _each(what: str, ours: Counter[Any], theirs: Counter[Any]) -> Iterator[tuple[str, int, int]]:
    for key in sorted(ours.keys() | theirs.keys(), key=str):
        name = " ".join(str(part) for part in key) if isinstance(key, tuple) else key
        yield f"{what}, {name}", ours[key], theirs[key]
