"""Violations: messages against the rules, under another name, or on another plane.

Only messages and subscriptions that the broker accepted count. Pure rules without Spark.
"""  # P-08

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from .folding import fold
from .sums import greatest_known, least_known

#: An identity, a pattern that it subscribed to, the queue, and the time.
Subscribed = tuple[str, str, str | None, datetime]


def violation_rows(
    edges: Iterable[Mapping[str, Any]],
    rule_of: Callable[[Mapping[str, Any], str], str | None],
    subscribed: Iterable[Subscribed],
) -> list[dict[str, Any]]:
    """Return the rows of ``violations``.

    Args:
        edges: The rows of ``Answers.edges``.
        rule_of: Returns the rule that forbids a subject of an edge, else the nearest one.
        subscribed: Accepted subscriptions that the rules forbid.
    """
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    planes: dict[str, dict[str, dict[str, Any]]] = {}
    for row in edges:
        if not row["published"]:
            continue
        witness = min(row["witnesses"])
        if row["allowed"] is False:
            rule = rule_of(row, witness)
            _add(found, ("forbidden", row["identity"], fold(row["pattern"])), row, witness, rule)
        if row["standing"] == "spoofed":
            _add(found, ("spoofed", row["identity"], fold(row["pattern"])), row, witness, None)
        if row["plane"] is not None and row["standing"] != "unknown":
            into = planes.setdefault(row["identity"], {})
            _add(into, row["plane"], row, witness, None)
    for who, by_plane in planes.items():
        home = min(by_plane, key=lambda plane: (-by_plane[plane]["count"], plane))
        for plane, row in by_plane.items():
            if plane != home:
                found["cross_plane", who, f"{plane}.>"] = row
    for identity, pattern, queue, time in subscribed:
        witness = pattern if queue is None else f"{pattern} {queue}"
        row = {"published": 1, "first": time, "last": time}
        _add(found, ("forbidden_subscription", identity, fold(pattern)), row, witness, None)
    return [
        {"kind": kind, "who": who, "subject": subject, **row}
        for (kind, who, subject), row in found.items()
    ]


def _add(
    found: dict[Any, dict[str, Any]],
    key: Any,
    row: Mapping[str, Any],
    witness: str,
    rule: str | None,
) -> None:
    """Add the messages of a row to those of a key."""
    into = found.setdefault(
        key,
        {"rule": rule, "count": 0, "first": row["first"], "last": row["last"], "witness": witness},
    )
    into["count"] += row["published"]
    into["first"] = least_known(into["first"], row["first"])
    into["last"] = greatest_known(into["last"], row["last"])
    if witness < into["witness"]:
        into["witness"], into["rule"] = witness, rule
