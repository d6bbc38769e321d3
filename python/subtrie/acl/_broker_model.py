"""The model ``broker``: what a running nats-server answers (A67 to A70, asked of one in the tests).

The broker looks a request up among its entries as if it were a subject, so that ``*`` and ``>`` in
the request are ordinary tokens to it. Where that accepts a wildcard request that the allow entries
do not cover, this model refuses all the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from .._subject import Subject
from ._decision import BROKER, Decision, differs_at, not_listed, not_selected
from ._rule_sets import Lists

#: A queue group the broker keeps for itself.
SYSTEM_QUEUE = "_sys_"

#: Reply subjects a client may not name: service imports, JetStream's acknowledgements, gateways.
RESERVED_REPLIES = ("_R_.", "$JS.ACK.", "_GR_.", "$GR.")


def can_publish(permissions: Lists, subject: str, reply: str | None) -> Decision:
    """Does the broker accept the publish? The reply is checked for reserved prefixes only."""
    if reply is not None:
        for prefix in RESERVED_REPLIES:
            if reply.startswith(prefix):
                why = f"the reply begins with the reserved prefix {prefix}"
                return Decision(False, BROKER, why, rule=prefix)
    denied = first_match(permissions.publish_deny, subject)
    if permissions.publish_allow is None:
        answer = Decision(True, BROKER, "without an allow list everything is allowed")
    elif (rule := first_match(permissions.publish_allow, subject)) is not None:
        answer = Decision(True, BROKER, f"the allow entry {rule} matches", rule=rule)
    else:
        return not_listed(BROKER, permissions.publish_allow, subject, "matches")
    if denied is not None:
        return Decision(False, BROKER, f"the deny entry {denied} matches", rule=denied)
    return answer


def can_subscribe(permissions: Lists, pattern: str, queue: str | None) -> Decision:
    """Does the broker accept the subscription? What it filters later is for ``can_receive``."""
    if queue == SYSTEM_QUEUE:
        why = f"the queue {SYSTEM_QUEUE} is the broker's own"
        return Decision(False, BROKER, why, rule=SYSTEM_QUEUE)
    answer = _listed(permissions, pattern, queue)
    if not answer:
        return answer
    for rule in permissions.subscribe_deny:
        subject, _, group = rule.partition(" ")
        if matches_text(subject, pattern) and (
            not group or _queue_matches(permissions, group, queue)
        ):
            return Decision(False, BROKER, f"the deny entry {rule} matches", rule=rule)
    return answer


def _listed(permissions: Lists, pattern: str, queue: str | None) -> Decision:
    rules = permissions.subscribe_allow
    if rules is None:
        return Decision(True, BROKER, "without an allow list everything is allowed")
    plain = [rule for rule in rules if " " not in rule]
    qualified = [tuple(rule.split(" ", 1)) for rule in rules if " " in rule]
    qualified = [pair for pair in qualified if queue and matches_text(pair[0], pattern)]
    if not qualified:
        rule = first_match(plain, pattern)
        if rule is None:
            return not_listed(BROKER, rules, pattern, "matches")
        chosen, subjects = rule, plain
    else:  # A69: then the queue test alone decides, whatever plain entries say
        fitting = [pair for pair in qualified if _queue_matches(permissions, pair[1], queue)]
        if not fitting:
            rule = " ".join(qualified[0])
            why = f"entries such as {rule} restrict the queue groups, and none is for {queue}"
            return Decision(False, BROKER, why, rule=rule)
        chosen, subjects = " ".join(fitting[0]), [subject for subject, _ in fitting]
    cap = permissions.cap
    found = permissions._engine.rules_admit(subjects, [], pattern, None, cap)
    if found is not None:
        witness = Subject._of(found[0], permissions.dialect)
        why = f"{chosen} matches it token by token, yet the allow entries do not cover {witness}"
        place = differs_at(chosen, pattern)
        return Decision(False, BROKER, why, None, chosen, place, witness)
    return Decision(True, BROKER, f"the allow entry {chosen} matches", rule=chosen)


def can_receive(permissions: Lists, subject: str, subscription: str, queue: str | None) -> Decision:
    """Does a message reach the subscription? Denies are looked at again at delivery (A68)."""
    if not permissions._engine.matches(subscription, subject):
        return not_selected(BROKER, subscription, subject)
    may = can_subscribe(permissions, subscription, queue)
    if not may:
        why = f"the subscription is refused: {may.why}"
        return Decision(False, BROKER, why, may.rule, may.nearest, may.differs_at)
    for rule in permissions.subscribe_deny:
        denied, _, group = rule.partition(" ")
        if matches_text(denied, subject) and (
            not group or _queue_matches(permissions, group, queue)
        ):
            why = f"the deny entry {rule} filters it at delivery"
            return Decision(False, BROKER, why, rule=rule)
    return may


def first_match(rules: Iterable[str], text: str) -> str | None:
    """The first entry that the broker finds for this text."""
    return next((rule for rule in rules if matches_text(rule, text)), None)


def matches_text(rule: str, text: str) -> bool:
    """Does the entry match, every token of the text taken as it stands?"""
    wanted, tokens = rule.split("."), text.split(".")
    if wanted[-1] == ">":
        wanted = wanted[:-1]
        if len(tokens) <= len(wanted):
            return False
    elif len(tokens) != len(wanted):
        return False
    return all(one in ("*", other) for one, other in zip(wanted, tokens, strict=False))


def _queue_matches(permissions: Lists, group: str, queue: str | None) -> bool:
    """Is the queue the entry's, or inside it?"""
    if queue is None:
        return False
    return queue == group or permissions._engine.covers(group, queue)
