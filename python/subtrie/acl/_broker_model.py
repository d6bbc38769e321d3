"""The model ``broker``: decisions as a running nats-server makes them.

The broker looks a request up among its entries as if it were a subject: ``*`` and ``>`` in the
request are ordinary tokens to it. A request that an entry matches in this way, but that is not
covered by the entries, is not determined by this model. The tests compare the model with a server.
"""

# A67 to A70

from __future__ import annotations

from collections.abc import Iterable

from .._core.subject import Subject
from .._nats.reserved_subjects import RESERVED_REPLIES, RESERVED_SUBJECTS, SYSTEM_QUEUE
from ._decision import BROKER, Decision, differs_at, not_listed, not_selected, without_list
from ._rule_sets import RuleSets


def can_publish(permissions: RuleSets, subject: str, reply: str | None) -> Decision:
    """Decide a publish; of ``reply`` the broker only checks that its prefix is not reserved."""
    for what, text, prefixes in (
        ("subject", subject, RESERVED_SUBJECTS),
        ("reply subject", reply or "", RESERVED_REPLIES),
    ):
        for prefix in prefixes:
            if text.startswith(prefix):
                explanation = f"the {what} begins with the reserved prefix {prefix}"
                return Decision(False, BROKER, explanation, rule=prefix)
    denied = first_match(permissions.publish_deny, subject)
    if permissions.publish_allow is None:
        answer = without_list(BROKER)
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
    if permissions.subscribe_allow is None:
        accepted, covering = without_list(BROKER), [">"]
    else:
        accepted, covering = _accepted(permissions, permissions.subscribe_allow, pattern, queue)
    if not accepted:
        return accepted
    denies = _denies(permissions, queue)
    for rule, subject in denies:
        if matches_text(subject, pattern):
            return Decision(False, BROKER, f"the deny entry {rule} matches", rule=rule)
    if permissions.subscribe_allow is None or pattern.split(".")[-1] != ">":
        return accepted  # an entry that matches it token by token covers it
    denied = [subject for _, subject in denies]
    cap = permissions.cap
    found = permissions._engine.rules_witness([pattern], denied, covering, [], cap)
    if found is None:
        return accepted
    return _undetermined(permissions, pattern, str(accepted.rule), found[0])


def _accepted(
    permissions: RuleSets, rules: tuple[str, ...], pattern: str, queue: str | None
) -> tuple[Decision, list[str]]:
    """Whether an allow entry matches token by token, and the patterns that may cover a request."""
    plain = [rule for rule in rules if " " not in rule]
    qualified = [tuple(rule.split(" ", 1)) for rule in rules if " " in rule]
    matching = [pair for pair in qualified if queue and matches_text(pair[0], pattern)]
    covering = plain + [
        subject for subject, group in qualified if _queue_matches(permissions, group, queue)
    ]
    if not matching:
        rule = first_match(plain, pattern)
        if rule is None:
            return not_listed(BROKER, rules, pattern, "matches"), covering
        return Decision(True, BROKER, f"the allow entry {rule} matches", rule=rule), covering
    # A69: where queue-qualified entries match, one of them must allow the queue.
    fitting = [pair for pair in matching if _queue_matches(permissions, pair[1], queue)]
    if not fitting:
        rule = " ".join(matching[0])
        explanation = f"entries such as {rule} restrict queue groups, and none allows {queue}"
        return Decision(False, BROKER, explanation, rule=rule), covering
    rule = " ".join(fitting[0])
    return Decision(True, BROKER, f"the allow entry {rule} matches", rule=rule), covering


def _undetermined(permissions: RuleSets, pattern: str, rule: str, uncovered: str) -> Decision:
    """A request that an entry matches token by token, and that the entries do not cover."""
    witness = Subject._of(uncovered, permissions.dialect)
    explanation = (
        f"not determined: {rule} matches token by token, but no allow entry covers {witness}; "
        f"deny {bounding_deny(rule)} to make it certain"
    )
    index = differs_at(rule, pattern)
    return Decision(
        False, BROKER, explanation, nearest=rule, differs_at=index, witness=witness,
        determined=False,
    )  # fmt: skip


def bounding_deny(rule: str) -> str:
    """Return the deny entry that bounds the depth of an entry that ends in ``*``."""
    return rule.partition(" ")[0] + ".>"


def can_receive(
    permissions: RuleSets, subject: str, subscription: str, queue: str | None
) -> Decision:
    """Decide whether a message is delivered; denies are checked again at delivery."""  # A68
    if not permissions._engine.matches(subscription, subject):
        return not_selected(BROKER, subscription, subject)
    may = can_subscribe(permissions, subscription, queue)
    if not may and may.determined:
        explanation = f"the subscription is refused: {may.explanation}"
        return Decision(False, BROKER, explanation, may.rule, may.nearest, may.differs_at)
    for rule, denied in _denies(permissions, queue):
        if matches_text(denied, subject):
            explanation = f"the deny entry {rule} filters the message at delivery"
            return Decision(False, BROKER, explanation, rule=rule)
    return may


def _denies(permissions: RuleSets, queue: str | None) -> list[tuple[str, str]]:
    """The deny entries that apply to a subscription in this queue, each with its pattern."""
    split = [(rule, *rule.partition(" ")[::2]) for rule in permissions.subscribe_deny]
    return [
        (rule, subject)
        for rule, subject, group in split
        if not group or _queue_matches(permissions, group, queue)
    ]


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
