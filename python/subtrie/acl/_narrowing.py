"""Narrow the permissions of a user to its traffic, for any NATS deployment.

An entry that nothing used goes. Another is replaced by its common parts with the patterns of the
traffic: the subscriptions that received the user's messages, its own subscriptions, and for
Microbus the rules that an audit derived. An entry stays as it is where the traffic does not tell
what it is for. The result never allows more than before. Pure rules.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from .._core import engine
from .._core.errors import SubtrieError
from ._permissions import Permissions
from ._rule_usage import UNUSED, entry_usage
from ._strict_model import covers_alone
from ._traffic import Published, Traffic

#: An entry is kept rather than replaced by more entries than this: subjects with names of things
#: in them would each become an entry. A larger number narrows more, and makes longer lists.
MOST_PARTS = 8
#: Beyond this many patterns of one user, entries are kept: each pair of patterns is compared.
MOST_PATTERNS = 1_000
#: Messages for the broker itself, which no client receives.
_BROKER = "$JS."


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
    lists: dict[str, list[str]] = {}
    for verb, parts in (("publish", _publish_parts), ("subscribe", _subscribe_parts)):
        today = permissions.lists(verb)[0]
        used = [entry for entry in today if (verb, entry) not in unused]
        lists[verb] = list(
            dict.fromkeys(
                part
                for entry, found in zip(used, parts(permissions, used, traffic), strict=True)
                for part in (found if 0 < len(found) <= MOST_PARTS else [entry])
            )
        )
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


def _publish_parts(
    permissions: Permissions, entries: Sequence[str], traffic: Traffic
) -> Iterable[list[str]]:
    """Yield the parts of each entry that the traffic needs; none if it must stay as it is."""
    rules = [rule for verb, rule in traffic.proposed if verb == "publish"]
    sent = [each for each in traffic.published if not traffic.is_microbus(each.pattern)]
    # What no client received has only its subject, which may be one of many: a stream may store it.
    vague = [e.pattern for e in sent if not e.received and not e.pattern.startswith(_BROKER)]
    needed = _unexplained(sent, traffic.published)
    rules += [each.pattern for each in needed or ()]
    # The rules for Microbus leave out what was seen too rarely; flows have it still.
    thin = [
        each.pattern
        for each in traffic.published
        if traffic.is_microbus(each.pattern)
        and not any(engine.overlaps(rule, each.pattern) for rule in rules)
    ]
    for entry in entries:
        keep = needed is None or any(engine.overlaps(entry, each) for each in (*vague, *thin))
        keep = keep or _has_more(entry, traffic)
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


def _unexplained(
    sent: Sequence[Published], everything: Sequence[Published]
) -> list[Published] | None:
    """Return the patterns that are needed; None if there are too many to compare.

    A wide subscription, as that of a monitor, is not needed if narrower ones that have nothing in
    common received as many messages.
    """
    if len(everything) > MOST_PATTERNS:
        return None
    narrower = sorted(
        (each for each in everything if each.received), key=lambda one: (-one.least, one.pattern)
    )
    needed = []
    for wide in sent:
        if not wide.received and not wide.pattern.startswith(_BROKER):
            continue
        disjoint: list[str] = []
        count = 0
        for each in narrower:
            if (
                each.pattern != wide.pattern
                and engine.covers(wide.pattern, each.pattern)
                and not any(engine.overlaps(other, each.pattern) for other in disjoint)
            ):
                disjoint.append(each.pattern)
                count += each.least
        if not disjoint or count < wide.most:
            needed.append(wide)
    return needed


def _parts(entry: str, patterns: Iterable[str]) -> list[str]:
    """Return the widest common parts of an entry and some patterns."""
    found = sorted({part for each in patterns if (part := common_part(entry, each)) is not None})
    if len(found) > MOST_PATTERNS:
        return []
    return [
        part
        for part in found
        if not any(other != part and engine.covers(other, part) for other in found)
    ]


def _subscribe_parts(
    permissions: Permissions, entries: Sequence[str], traffic: Traffic
) -> Iterable[list[str]]:
    """Yield the parts of each entry that the subscriptions need; none if it must stay."""
    rules = [rule for verb, rule in traffic.proposed if verb == "subscribe"]
    for entry in entries:
        found: set[str] = set()
        keep = False
        for each in traffic.subscribed:
            if not covers_alone(permissions, entry, each.pattern, each.queue):
                continue
            covering = [rule for rule in rules if engine.covers(rule, each.pattern)]
            if traffic.is_microbus(each.pattern) and not covering:
                keep = True
            wanted = covering[0] if covering else each.pattern
            if wanted.startswith("_INBOX"):  # the rest is random
                wanted = f"{wanted.partition('.')[0]}.>"
            part = common_part(_pattern(entry), wanted)
            if part is not None:
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
