"""The model ``strict``: a pattern is allowed when every subject it matches is allowed (A67)."""

from __future__ import annotations

from .._subject import Subject
from ._decision import STRICT, Decision, not_listed, not_selected
from ._rule_sets import Lists


def can_publish(permissions: Lists, subject: str) -> Decision:
    """May the subject be published? Deny beats allow."""
    for rule in permissions.publish_deny:
        if permissions._engine.matches(rule, subject):
            return Decision(False, STRICT, f"the deny entry {rule} matches", rule=rule)
    if permissions.publish_allow is None:
        return Decision(True, STRICT, "without an allow list everything is allowed")
    for rule in permissions.publish_allow:
        if permissions._engine.matches(rule, subject):
            return Decision(True, STRICT, f"the allow entry {rule} matches", rule=rule)
    return not_listed(STRICT, permissions.publish_allow, subject, "matches")


def can_subscribe(permissions: Lists, pattern: str, queue: str | None) -> Decision:
    """May everything the pattern matches be had, in this queue or without one?"""
    allow, deny = permissions.lists("subscribe")
    found = permissions._engine.rules_admit(allow, deny, pattern, queue, permissions.cap)
    if found is None:
        return _allowed(permissions, pattern, queue)
    witness = Subject._of(found[0], permissions.dialect)
    for rule in deny:
        if held(permissions, rule, found[0], queue):
            why = f"the deny entry {rule} takes out {witness}"
            return Decision(False, STRICT, why, rule=rule, witness=witness)
    answer = not_listed(STRICT, allow, pattern, f"holds {witness}")
    return Decision(
        False, STRICT, answer.why, None, answer.nearest, answer.differs_at, witness=witness
    )


def _allowed(permissions: Lists, pattern: str, queue: str | None) -> Decision:
    rules = permissions.subscribe_allow
    if rules is None:
        return Decision(True, STRICT, "without an allow list everything is allowed")
    for rule in rules:
        if held(permissions, rule, pattern, queue):
            return Decision(True, STRICT, f"the allow entry {rule} covers it", rule=rule)
    asked = pattern if queue is None else f"{pattern} {queue}"
    parts = [rule for rule in rules if permissions._engine.rules_overlap([rule], [], [asked], [])]
    why = f"the allow entries {', '.join(parts)} cover it together"
    return Decision(True, STRICT, why, rule=parts[0] if parts else None)


def can_receive(permissions: Lists, subject: str, subscription: str, queue: str | None) -> Decision:
    """Is the message within what the subscription selects and the permissions hold?"""
    if not permissions._engine.matches(subscription, subject):
        return not_selected(STRICT, subscription, subject)
    may = can_subscribe(permissions, subscription, queue)
    if not may:
        return Decision(
            False,
            STRICT,
            f"the subscription is refused: {may.why}",
            may.rule,
            may.nearest,
            may.differs_at,
            may.witness,
        )
    return can_subscribe(permissions, subject, queue)


def held(permissions: Lists, rule: str, pattern: str, queue: str | None) -> bool:
    """Does the entry alone cover the pattern, in this queue or without one?"""
    subject, _, group = rule.partition(" ")
    if group and (queue is None or not permissions._engine.covers(group, queue)):
        return False
    return permissions._engine.covers(subject, pattern)
