"""Compare the entries of a user with its traffic: what was used, tried, and accepted without one.

Pure rules: the traffic is that of one user, from the tables of an audit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from .._core import engine
from .._core.errors import SubtrieError
from ._broker_model import first_match
from ._decision import BROKER
from ._permissions import Permissions
from ._strict_model import covers_alone
from ._traffic import Traffic

USED, UNUSED, UNDETERMINED = "used", "unused", "undetermined"


@dataclasses.dataclass(frozen=True, slots=True)
class EntryUsage:
    """The use of an allow entry.

    Attributes:
        verb: ``publish`` or ``subscribe``.
        entry: the entry; ``>`` if everything is allowed.
        state: ``used``, ``unused`` or ``undetermined``.
        accepted: messages or subscriptions that the broker accepted and the entry matches.
        exact: False if there were at least so many.
    """

    verb: str
    entry: str
    state: str
    accepted: int
    exact: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """An operation that the entries do not allow, or that the broker refused.

    Attributes:
        verb: ``publish`` or ``subscribe``.
        rule: the deny entry that decides, or None.
        allowed: whether the entries allow it.
        count: how often.
        witness: one subject or pattern; with its queue after a blank.
    """

    verb: str
    rule: str | None
    allowed: bool
    count: int
    witness: str


def entry_usage(permissions: Permissions, traffic: Traffic) -> Iterator[EntryUsage]:
    """Yield the use of each allow entry.

    Subscriptions are compared one by one. Messages are counted if the audit was given the rules;
    else an entry is used if it covers a pattern on which messages of the user were received, unused
    if it has no subject in common with any, and otherwise undetermined. Patterns of other accounts,
    to which messages are renamed, do not tell.

    Args:
        permissions: the user's permissions.
        traffic: the user's traffic.
    """
    for verb in ("publish", "subscribe"):
        for entry in dict.fromkeys(permissions.lists(verb)[0]):
            counted = traffic.counted.get((verb, entry))
            if counted is not None:
                state = USED if counted.accepted or counted.refused else UNUSED
                yield EntryUsage(verb, entry, state, counted.accepted, True)
            elif verb == "subscribe":
                count = sum(
                    each.times
                    for each in traffic.subscribed
                    if covers_alone(permissions, entry, each.pattern, each.queue)
                )
                yield EntryUsage(verb, entry, USED if count else UNUSED, count, True)
            else:
                yield _published(entry, traffic)


def _published(entry: str, traffic: Traffic) -> EntryUsage:
    touched = [each for each in traffic.published if engine.overlaps(entry, each.pattern)]
    sure = [each.least for each in touched if engine.covers(entry, each.pattern)]
    if sure:
        return EntryUsage("publish", entry, USED, max(sure), False)
    return EntryUsage("publish", entry, UNDETERMINED if touched else UNUSED, 0, False)


def refusals(permissions: Permissions, traffic: Traffic) -> list[Attempt]:
    """Return what the broker refused, added up by verb and by the rule that decides.

    Args:
        permissions: the user's permissions.
        traffic: the user's traffic.
    """
    found: dict[tuple[str, str | None, bool], Attempt] = {}
    for each in traffic.refused:
        try:
            if each.verb == "publish":  # wildcard tokens are text in what was published
                decision = permissions.can_publish(each.subject, model=BROKER)
                denied = first_match(permissions.publish_deny, each.subject)
            else:
                decision = permissions.can_subscribe(each.subject)
                denied = None
            allowed, rule = bool(decision), None if decision else decision.rule or denied
        except SubtrieError:  # no entry matches an empty token
            matchable = each.verb == "publish" and "" not in each.subject.split(".")
            denies = permissions.publish_deny if matchable else ()
            allowed, rule = False, first_match(denies, each.subject)
        key = each.verb, rule, allowed
        before = found.get(key)
        if before is None:
            found[key] = Attempt(each.verb, rule, allowed, each.times, each.subject)
        else:
            least = min(before.witness, each.subject)
            found[key] = dataclasses.replace(before, count=before.count + each.times, witness=least)
    return sorted(found.values(), key=lambda each: (each.verb, each.rule or "", each.allowed))


def uncovered(permissions: Permissions, traffic: Traffic) -> Iterator[Attempt]:
    """Yield what the broker accepted although no entry allows any of it.

    Replies are left out if ``allow_responses`` is given.

    Args:
        permissions: the user's permissions.
        traffic: the user's traffic.
    """
    allow, deny = permissions.lists("publish")
    for sent in traffic.published if permissions.allow_responses is None else ():
        if engine.rules_overlap(allow, deny, [sent.pattern], [], permissions.cap) is None:
            yield Attempt("publish", None, False, sent.least, sent.pattern)
    for each in traffic.subscribed:
        try:
            allowed = permissions.can_subscribe(each.pattern, queue=each.queue)
        except SubtrieError:
            continue
        if not allowed:
            shown = each.pattern if each.queue is None else f"{each.pattern} {each.queue}"
            yield Attempt("subscribe", allowed.rule, False, each.times, shown)
