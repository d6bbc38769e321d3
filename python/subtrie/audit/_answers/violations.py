"""Violations: messages against the rules, under another name, or on another plane.

Only messages and subscriptions that the broker accepted count. Pure rules without Spark.
"""  # P-08

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from .folding import fold
from .sums import greatest_known, least_known

#: An identity, a pattern that it subscribed to, the queue, the time, and the account.
Subscribed = tuple[str, str, str | None, datetime, str | None]


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
    found: dict[tuple[str, str, str, str | None], dict[str, Any]] = {}
    planes: dict[tuple[str, str | None], dict[str, dict[str, Any]]] = {}
    for row in edges:
        if not row["published"]:
            continue
        witness = min(row["witnesses"])
        about = row["identity"], fold(row["pattern"]), row["account"]
        if row["allowed"] is False:
            rule = rule_of(row, witness)
            _add(found, ("forbidden", *about), row, witness, rule)
        if row["standing"] == "spoofed":
            _add(found, ("spoofed", *about), row, witness, None)
        if row["plane"] is not None and row["standing"] != "unknown":
            into = planes.setdefault((row["identity"], row["account"]), {})
            _add(into, row["plane"], row, witness, None)
    for (who, account), by_plane in planes.items():
        home = min(by_plane, key=lambda plane: (-by_plane[plane]["count"], plane))
        for plane, row in by_plane.items():
            if plane != home:
                found["cross_plane", who, f"{plane}.>", account] = row
    for identity, pattern, queue, time, account in subscribed:
        witness = pattern if queue is None else f"{pattern} {queue}"
        row = {"published": 1, "first": time, "last": time}
        about = identity, fold(pattern), account
        _add(found, ("forbidden_subscription", *about), row, witness, None)
    return [
        {"kind": kind, "who": who, "subject": subject, "account": account, **row}
        for (kind, who, subject, account), row in found.items()
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
