"""The model ``broker``: decisions as a running nats-server makes them.

The broker looks a request up among its entries as if it were a subject: ``*`` and ``>`` in the
request are ordinary tokens to it. If that accepts a wildcard request that the allow entries do not
cover, this model refuses it all the same. The tests compare the model with a server.
"""

# A67 to A70

from __future__ import annotations

from collections.abc import Iterable

from .._nats.reserved_subjects import RESERVED_REPLIES, SYSTEM_QUEUE
from .._subject import Subject
from ._decision import BROKER, Decision, differs_at, not_listed, not_selected
from ._rule_sets import RuleSets


def can_publish(permissions: RuleSets, subject: str, reply: str | None) -> Decision:
    """Decide a publish; of ``reply`` the broker only checks that its prefix is not reserved."""
    if reply is not None:
        for prefix in RESERVED_REPLIES:
            if reply.startswith(prefix):
                explanation = f"the reply subject begins with the reserved prefix {prefix}"
                return Decision(False, BROKER, explanation, rule=prefix)
    denied = first_match(permissions.publish_deny, subject)
    if permissions.publish_allow is None:
        answer = Decision(True, BROKER, "there is no allow list, so everything is allowed")
    elif (rule := first_match(permissions.publish_allow, subject)) is not None:
        answer = Decision(True, BROKER, f"the allow entry {rule} matches", rule=rule)
    else:
        return not_listed(BROKER, permissions.publish_allow, subject, "matches")
    if denied is not None:
        return Decision(False, BROKER, f"the deny entry {denied} matches", rule=denied)
    return answer


def can_subscribe(permissions: RuleSets, pattern: str, queue: str | None) -> Decision:
    """Decide whether the broker accepts a subscription; ``can_receive`` filters deliveries."""
    if queue == SYSTEM_QUEUE:
        explanation = f"the queue {SYSTEM_QUEUE} is reserved for the broker"
        return Decision(False, BROKER, explanation, rule=SYSTEM_QUEUE)
    answer = _allowed(permissions, pattern, queue)
    if not answer:
        return answer
    for rule in permissions.subscribe_deny:
        subject, _, group = rule.partition(" ")
        if matches_text(subject, pattern) and (
            not group or _queue_matches(permissions, group, queue)
        ):
            return Decision(False, BROKER, f"the deny entry {rule} matches", rule=rule)
    return answer


def _allowed(permissions: RuleSets, pattern: str, queue: str | None) -> Decision:
    rules = permissions.subscribe_allow
    if rules is None:
        return Decision(True, BROKER, "there is no allow list, so everything is allowed")
    plain = [rule for rule in rules if " " not in rule]
    qualified = [tuple(rule.split(" ", 1)) for rule in rules if " " in rule]
    qualified = [pair for pair in qualified if queue and matches_text(pair[0], pattern)]
    if not qualified:
        rule = first_match(plain, pattern)
        if rule is None:
            return not_listed(BROKER, rules, pattern, "matches")
        chosen, subjects = rule, plain
    else:  # A69: the queue-qualified entries alone decide, whatever plain entries allow
        fitting = [pair for pair in qualified if _queue_matches(permissions, pair[1], queue)]
        if not fitting:
            rule = " ".join(qualified[0])
            explanation = f"entries such as {rule} restrict queue groups, and none allows {queue}"
            return Decision(False, BROKER, explanation, rule=rule)
        chosen, subjects = " ".join(fitting[0]), [subject for subject, _ in fitting]
    cap = permissions.cap
    found = permissions._engine.rules_admit(subjects, [], pattern, None, cap)
    if found is not None:
        witness = Subject._of(found[0], permissions.dialect)
        explanation = f"{chosen} matches token by token, but no allow entry covers {witness}"
        index = differs_at(chosen, pattern)
        return Decision(False, BROKER, explanation, None, chosen, index, witness)
    return Decision(True, BROKER, f"the allow entry {chosen} matches", rule=chosen)


def can_receive(
    permissions: RuleSets, subject: str, subscription: str, queue: str | None
) -> Decision:
    """Decide whether a message is delivered; denies are checked again at delivery."""  # A68
    if not permissions._engine.matches(subscription, subject):
        return not_selected(BROKER, subscription, subject)
    may = can_subscribe(permissions, subscription, queue)
    if not may:
        explanation = f"the subscription is refused: {may.explanation}"
        return Decision(False, BROKER, explanation, may.rule, may.nearest, may.differs_at)
    for rule in permissions.subscribe_deny:
        denied, _, group = rule.partition(" ")
        if matches_text(denied, subject) and (
            not group or _queue_matches(permissions, group, queue)
        ):
            explanation = f"the deny entry {rule} filters the message at delivery"
            return Decision(False, BROKER, explanation, rule=rule)
    return may


def first_match(rules: Iterable[str], text: str) -> str | None:
    """Return the first entry that matches the text as the broker matches it."""
    return next((rule for rule in rules if matches_text(rule, text)), None)


def matches_text(rule: str, text: str) -> bool:
    """Return True if the entry matches the text, whose wildcards are ordinary tokens."""
    wanted, tokens = rule.split("."), text.split(".")
    if wanted[-1] == ">":
        wanted = wanted[:-1]
        if len(tokens) <= len(wanted):
            return False
    elif len(tokens) != len(wanted):
        return False
    return all(one in ("*", other) for one, other in zip(wanted, tokens, strict=False))


def _queue_matches(permissions: RuleSets, group: str, queue: str | None) -> bool:
    """Return True if the queue is that of the entry, or is covered by it."""
    if queue is None:
        return False
    return queue == group or permissions._engine.covers(group, queue)
