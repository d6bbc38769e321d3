"""Decisions: allowed or not, by which rule, in which model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from .._core.subject import Subject

STRICT = "strict"
BROKER = "broker"


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """The answer to one question about permissions; truthy if allowed.

    Attributes:
        allowed: True if the permissions allow it.
        model: the model that decided, ``strict`` or ``broker``; ``both`` in answers of commands.
        explanation: one line that says why; also ``why``.
        rule: the deciding entry: an allow entry that matches or a deny entry that refuses. None if
            there is no list, or if no entry matches.
        nearest: without a rule, the allow entry that matches the most leading tokens.
        differs_at: the zero-based index of the first token in which ``nearest`` differs.
        witness: for a refused pattern, a subject of it that is not allowed.
        determined: False if these lists do not decide: the account, a scoped signing key or an
            external authority does, or the model does not decide such a request; also ``known``.
        models_disagree: True if the other model decides otherwise.
    """

    allowed: bool
    model: str
    explanation: str
    rule: str | None = None
    nearest: str | None = None
    differs_at: int | None = None
    witness: Subject | None = None
    determined: bool = True
    models_disagree: bool = False

    @property
    def why(self) -> str:
        """Short name of ``explanation``."""
        return self.explanation

    @property
    def known(self) -> bool:
        """Short name of ``determined``."""
        return self.determined

    def __bool__(self) -> bool:
        return self.allowed

    def _repr_html_(self) -> str:
        from .._core.display import fields

        answer = "allowed" if self.allowed else "refused" if self.determined else "not determined"
        values = ((each.name, getattr(self, each.name)) for each in dataclasses.fields(self))
        return fields(answer, ((name, value) for name, value in values if value is not None))

    def compared(self, other: Decision) -> Decision:
        """Return this decision, marked if that of the other model differs."""
        if not other.determined and other.model == BROKER:
            more = f"{self.explanation} (by the model {BROKER!r} {other.explanation})"
            return dataclasses.replace(self, explanation=more)
        if not self.determined or other.allowed == self.allowed:
            return self
        word = "allows it" if other.allowed else "refuses it"
        more = f"{self.explanation} (the model {other.model!r} {word}: {other.explanation})"
        return dataclasses.replace(self, explanation=more, models_disagree=True)


def undetermined(model: str, decided_by: str) -> Decision:
    """Return the decision for a user about whom the input does not decide.

    Args:
        model: the model that was asked.
        decided_by: who decides.
    """
    return Decision(False, model, f"decided elsewhere, by {decided_by}", determined=False)


def differs_at(rule: str, subject: str) -> int:
    """Return the index of the first token of the subject that the rule does not match."""
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
    """Return the first rule that matches the most leading tokens, and where it differs."""
    best: tuple[str | None, int | None] = (None, None)
    for rule in rules:
        index = differs_at(rule, subject)
        if best[1] is None or index > best[1]:
            best = (rule, index)
    return best


def without_list(model: str) -> Decision:
    """Return the decision where there is no allow list."""
    return Decision(True, model, "there is no allow list, so everything is allowed")


def not_listed(model: str, rules: Iterable[str], subject: str, what: str) -> Decision:
    """Return a refusal because no allow entry matches; ``what`` says what none of them does."""
    rule, index = nearest(rules, subject)
    if rule is None:
        return Decision(False, model, "the allow list is empty")
    explanation = f"no allow entry {what}; the nearest, {rule}, differs at token {index}"
    return Decision(False, model, explanation, nearest=rule, differs_at=index)


def not_selected(model: str, subscription: str, subject: str) -> Decision:
    """Return a refusal because the subscription does not match the subject."""
    index = differs_at(subscription, subject)
    explanation = (
        f"the subscription {subscription} does not match the subject: it differs at token {index}"
    )
    return Decision(False, model, explanation, nearest=subscription, differs_at=index)
