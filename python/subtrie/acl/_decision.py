"""What is answered to "may this happen?": yes or no, by which rule, after which model (A67)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from .._subject import Subject

STRICT = "strict"
BROKER = "broker"


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """An answer, truthy when allowed.

    ``rule`` is the deciding entry (an allow entry that admits, a deny entry that refuses; None
    where no list exists or nothing fits). A "no" without a rule names the ``nearest`` allow entry
    and ``differs_at``, the zero-based index of the first token that differs. ``witness`` is a
    subject that shows a "no" to a pattern. ``known`` is False where the answer lies elsewhere: in
    the account, or in a scoped signing key. ``differs`` is True where the other model answers
    otherwise.
    """

    allowed: bool
    model: str
    why: str
    rule: str | None = None
    nearest: str | None = None
    differs_at: int | None = None
    witness: Subject | None = None
    known: bool = True
    differs: bool = False

    def __bool__(self) -> bool:
        return self.allowed

    def compared(self, other: Decision) -> Decision:
        """This answer, saying so where the other model answers otherwise."""
        if other.allowed == self.allowed:
            return self
        word = "allows it" if other.allowed else "refuses it"
        why = f"{self.why} (the model {other.model!r} {word}: {other.why})"
        return dataclasses.replace(self, why=why, differs=True)


def unknown(model: str) -> Decision:
    """The answer where a user has no lists of its own and its account is not at hand."""
    why = "the account or its signing key decides, and it is not at hand"
    return Decision(False, model, why, known=False)


def differs_at(rule: str, subject: str) -> int:
    """The index of the first token of the subject that the rule does not take."""
    wanted, tokens = rule.partition(" ")[0].split("."), subject.split(".")
    for index, token in enumerate(wanted):
        if index == len(tokens):
            return index
        if token == ">":
            return len(tokens)
        if tokens[index] == ">" or token not in ("*", tokens[index]):
            return index
    return len(wanted)


def nearest(rules: Iterable[str], subject: str) -> tuple[str | None, int | None]:
    """The rule that takes the most leading tokens (the first of them), and where it differs."""
    best: tuple[str | None, int | None] = (None, None)
    for rule in rules:
        place = differs_at(rule, subject)
        if best[1] is None or place > best[1]:
            best = (rule, place)
    return best


def not_listed(model: str, rules: Iterable[str], subject: str, what: str) -> Decision:
    """A "no" because no allow entry fits."""
    rule, place = nearest(rules, subject)
    if rule is None:
        return Decision(False, model, "the allow list is empty")
    why = f"no allow entry {what}; the nearest, {rule}, differs at token {place}"
    return Decision(False, model, why, nearest=rule, differs_at=place)


def not_selected(model: str, subscription: str, subject: str) -> Decision:
    """A "no" because the subscription is for other subjects."""
    place = differs_at(subscription, subject)
    why = f"the subscription {subscription} does not select it: it differs at token {place}"
    return Decision(False, model, why, nearest=subscription, differs_at=place)
