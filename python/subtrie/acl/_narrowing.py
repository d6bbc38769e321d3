"""Narrow the permissions of a user to its traffic, for any NATS deployment.

An entry that nothing used goes. Another is replaced by its common parts with the patterns of the
traffic: the subscriptions that received the user's messages, its own subscriptions, and for
Microbus the rules that an audit derived. An entry stays as it is where the traffic does not tell
what it is for. The result never allows more than before. Pure rules.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .._core import engine
from .._core.errors import SubtrieError
from ._permissions import Permissions
from ._rule_entry import widest
from ._rule_usage import UNUSED, entry_usage
from ._strict_model import covers_alone
from ._synthesis import Observed, Thresholds, propose
from ._traffic import Traffic

#: An entry is kept rather than replaced by more entries than this: subjects with names of things
#: in them would each become an entry. A larger number narrows more, and makes longer lists.
MOST_PARTS = 8
#: Beyond this many patterns of one user, entries are kept: each pair of patterns is compared.
MOST_PATTERNS = 1_000


@dataclasses.dataclass(frozen=True, slots=True)
class Narrowing:
    """Proposed permissions of a user.

    Attributes:
        permissions: the proposed permissions.
        removed: verb and entry of each allow entry that goes.
        added: verb and entry of each allow entry that is new.
    """

    permissions: Permissions
    removed: tuple[tuple[str, str], ...]
    added: tuple[tuple[str, str], ...]


class _Synthesis:
    """The rules that the traffic of a user justifies, and the patterns that are too thin for one.

    Those for Microbus are what an audit proposes; those for other subjects are made here.
    """

    def __init__(self, traffic: Traffic) -> None:
        observed = list(_observed(traffic))
        self._crowded = len(traffic.published) > MOST_PATTERNS
        if self._crowded:
            observed = [each for each in observed if each.verb == "subscribe"]
        rules, thin = propose(observed, {}, Thresholds(days=0, sources=0, any_subject=True))
        self._proposed = traffic.proposed
        self._made = [(row["verb"], row["rule"]) for row in rules]
        publish = self.rules("publish")
        self._thin = [
            row["pattern"]
            for row in thin
            if not traffic.is_microbus(row["pattern"])
            or not any(engine.overlaps(rule, row["pattern"]) for rule in publish)
        ]

    def rules(self, verb: str) -> list[str]:
        """Return the rules of a verb, those of the audit first."""
        return [rule for each, rule in (*self._proposed, *self._made) if each == verb]

    def is_thin(self, entry: str) -> bool:
        """Return whether an entry must stay, as the traffic does not tell what it is for."""
        return self._crowded or any(engine.overlaps(entry, each) for each in self._thin)

    def of_subscription(self, pattern: str) -> str | None:
        """Return the rule for a subscription; None if it is too rare for one."""
        covering = [rule for rule in self.rules("subscribe") if engine.covers(rule, pattern)]
        made = ("subscribe", pattern) in self._made
        return pattern if made else next(iter(covering), None)


def narrowed(permissions: Permissions, traffic: Traffic) -> Narrowing:
    """Return the permissions narrowed to the traffic.

    Args:
        permissions: the user's permissions.
        traffic: the user's traffic.

    Raises:
        PermissionsError: the permissions are undetermined, or too large to compare.
    """
    unused = {
        (each.verb, each.entry)
        for each in entry_usage(permissions, traffic)
        if each.state == UNUSED
    }
    synthesis = _Synthesis(traffic)
    lists: dict[str, list[str]] = {}
    for verb, parts in (("publish", _publish_parts), ("subscribe", _subscribe_parts)):
        today = permissions.lists(verb)[0]
        used = [entry for entry in today if (verb, entry) not in unused]
        found = dict.fromkeys(
            part
            for entry, some in zip(used, parts(permissions, used, traffic, synthesis), strict=True)
            for part in (some if 0 < len(some) <= MOST_PARTS else [entry])
        )
        lists[verb] = list(found)
        if len(found) <= MOST_PATTERNS:
            kept = {*today, *widest(found)}
            lists[verb] = [part for part in found if part in kept]
    result = _with(permissions, lists)
    if not _still_subscribes(permissions, result, traffic):
        result = _with(permissions, {**lists, "subscribe": permissions.lists("subscribe")[0]})
    before, after = (
        {(verb, entry) for verb in lists for entry in each.lists(verb)[0]}
        for each in (permissions, result)
    )
    return Narrowing(result, tuple(sorted(before - after)), tuple(sorted(after - before)))


def common_part(one: str, two: str) -> str | None:
    """Return the pattern of the subjects that two patterns have in common; None if there are none.

    Example:
        >>> common_part("orders.>", "*.7.*"), common_part("a.*", "b.>")
        ('orders.7.*', None)
    """
    left, right = one.split("."), two.split(".")
    found: list[str] = []
    for place in range(max(len(left), len(right))):
        if place >= len(left) or place >= len(right):
            return None
        a, b = left[place], right[place]
        if a == ">":
            return ".".join([*found, *right[place:]])
        if b == ">":
            return ".".join([*found, *left[place:]])
        if a != b and "*" not in (a, b):
            return None
        found.append(b if a == "*" else a)
    return ".".join(found)


def _with(permissions: Permissions, lists: dict[str, list[str]]) -> Permissions:
    """Return permissions with other allow entries, and the denies that still have an effect."""
    given: dict[str, Any] = {}
    for verb, entries in lists.items():
        everything = getattr(permissions, f"{verb}_allow") is None and ">" in entries
        given[f"{verb}_allow"] = None if everything else entries
        given[f"{verb}_deny"] = [
            deny
            for deny in permissions.lists(verb)[1]
            if any(engine.overlaps(_pattern(deny), _pattern(entry)) for entry in entries)
        ]
    return Permissions(
        **given, allow_responses=permissions.allow_responses, dialect=permissions.dialect
    )


def _pattern(entry: str) -> str:
    return entry.partition(" ")[0]


def _observed(traffic: Traffic) -> Iterator[Observed]:
    """Yield the traffic of a user as evidence for rules."""
    for sent in traffic.published:
        kind = "request" if traffic.is_microbus(sent.pattern) else "other"
        taken = sent.least if sent.received else 0
        yield Observed.plain("", kind, sent.pattern, sent.most, taken)
    for each in traffic.subscribed:
        if not traffic.is_microbus(each.pattern):
            yield Observed.plain("", "subscription", each.pattern, each.times, each.times)


def _publish_parts(
    permissions: Permissions, entries: Sequence[str], traffic: Traffic, synthesis: _Synthesis
) -> Iterable[list[str]]:
    """Yield the parts of each entry that the traffic needs; none if it must stay as it is."""
    rules = synthesis.rules("publish")
    for entry in entries:
        keep = synthesis.is_thin(entry) or _has_more(entry, traffic)
        yield [] if keep else _parts(entry, rules)


def _has_more(entry: str, traffic: Traffic) -> bool:
    """Return whether there were more messages than the patterns tell.

    A mapping or an import renames messages, so that the pattern that received them says nothing.
    """
    counted = traffic.counted.get(("publish", entry))
    if counted is None:
        return False
    told = sum(e.least for e in traffic.published if engine.overlaps(entry, e.pattern))
    return counted.accepted > told


def _parts(entry: str, patterns: Iterable[str]) -> list[str]:
    """Return the widest common parts of an entry and some patterns."""
    found = {part for each in patterns if (part := common_part(entry, each)) is not None}
    return [] if len(found) > MOST_PATTERNS else widest(found)


def _subscribe_parts(
    permissions: Permissions, entries: Sequence[str], traffic: Traffic, synthesis: _Synthesis
) -> Iterable[list[str]]:
    """Yield the parts of each entry that the subscriptions need; none if it must stay."""
    for entry in entries:
        found: set[str] = set()
        keep = False
        for each in traffic.subscribed:
            if not covers_alone(permissions, entry, each.pattern, each.queue):
                continue
            wanted = synthesis.of_subscription(each.pattern)
            if wanted is None:  # of Microbus, and too rare for a rule
                keep = True
            elif (part := common_part(_pattern(entry), wanted)) is not None:
                found.add(_in_queue(entry, part, each.queue))
        yield [] if keep else sorted(found)


def _in_queue(entry: str, part: str, queue: str | None) -> str:
    """Return a part with the queue of the subscription, or that of the entry."""
    if queue is not None and "." not in queue:
        return f"{part} {queue}"
    group = entry.partition(" ")[2]
    return f"{part} {group}" if group else part


def _still_subscribes(before: Permissions, after: Permissions, traffic: Traffic) -> bool:
    """Return whether every subscription that was allowed still is."""
    if len(traffic.subscribed) > MOST_PATTERNS:
        return False
    for each in traffic.subscribed:
        for model in ("strict", "broker"):
            try:
                asked = (
                    one.can_subscribe(each.pattern, queue=each.queue, model=model)
                    for one in (before, after)
                )
                was, now = map(bool, asked)
            except SubtrieError:
                continue
            if was and not now:
                return False
    return True
