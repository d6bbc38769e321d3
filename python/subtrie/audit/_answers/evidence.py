"""Evidence for rules: the edges of a service to one pattern, and what its code leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .folding import HEAD
from .gaps import CodeCall


def left_open(row: Mapping[str, Any], calls: Sequence[CodeCall], min_days: int) -> dict[int, str]:
    """Return the parts of the path of an edge that each of its calls in the code leaves open.

    Where the route takes all that follows, the code may leave less open.
    """
    codes = row["codes"] - {None}
    partly = None in row["codes"] and len(row["code_days"]) < min_days
    if row["route"] is None or not codes or partly:
        return {}
    route = row["route"].split(".")
    found: set[tuple[str, ...]] = set()
    for number in codes:
        path = calls[number].pattern.split(".")[HEAD:]
        if path[-1] == ">" and len(path) <= len(route):
            path = [*path[:-1], *route[len(path) - 1 :]]
        found.add((*path[: len(route) - 1], ".".join(path[len(route) - 1 :])))
    (path, *others) = found
    if others or len(path) != len(route):
        return {}
    return {
        part: path[part]
        for part, token in enumerate(route)
        if token in ("*", ">") and not {"*", ">"}.isdisjoint(path[part].split("."))
    }


def _code_days(row: Mapping[str, Any]) -> set[int]:
    """Return the days of messages that a call in the code sends."""
    return set() if row["code"] is None else set(row["days"])


def together(edges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add up edges that differ in the rule that decides or the call in the code only."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in edges:
        key = tuple(
            row[n]
            for n in (
                *("service", "kind", "pattern", "standing", "allowed", "account"),
                "identity_source",
            )
        )
        into = found.get(key)
        if into is None:
            into = {**row, "days": set(row["days"]), "witnesses": set(row["witnesses"])}
            found[key] = into | {"codes": {row["code"]}, "code_days": _code_days(row)}
            continue
        into["code_days"] |= _code_days(row)
        into["codes"].add(row["code"])
        into["published"] += row["published"]
        into["taken"] += row["taken"]
        into["days"] |= set(row["days"])
        into["witnesses"] |= set(row["witnesses"])
    return list(found.values())
