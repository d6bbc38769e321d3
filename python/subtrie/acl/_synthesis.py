"""The smallest rules that cover observed traffic, and what is too thin for a rule.

Of Microbus there is one rule for each source, destination, port, method, slot and subscribed route.
A message is evidence if the broker accepted it, a client received it, the identity of its
connection is proven and is its source, and today's rules, if they are known, do not forbid it. A
rule needs evidence on ``min_days`` days, to which all programs of a service add. A part of the path
becomes a wildcard if the subscribed route has one there, and the evidence for the route has several
values, on ``min_days`` days, from ``min_sources`` sources; one suffices if its code has that call
with a wildcard there. The trust root is never generalised. Planes are never wildcards, and slots
are those that were used. Of other subjects, if they are asked for, the rule is the subscription
that received the messages. Pure rules, for the proposal of an audit and for narrowing a user's
entries.
"""  # P-05, P-06

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .. import microbus
from .._core import engine
from .._core.errors import SubtrieError

#: The values at a wildcard of a route: the least and the greatest.
Values = tuple[str, str]
#: The tokens of a Microbus request before its path.
_HEAD = 7
#: The standing of traffic whose sender the broker did not prove: the client chose its own name.
CLAIMED = "claimed"
#: Messages for the broker itself, which no client receives.
_BROKER = "$JS."


@dataclass(frozen=True)
class Thresholds:
    """The evidence that a rule needs.

    Attributes:
        days: The days on which there must be some.
        sources: The services from which there must be some for a wildcard.
        any_subject: Whether there are rules about subjects that are not of Microbus.
    """

    days: int = 3
    sources: int = 2
    any_subject: bool = False


class Program(NamedTuple):
    """One of the programs of a service: its user, its own name, and what its identity rests on."""

    user: str | None = None
    client: str | None = None
    identity_source: str | None = None


_ONE = Program()


@dataclass(frozen=True)
class Observed:
    """Messages of one program of an identity to one pattern, or a subscription of it.

    Attributes:
        service: The sender: its verified identity, else the source in the subject; the subscriber.
        kind: ``request``, ``reply`` or ``other`` of what is published, else ``subscription``.
        pattern: The subject with the subscribed route in place of the path, else folded; what is
            subscribed to.
        route: The subscribed route, or None.
        standing: ``verified``, ``unknown``, ``spoofed``, or ``claimed``.
        allowed: Whether today's rules allow it; None if they are not known.
        published: The accepted messages or subscriptions; the most if their number is not known.
        taken: Those that a client received; the least if their number is not known.
        days: The days on which one was received, or the subscription was there.
        witnesses: A few of the subjects.
        free: What the call in the code of the sender leaves open: wildcards by the part of the
            path, from 0.
        coded: Whether the code of the sender has all of it, if it has a part.
        all_days: The days of all programs of the service; None if it is one.
        program: The program.
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
    free: Mapping[int, str] = field(default_factory=dict)
    coded: bool = True
    all_days: frozenset[int] | None = None
    program: Program = _ONE

    @classmethod
    def plain(cls, service: str, kind: str, pattern: str, published: int, taken: int) -> Observed:
        """Return traffic of a verified identity of which days are not known."""
        return cls(service, kind, pattern, None, "verified", None, published, taken, frozenset(),
                   (pattern,))  # fmt: skip

    @property
    def verb(self) -> str:
        """The verb of a rule that allows it."""
        return "subscribe" if self.kind == "subscription" else "publish"

    @property
    def number_of_days(self) -> int:
        """The days on which the service, whichever of its programs, has evidence."""
        return len(self.days if self.all_days is None else self.all_days)

    @property
    def is_evidence(self) -> bool:
        """Whether rules may be derived from it."""
        return self.taken > 0 and self.standing == "verified" and self.allowed is not False


def route_key(pattern: str) -> str:
    """Return what the edges to one route have in common: all but the source and the slot."""
    tokens = pattern.split(".")
    return ".".join([*tokens[:3], tokens[4], *tokens[6:]])


def propose(
    observed: Iterable[Observed],
    values: Mapping[str, Mapping[int, Values]],
    thresholds: Thresholds = Thresholds(),
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rules that the traffic justifies, and what is too thin for one.

    Args:
        observed: The traffic.
        values: For each route (by ``route_key``), the values at its wildcards, by their position
            in the path. Only those of evidence.
        thresholds: The evidence that a rule needs.

    Returns:
        Rows of ``proposal`` without ``covered_by``, and rows of ``too_thin``.
    """
    observed = list(observed)
    routes: dict[str, list[Observed]] = {}
    for each in observed:
        if each.kind == "request" and each.route is not None and each.is_evidence:
            routes.setdefault(route_key(each.pattern), []).append(each)
    known = {(e.service, e.verb, e.pattern) for e in observed if e.is_evidence}
    rules: list[dict[str, Any]] = []
    thin: list[dict[str, Any]] = []
    for each in observed:
        if each.standing == "spoofed" or each.allowed is False:
            continue  # in the table of violations
        if each.standing == CLAIMED:
            if each.published:
                thin.append(_thin(each, 1, "the broker did not prove the identity"))
            continue
        if each.kind == "reply":
            rules += _reply(each)
        elif each.kind == "subscription":
            _subscription(each, thresholds, rules, thin)
        elif each.kind == "other" and thresholds.any_subject:
            if not (each.taken or each.pattern.startswith(_BROKER)):
                thin.append(_thin(each, 1, "never delivered"))
            elif not _explained(each, observed):
                rules.append(_rule(each, each.pattern, 1))
        else:
            why = _unfit(each)
            if why is None:
                _request(each, routes, values, thresholds, rules, thin)
            elif each.is_evidence or (each.service, each.verb, each.pattern) not in known:
                thin.append(_thin(each, 1, why))
    return _merged(rules), _distinct(thin)


def _request(
    each: Observed,
    routes: Mapping[str, Sequence[Observed]],
    values: Mapping[str, Mapping[int, Values]],
    thresholds: Thresholds,
    rules: list[dict[str, Any]],
    thin: list[dict[str, Any]],
) -> None:
    """Add the rule of requests to a route, or why there is none."""
    key = route_key(each.pattern)
    others = routes[key]
    sources = len({one.service for one in others})
    days: frozenset[int] = frozenset().union(*(one.days for one in others))
    path, reasons = _path(each, values.get(key, {}))
    why = None
    if reasons.several:
        why = _short(len(days), thresholds.days, "days")
        alone = _short(sources, thresholds.sources, "sources")
        if alone and all(part - 1 in each.free for part in reasons.several):
            path = [each.free.get(part, token) for part, token in enumerate(path)]
            if not each.coded:
                thin.append(_thin(each, sources, alone))
        else:
            why = why or alone
        if each.pattern.split(".")[1] == "danger":
            why = "several values, and the trust root is not generalised"
    why = why or _short(each.number_of_days, thresholds.days, "days")
    if why is not None:
        thin.append(_thin(each, sources, why))
        return
    if reasons.single:
        parts = ", ".join(str(part) for part in reasons.single)
        thin.append(_thin(each, sources, f"one value of path part {parts}"))
    rule = ".".join([*each.pattern.split(".")[:_HEAD], *path])
    row = _rule(each, rule, sources)
    if not each.coded:
        row["witnesses"] = {text for text in row["witnesses"] if engine.matches(rule, text)}
    rules.append(row)


def _explained(wide: Observed, observed: Sequence[Observed]) -> bool:
    """Whether narrower patterns that have nothing in common received as many messages.

    A wide subscription, as that of a monitor, is not needed then.
    """
    narrower = sorted(
        (
            each
            for each in observed
            if each.taken
            and each.verb == "publish"
            and each.service == wide.service
            and each.pattern != wide.pattern
            and engine.covers(wide.pattern, each.pattern)
        ),
        key=lambda one: (-one.taken, one.pattern),
    )
    disjoint: list[str] = []
    count = 0
    for each in narrower:
        if not any(engine.overlaps(other, each.pattern) for other in disjoint):
            disjoint.append(each.pattern)
            count += each.taken
    return bool(disjoint) and count >= wide.published


@dataclass
class _Reasons:
    """The wildcards of a route with several values, and those with one, counted from 1."""

    several: list[int]
    single: list[int]


def _unfit(each: Observed) -> str | None:
    """Return why no rule can be derived from messages, apart from days and sources."""
    if each.kind != "request":
        return "not a Microbus request"
    if not each.published:
        return "never accepted"
    if each.standing != "verified":
        return "the sender is not verified"
    if not each.taken:
        return "never delivered"
    if each.route is None:
        return "no subscribed route"
    return None


def _path(each: Observed, values: Mapping[int, Values]) -> tuple[list[str], _Reasons]:
    """Return the path of the rule, as far as the values allow wildcards."""
    path = []
    reasons = _Reasons([], [])
    for position, token in enumerate(each.pattern.split(".")[_HEAD:]):
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


def _reply(each: Observed) -> list[dict[str, Any]]:
    """Return the rule to reply, which every service that answers needs."""
    if not each.is_evidence:
        return []
    plane, _, _, me = each.pattern.split(".")[:4]
    return [_rule(each, f"{plane}.reply._.{me}.>", 1)]


def _subscription(
    each: Observed,
    thresholds: Thresholds,
    rules: list[dict[str, Any]],
    thin: list[dict[str, Any]],
) -> None:
    """Add the rule to subscribe, or why there is none.

    What a service subscribes to on its own host, for its replies and for the control of all
    services has the rules that every service needs. Anything else is taken as it is; of inboxes
    of a client without a prefix of its own, which are random, all.
    """
    if thresholds.any_subject:
        rule = each.pattern
        if rule.startswith("_INBOX"):
            rule = f"{rule.partition('.')[0]}.>"
        rules.append(_rule(each, rule, 1))
        return
    framework = _framework(each.service, each.pattern)
    if framework is not None:
        rules.append(_rule(each, framework, 1))
        return
    why = _unfit_subscription(each.pattern)
    why = why or _short(each.number_of_days, thresholds.days, "days")
    if why is None:
        rules.append(_rule(each, each.pattern, 1))
    else:
        thin.append(_thin(each, 1, why))


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


def _rule(each: Observed, rule: str, sources: int) -> dict[str, Any]:
    return {
        "service": each.service,
        "verb": each.verb,
        "rule": rule,
        "days": each.days,
        "sources": sources,
        "count": each.taken,
        "witnesses": set(each.witnesses),
        **each.program._asdict(),
    }


def _thin(each: Observed, sources: int, why: str) -> dict[str, Any]:
    return {
        "service": each.service,
        "verb": each.verb,
        "pattern": each.pattern,
        "days": len(each.days),
        "sources": sources,
        "count": each.published,
        "why": why,
        "witness": min(each.witnesses, default=None),
        **each.program._asdict(),
    }


def _key(row: Mapping[str, Any], named: str) -> tuple[tuple[bool, Any], ...]:
    """Return what tells rows apart, so that it can be sorted; null is first."""
    names = ("verb", "service", named, *Program._fields)
    return tuple((row[name] is not None, row[name]) for name in names)


def _merged(rules: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add up equal rules of one program."""
    found: dict[tuple[tuple[bool, Any], ...], dict[str, Any]] = {}
    for row in rules:
        key = _key(row, "rule")
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
    """Return one row for each program, verb and pattern: that with the most messages."""
    found: dict[tuple[tuple[bool, Any], ...], dict[str, Any]] = {}
    for row in thin:
        key = _key(row, "pattern")
        if key not in found or (row["count"], row["why"]) > (
            found[key]["count"],
            found[key]["why"],
        ):
            found[key] = row
    return [row for _, row in sorted(found.items())]
