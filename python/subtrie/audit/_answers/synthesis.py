"""The smallest rules that cover the traffic of services, and what is too thin for a rule.

There is one rule for each source, destination, port, method, slot and subscribed route. A message
is evidence if the broker accepted it, a client received it, the identity of its connection is its
source, and today's rules, if they are known, do not forbid it. A rule needs evidence on
``min_days`` days. A part of the path becomes a wildcard if the subscribed route has one there, and
the evidence for the route has several values, on ``min_days`` days, from ``min_sources`` sources.
The trust root is never generalised. Planes are never wildcards, and slots are those that were used.
Pure rules without Spark.
"""  # P-05, P-06

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ... import microbus
from ..._core import engine
from ..._core.errors import SubtrieError
from .folding import HEAD, fold

#: The values at a wildcard of a route: the least and the greatest.
Values = tuple[str, str]


@dataclass(frozen=True)
class Edge:
    """Messages of one service to one pattern.

    Attributes:
        service: The sender: its verified identity, else the source in the subject.
        kind: ``request``, ``reply`` or ``other``.
        pattern: The subject with the subscribed route in place of the path, else folded.
        route: The subscribed route, or None.
        standing: ``verified``, ``unknown`` or ``spoofed``.
        allowed: Whether today's rules allow it; None if they are not known.
        published: The accepted messages.
        taken: Those that a client received.
        days: The days on which one was received.
        witnesses: A few of the subjects.
    """

    service: str
    kind: str
    pattern: str
    route: str | None
    standing: str
    allowed: bool | None
    published: int
    taken: int
    days: frozenset[int]
    witnesses: tuple[str, ...]

    @property
    def is_evidence(self) -> bool:
        """Whether rules may be derived from it."""
        return self.taken > 0 and self.standing == "verified" and self.allowed is not False


def route_key(pattern: str) -> str:
    """Return what the edges to one route have in common: all but the source and the slot."""
    tokens = pattern.split(".")
    return ".".join([*tokens[:3], tokens[4], *tokens[6:]])


def propose(
    edges: Iterable[Edge],
    values: Mapping[str, Mapping[int, Values]],
    *,
    min_days: int = 3,
    min_sources: int = 2,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rules to publish, and what is too thin for one.

    Args:
        edges: The traffic.
        values: For each route (by ``route_key``), the values at its wildcards, by their position
            in the path. Only those of evidence.
        min_days: The days on which there must be evidence.
        min_sources: The services from which there must be evidence for a wildcard.

    Returns:
        Rows of ``proposal`` without ``covered_by``, and rows of ``too_thin``.
    """
    edges = list(edges)
    routes: dict[str, list[Edge]] = {}
    for edge in edges:
        if edge.kind == "request" and edge.route is not None and edge.is_evidence:
            routes.setdefault(route_key(edge.pattern), []).append(edge)
    known = {(each.service, each.pattern) for each in edges if each.is_evidence}
    rules: list[dict[str, Any]] = []
    thin: list[dict[str, Any]] = []
    for edge in edges:
        if edge.standing == "spoofed" or edge.allowed is False:
            continue  # in the table of violations
        if edge.kind == "reply":
            rules += _reply(edge)
            continue
        why = _unfit(edge)
        if why is not None and not edge.is_evidence and (edge.service, edge.pattern) in known:
            continue
        if why is not None:
            thin.append(_thin(edge, edge.days, 1, why))
            continue
        key = route_key(edge.pattern)
        others = routes[key]
        sources = len({each.service for each in others})
        days = frozenset().union(*(each.days for each in others))
        path, reasons = _path(edge, values.get(key, {}))
        if reasons.several:
            why = _short(len(days), min_days, "days") or _short(sources, min_sources, "sources")
            if edge.pattern.split(".")[1] == "danger":
                why = "several values, and the trust root is not generalised"
        why = why or _short(len(edge.days), min_days, "days")
        if why is not None:
            thin.append(_thin(edge, edge.days, sources, why))
            continue
        if reasons.single:
            parts = ", ".join(str(each) for each in reasons.single)
            thin.append(_thin(edge, edge.days, sources, f"one value of path part {parts}"))
        rule = ".".join([*edge.pattern.split(".")[:HEAD], *path])
        rules.append(_rule(edge.service, "publish", rule, edge.days, sources, edge))
    return _merged(rules), _distinct(thin)


@dataclass
class _Reasons:
    """The wildcards of a route with several values, and those with one, counted from 1."""

    several: list[int]
    single: list[int]


def _unfit(edge: Edge) -> str | None:
    """Return why no rule can be derived from an edge, apart from days and sources."""
    if edge.kind != "request":
        return "not a Microbus request"
    if not edge.published:
        return "never accepted"
    if edge.standing != "verified":
        return "the sender is not verified"
    if not edge.taken:
        return "never delivered"
    if edge.route is None:
        return "no subscribed route"
    return None


def _path(edge: Edge, values: Mapping[int, Values]) -> tuple[list[str], _Reasons]:
    """Return the path of the rule, as far as the values allow wildcards."""
    path = []
    reasons = _Reasons([], [])
    for position, token in enumerate(edge.pattern.split(".")[HEAD:]):
        least, greatest = values.get(position, (None, None))
        if token not in ("*", ">") or least is None:
            path.append(token)
        elif least == greatest:
            path.append(least)
            reasons.single.append(position + 1)
        else:
            path.append(token)
            reasons.several.append(position + 1)
    return path, reasons


def _short(count: int, least: int, what: str) -> str | None:
    return None if count >= least else f"{count} of {least} {what}"


def _reply(edge: Edge) -> list[dict[str, Any]]:
    """Return the rule to reply, which every service that answers needs."""
    if not edge.is_evidence:
        return []
    plane, _, _, me = edge.pattern.split(".")[:4]
    return [_rule(edge.service, "publish", f"{plane}.reply._.{me}.>", edge.days, 1, edge)]


def propose_subscriptions(
    subscriptions: Iterable[Mapping[str, Any]], *, min_days: int = 3
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rules to subscribe, and what is too thin for one.

    What a service subscribes to on its own host, for its replies and for the control of all
    services has the rules that every service needs. Anything else is taken as it is.

    Args:
        subscriptions: Rows with ``identity``, ``pattern``, ``allowed``, ``days`` and ``count``.
        min_days: The days on which it must have been subscribed to.
    """
    rules: list[dict[str, Any]] = []
    thin: list[dict[str, Any]] = []
    for row in subscriptions:
        service, pattern = row["identity"], row["pattern"]
        if row["allowed"] is False:
            continue
        edge = Edge(service, "subscription", pattern, None, "verified", row["allowed"],
                    row["count"], row["count"], row["days"], (pattern,))  # fmt: skip
        framework = _framework(service, pattern)
        if framework is not None:
            rules.append(_rule(service, "subscribe", framework, edge.days, 1, edge))
            continue
        why = _unfit_subscription(pattern) or _short(len(edge.days), min_days, "days")
        if why is None:
            rules.append(_rule(service, "subscribe", pattern, edge.days, 1, edge))
        else:
            thin.append({**_thin(edge, edge.days, 1, why), "verb": "subscribe"})
    return _merged(rules), _distinct(thin)


def _framework(service: str, pattern: str) -> str | None:
    """Return the rule of every service that covers a subscription, or None."""
    try:
        own = microbus.flatten_host(microbus.check_identity_host(service))
    except SubtrieError:
        return None
    plane = pattern.split(".")[0]
    if plane in ("*", ">"):
        return None
    for rule in (
        f"{plane}.safe.*.*.{own}.>",
        f"{plane}.safe.888.*.all.>",
        f"{plane}.reply._.*.{own}.*",
    ):
        if engine.covers(rule, pattern):
            return rule
    return None


def _unfit_subscription(pattern: str) -> str | None:
    """Return why a subscription cannot be a rule."""
    tokens = pattern.split(".")
    if tokens[0] in ("*", ">"):
        return "a wildcard in place of a plane"
    if tokens[0].startswith("_INBOX"):
        return "an inbox: give the client a prefix of its own"
    if len(tokens) > 1 and tokens[1] in ("*", ">") and engine.overlaps(pattern, "*.danger.>"):
        return "it reaches the trust root"
    return None


def _rule(
    service: str, verb: str, rule: str, days: frozenset[int], sources: int, edge: Edge
) -> dict[str, Any]:
    return {
        "service": service,
        "verb": verb,
        "rule": rule,
        "days": days,
        "sources": sources,
        "count": edge.taken,
        "witnesses": set(edge.witnesses),
    }


def _thin(edge: Edge, days: frozenset[int], sources: int, why: str) -> dict[str, Any]:
    return {
        "service": edge.service,
        "verb": "publish",
        "pattern": fold(edge.pattern) if edge.kind == "other" else edge.pattern,
        "days": len(days),
        "sources": sources,
        "count": edge.published,
        "why": why,
        "witness": min(edge.witnesses, default=None),
    }


def _merged(rules: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add up equal rules."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rules:
        key = (row["service"], row["verb"], row["rule"])
        into = found.setdefault(key, {**row, "days": frozenset(), "count": 0, "witnesses": set()})
        into["days"] |= row["days"]
        into["count"] += row["count"]
        into["sources"] = max(into["sources"], row["sources"])
        into["witnesses"] |= row["witnesses"]
    return [
        {**row, "days": len(row["days"]), "witnesses": " ".join(sorted(row["witnesses"])[:3])}
        for _, row in sorted(found.items())
    ]


def _distinct(thin: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each service, verb and pattern: that with the most messages."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in thin:
        key = (row["service"], row["verb"], row["pattern"])
        if key not in found or (row["count"], row["why"]) > (
            found[key]["count"],
            found[key]["why"],
        ):
            found[key] = row
    return [row for _, row in sorted(found.items())]
