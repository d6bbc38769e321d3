"""The model ``strict``: a pattern is allowed if every subject it matches is allowed."""  # A67

from __future__ import annotations

from .._core.subject import Subject
from ._decision import STRICT, Decision, not_listed, not_selected, without_list
from ._rule_sets import RuleSets


def can_publish(permissions: RuleSets, subject: str) -> Decision:
    """Decide a publish; deny entries take precedence over allow entries."""
    for rule in permissions.publish_deny:
        if permissions._engine.matches(rule, subject):
            return Decision(False, STRICT, f"the deny entry {rule} matches", rule=rule)
    if permissions.publish_allow is None:
        return without_list(STRICT)
    for rule in permissions.publish_allow:
        if permissions._engine.matches(rule, subject):
            return Decision(True, STRICT, f"the allow entry {rule} matches", rule=rule)
    return not_listed(STRICT, permissions.publish_allow, subject, "matches")


def can_subscribe(permissions: RuleSets, pattern: str, queue: str | None) -> Decision:
    """Decide a subscription: every subject the pattern matches must be allowed."""
    allow, deny = permissions.lists("subscribe")
    found = permissions._engine.rules_admit(allow, deny, pattern, queue, permissions.cap)
    if found is None:
        return _allowed(permissions, pattern, queue)
    witness = Subject._of(found[0], permissions.dialect)
    for rule in deny:
        if covers_alone(permissions, rule, found[0], queue):
            explanation = f"the deny entry {rule} excludes {witness}"
            return Decision(False, STRICT, explanation, rule=rule, witness=witness)
    answer = not_listed(STRICT, allow, pattern, f"covers {witness}")
    return Decision(
        False, STRICT, answer.explanation, None, answer.nearest, answer.differs_at, witness=witness
    )


def _allowed(permissions: RuleSets, pattern: str, queue: str | None) -> Decision:
    rules = permissions.subscribe_allow
    if rules is None:
        return without_list(STRICT)
    for rule in rules:
        if covers_alone(permissions, rule, pattern, queue):
            return Decision(True, STRICT, f"the allow entry {rule} covers the pattern", rule=rule)
    asked = pattern if queue is None else f"{pattern} {queue}"
    parts = [rule for rule in rules if permissions._engine.rules_overlap([rule], [], [asked], [])]
    explanation = f"the allow entries {', '.join(parts)} together cover the pattern"
    return Decision(True, STRICT, explanation, rule=parts[0] if parts else None)


def can_receive(
    permissions: RuleSets, subject: str, subscription: str, queue: str | None
) -> Decision:
    """Decide whether the subscription matches the message and the permissions allow it."""
    if not permissions._engine.matches(subscription, subject):
        return not_selected(STRICT, subscription, subject)
    may = can_subscribe(permissions, subscription, queue)
    if not may:
        return Decision(
            False,
            STRICT,
            f"the subscription is refused: {may.explanation}",
            may.rule,
            may.nearest,
            may.differs_at,
            may.witness,
        )
    return can_subscribe(permissions, subject, queue)


def covers_alone(permissions: RuleSets, rule: str, pattern: str, queue: str | None) -> bool:
    """Return True if the entry alone covers the pattern, in this queue or without one."""
    subject, _, group = rule.partition(" ")
    if group and (queue is None or not permissions._engine.covers(group, queue)):
        return False
    return permissions._engine.covers(subject, pattern)
