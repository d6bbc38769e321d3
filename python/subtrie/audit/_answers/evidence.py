"""Evidence for rules: the edges of a service to one pattern, and what its code leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...acl._synthesis import Program
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
    """Add up edges that differ in the rule that decides, the call in the code or the program only.

    What each program sent is in ``programs``.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in edges:
        program = Program(row["user"], row["client"], row["identity_source"])
        sent = {name: row[name] for name in ("published", "taken")}
        sent |= {name: set(row[name]) for name in ("days", "witnesses")}
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
            into |= {"codes": {row["code"]}, "code_days": _code_days(row)}
            found[key] = into | {"programs": {program: sent}}
            continue
        own = into["programs"].get(program)
        if own is None:
            into["programs"][program] = sent
        else:
            _add(own, sent)
        into["code_days"] |= _code_days(row)
        into["codes"].add(row["code"])
        _add(into, sent)
    return list(found.values())


def _add(into: dict[str, Any], sent: Mapping[str, Any]) -> None:
    """Add messages to those of a row."""
    for name in ("published", "taken"):
        into[name] += sent[name]
    for name in ("days", "witnesses"):
        into[name] |= sent[name]
