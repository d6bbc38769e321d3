"""The rule that lets a user publish, subscribe to or receive a subject, or one of a pattern."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from functools import partial

from .._core import engine
from ._both_models import decided
from ._decision import BROKER, STRICT, Decision
from ._permissions import Permissions


@dataclasses.dataclass(frozen=True, slots=True)
class Entitlement:
    """The rule that lets a user do something.

    Attributes:
        rule: the entry that decides, or why it is not known.
        witness: an example; None if there is no other subject than the one asked for.
        determined: False if it is not known whether the user may.
    """

    rule: str
    witness: str | None = None
    determined: bool = True


def entitlement(
    permissions: Permissions,
    subject: str,
    verb: str,
    model: str | None = None,
    *,
    outside: Sequence[str] = (),
) -> Entitlement | None:
    """Return the rule that lets a user use a subject, or some subject of a pattern.

    A subscription must cover the whole pattern.

    Args:
        permissions: the permissions of the user.
        subject: a subject or a pattern.
        verb: ``publish``, ``subscribe`` or ``receive``.
        model: ``strict`` or ``broker``; None for both.
        outside: patterns whose subjects do not count.

    Returns:
        None if the user may not.
    """
    if not permissions.determined:
        return Entitlement(f"decided elsewhere, by {permissions.decided_by}", determined=False)
    if verb == "subscribe":
        return _subscription(permissions, subject, model)
    literal = _is_literal(subject)
    side = "publish" if verb == "publish" else "subscribe"
    allow, deny = permissions.lists(side)
    found = engine.rules_overlap(allow, deny, [subject], list(outside), permissions.cap)
    if found is None:
        return _beyond(permissions, subject, outside, model) if side == "subscribe" else None
    witness, queue = found

    def ask(model: str) -> Decision:
        if verb == "publish":
            return permissions.can_publish(witness, model=model)
        return permissions.can_receive(witness, subscription=witness, queue=queue, model=model)

    answer = decided(ask, model)
    if not answer and answer.determined:
        return None
    shown = None if literal else witness
    if not answer:
        return Entitlement(answer.explanation, shown, determined=False)
    listed = getattr(permissions, f"{side}_allow") is not None
    return Entitlement(_first(allow, witness, queue) if listed else "everything", shown)


def by_subscription(
    held: Collection[tuple[str, str | None]], subject: str, verb: str, outside: Sequence[str] = ()
) -> Entitlement | None:
    """Return the subscription that a running broker has accepted, by which a user may.

    Args:
        held: what the user subscribes to: pattern, and queue or None.
        subject: a subject or a pattern.
        verb: ``publish``, which no subscription tells, ``subscribe`` or ``receive``.
        outside: patterns whose subjects do not count.
    """
    for pattern, queue in sorted(held, key=str) if verb != "publish" else ():
        rule = f"its subscription {pattern if queue is None else f'{pattern} {queue}'}"
        if verb == "receive":
            found = engine.rules_overlap([pattern], [], [subject], list(outside), None)
            if found is not None:
                return Entitlement(rule, None if _is_literal(subject) else found[0])
        elif engine.covers(pattern, subject):
            return Entitlement(rule)
    return None


def _is_literal(subject: str) -> bool:
    return not {"*", ">"}.intersection(subject.split("."))


def _subscription(permissions: Permissions, pattern: str, model: str | None) -> Entitlement | None:
    """Return the rule for a subscription: without a queue, or in one that an entry names."""
    entries = permissions.subscribe_allow or ()
    unknown = None
    for queue in (None, *dict.fromkeys(each.partition(" ")[2] for each in entries if " " in each)):
        answer = decided(partial(_can_subscribe, permissions, pattern, queue), model)
        if answer:
            return Entitlement(answer.rule or "everything")
        if not answer.determined and unknown is None:
            unknown = Entitlement(answer.explanation, determined=False)
    return unknown or (None if model == STRICT else _wider(permissions, pattern))


def _can_subscribe(
    permissions: Permissions, pattern: str, queue: str | None, model: str
) -> Decision:
    return permissions.can_subscribe(pattern, queue=queue, model=model)


def _wider(permissions: Permissions, pattern: str) -> Entitlement | None:
    """Return an entry by which a broker may admit a wider subscription than the lists cover."""
    for deep, queue in _deeper(permissions.subscribe_allow or ()):
        if engine.covers(deep, pattern):
            answer = permissions.can_subscribe(deep, queue=queue, model=BROKER)
            if not answer.determined:
                entry = deep if queue is None else f"{deep} {queue}"
                why = f"by a subscription to {entry}: {answer.explanation}"
                return Entitlement(why, determined=False)
    return None


def _beyond(
    permissions: Permissions, subject: str, outside: Sequence[str], model: str | None
) -> Entitlement | None:
    """Return an entry by which a broker may deliver beyond the lists.

    An entry that ends in ``*`` may admit the subscription that ends in ``>`` in its place.
    """
    if model == STRICT:
        return None
    deny = permissions.lists("subscribe")[1]
    literal = _is_literal(subject)
    for deep, queue in _deeper(permissions.subscribe_allow or ()):
        entry = deep if queue is None else f"{deep} {queue}"
        found = engine.rules_overlap([entry], deny, [subject], list(outside), permissions.cap)
        if found is None:
            continue
        witness = found[0]
        answer = permissions.can_receive(witness, subscription=deep, queue=queue, model=BROKER)
        if answer or not answer.determined:
            why = f"by a subscription to {entry}: {answer.explanation}"
            return Entitlement(why, None if literal else witness, determined=False)
    return None


def _deeper(entries: tuple[str, ...]) -> Iterator[tuple[str, str | None]]:
    for entry in entries:
        pattern, _, queue = entry.partition(" ")
        if pattern.split(".")[-1] == "*":
            yield pattern[:-1] + ">", queue or None


def _first(allow: list[str], subject: str, queue: str | None) -> str:
    """The first entry that allows a subject in a queue."""
    for entry in allow:
        pattern, _, group = entry.partition(" ")
        in_queue = not group or (queue is not None and engine.covers(group, queue))
        if in_queue and engine.matches(pattern, subject):
            return entry
    return allow[0]
