"""Violations: messages against the rules, under another name, or on another plane.

Only messages and subscriptions that the broker accepted count. Pure rules without Spark.
"""  # P-08

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._partial.rates import both_rates, rate_at, table_rate
from .._schema import TABLE_KEYS
from .folding import fold
from .sums import PROGRAM, greatest_known, least_known

#: What a row is about: kind, identity, folded subject, account, user, name and what proves it.
_Key = tuple[str | None, ...]


def violation_rows(
    edges: Iterable[Mapping[str, Any]],
    rule_of: Callable[[Mapping[str, Any], str], str | None],
    subscribed: Iterable[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return the rows of ``violations``.

    Args:
        edges: The rows of ``Answers.edges``.
        rule_of: Returns the rule that forbids a subject of an edge, else the nearest one.
        subscribed: Accepted subscriptions that the rules forbid.
    """
    found: dict[_Key, dict[str, Any]] = {}
    planes: dict[tuple[str, str | None], dict[str, dict[_Key, dict[str, Any]]]] = {}
    for row in edges:
        if not row["published"]:
            continue
        witness = min(row["witnesses"])
        program = _program(row)
        about = row["identity"], fold(row["pattern"]), *program
        if row["allowed"] is False:
            rule = rule_of(row, witness)
            _add(found, ("forbidden", *about), row, witness, rule)
        if row["standing"] == "spoofed":
            _add(found, ("spoofed", *about), row, witness, None)
        if row["plane"] is not None and row["standing"] != "unknown":
            of_identity = planes.setdefault((row["identity"], row["account"]), {})
            _add(of_identity.setdefault(row["plane"], {}), program, row, witness, None)
    for (who, _), by_plane in planes.items():
        counts = {plane: sum(each["count"] for each in rows.values())
                  for plane, rows in by_plane.items()}  # fmt: skip
        home = min(counts, key=lambda plane: (-counts[plane], plane))
        for plane, rows in by_plane.items():
            for program, row in rows.items() if plane != home else ():
                found["cross_plane", who, f"{plane}.>", *program] = row
    for each in subscribed:
        pattern, queue = each["pattern"], each["queue"]
        witness = pattern if queue is None else f"{pattern} {queue}"
        row = {"published": 1, "first": each["start"], "last": each["start"],
               "rate": rate_at(each["start"])}  # fmt: skip
        about = each["identity"], fold(pattern), *_program(each)
        _add(found, ("forbidden_subscription", *about), row, witness, None)
    return [{**dict(zip(TABLE_KEYS["violations"], key, strict=True)), **row,
             "rate": table_rate(row["rate"], of=row["count"])}
            for key, row in found.items()]  # fmt: skip


def _program(row: Mapping[str, Any]) -> _Key:
    return tuple(row[name] for name in PROGRAM)


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
        {"rule": rule, "count": 0, "first": row["first"], "last": row["last"], "rate": None,
         "witness": witness},
    )  # fmt: skip
    into["count"] += row["published"]
    into["first"] = least_known(into["first"], row["first"])
    into["last"] = greatest_known(into["last"], row["last"])
    into["rate"] = both_rates(into["rate"], row["rate"])
    if witness < into["witness"]:
        into["witness"], into["rule"] = witness, rule
