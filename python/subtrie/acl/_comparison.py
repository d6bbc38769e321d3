"""Comparison of two permissions as sets: relation, proof, difference, and witness subjects."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

from .._core import engine
from .._core.subject import Subject
from ._rule_sets import RuleSets

VERBS = ("publish", "subscribe")

#: Microbus's trust root: port 666 of any plane.  # T13
DANGER = "*.danger.>"


class Witness(Subject):
    """A subject that one side may use and the other may not.

    Attributes:
        verb: ``publish``, ``subscribe`` or ``respond``.
        queue: the queue group of the subscription; None without one.
    """

    __slots__ = ("queue", "verb")
    verb: str
    queue: str | None

    @classmethod
    def _create(cls, text: str, queue: str | None, verb: str, dialect: str) -> Self:
        self = cls._of(text, dialect)
        self.verb, self.queue = verb, queue
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Witness._create, (str(self), self.queue, self.verb, self.dialect)


@dataclasses.dataclass(frozen=True, slots=True)
class Grant:
    """One grant of a difference.

    Attributes:
        verb: ``publish``, ``subscribe`` or ``respond``.
        pattern: what is granted.
        queue: the queue group it is granted for; None for any.
        unless: patterns that are taken out of it.
        witness: a subject that is granted.
        danger: True if it reaches the trust root of Microbus.
    """

    verb: str
    pattern: str
    queue: str | None
    unless: tuple[str, ...]
    witness: Witness
    danger: bool = False

    def __str__(self) -> str:
        queue = f" queue {self.queue}" if self.queue else ""
        unless = f" unless {', '.join(self.unless)}" if self.unless else ""
        return f"{self.verb} {self.pattern}{queue}{unless}"


@dataclasses.dataclass(frozen=True, slots=True)
class Diff:
    """The difference of two permissions; truthy if there is any.

    Attributes:
        added: what only the new permissions grant, the most far-reaching first.
        removed: what only the old ones granted.
        broker: subscriptions that a running broker refused before and may take now, though the
            sets of subjects do not tell: in queue groups, or deeper than an entry that ends in
            ``*``. The subject of each is its pattern.
    """

    added: tuple[Grant, ...]
    removed: tuple[Grant, ...]
    broker: tuple[Witness, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def _repr_html_(self) -> str:
        from .._core.display import table

        changes = (("+", self.added), ("-", self.removed))
        rows = [(sign, str(each), each.witness) for sign, grants in changes for each in grants]
        rows += [("?", f"subscribe {each}, as a broker decides", each) for each in self.broker]
        title = f"{len(self.added)} added, {len(self.removed)} removed" if rows else "no difference"
        return table(title, ("", "grant", "example"), rows)


class Comparison:
    """The relation of two permissions, decided on the whole sets, not rule by rule.

    Attributes:
        only_left: a subject that only the left side may use; None if there is none.
        only_right: a subject that only the right side may use; None if there is none.
    """

    def __init__(self, left: RuleSets, right: RuleSets) -> None:
        self._left, self._right = left, right
        self.only_left = only(left, right)
        self.only_right = only(right, left)

    @property
    def relation(self) -> str:
        """``equal``, ``subset`` (the left side grants less), ``superset`` or ``incomparable``."""
        if self.only_left is None:
            return "equal" if self.only_right is None else "subset"
        return "superset" if self.only_right is None else "incomparable"

    @cached_property
    def proof(self) -> dict[str, dict[str, Any]] | None:
        """The proof that one side is a subset of the other, by direction and verb; else None.

        Under ``left_in_right`` (and ``right_in_left``), by verb: ``inside`` holds ``[entry,
        [entries that cover it]]``, and ``outside`` holds ``[entry, other side's deny, [own
        denies]]``.
        """
        proof = {}
        if self.only_left is None:
            proof["left_in_right"] = _proof(self._left, self._right)
        if self.only_right is None:
            proof["right_in_left"] = _proof(self._right, self._left)
        return proof or None

    def __repr__(self) -> str:
        return f"<Comparison {self.relation}>"


def only(left: RuleSets, right: RuleSets) -> Witness | None:
    """Return a subject of the fewest tokens that only the left side may use; None without one."""
    found = []
    for order, verb in enumerate(VERBS):
        lists = (*left.lists(verb), *right.lists(verb))
        witness = engine.rules_witness(*lists, left.cap)
        if witness is not None:
            subject, queue = witness
            found.append((subject.count("."), order, verb, subject, queue))
    respond = _only_responses(left, right)
    if respond is not None:
        found.append((respond.count("."), len(VERBS), "respond", str(respond), None))
    if not found:
        return None
    _, _, verb, subject, queue = min(found, key=lambda each: each[:2])
    return Witness._create(subject, queue, verb, left.dialect)


def _only_responses(left: RuleSets, right: RuleSets) -> Witness | None:
    """Return a subject that only the left side may answer to, or may answer more often."""
    if left.allow_responses is None:
        return None
    if right.allow_responses is not None and right.allow_responses.covers(left.allow_responses):
        return None
    if engine.rules_overlap(*left.lists("subscribe"), [">"], [], left.cap) is None:
        return None  # a client that receives nothing has nothing to answer
    # A subject that may be published anyway needs no grant.
    allow, deny = right.lists("publish")
    witness = engine.rules_witness([">"], [], allow, deny, left.cap)
    return None if witness is None else Witness._create(witness[0], None, "respond", left.dialect)


def _proof(left: RuleSets, right: RuleSets) -> dict[str, Any]:
    proof = {}
    for verb in VERBS:
        lists = (*left.lists(verb), *right.lists(verb))
        found = engine.rules_proof(*lists, left.cap)
        assert found is not None  # the relation said so
        inside, outside = found
        proof[verb] = {
            "inside": [list(claim) for claim in inside],
            "outside": [list(claim) for claim in outside],
        }
    return proof


def added(old: RuleSets, new: RuleSets, microbus: bool) -> tuple[Grant, ...]:
    """Return what only the new permissions grant, the most far-reaching first.

    ``microbus`` tells whether grants that reach its trust root are marked.
    """
    grants = []
    for verb in VERBS:
        lists = (*new.lists(verb), *old.lists(verb))
        for rule, unless, subject, queue in engine.rules_difference(*lists, new.cap):
            pattern, _, group = rule.partition(" ")
            reached = danger_in(rule, unless, new.cap) if microbus else None
            # If the trust root is in reach, the witness shows that.
            shown, shown_queue = reached or (subject, queue)
            witness = Witness._create(shown, shown_queue, verb, new.dialect)
            danger = reached is not None
            grants.append(Grant(verb, pattern, group or None, tuple(unless), witness, danger))
    respond = _only_responses(new, old)
    if respond is not None:
        grants.append(Grant("respond", ">", None, (), respond, microbus))
    return tuple(sorted(grants, key=_reach))


def danger_in(rule: str, deny: Sequence[str], cap: int | None) -> tuple[str, str | None] | None:
    """Return a subject of the trust root that a rule reaches, with its queue; None without one.

    A first token that is not a plane, such as ``_INBOX`` or ``$JS``, reaches none.

    Args:
        rule: the allow entry.
        deny: the deny entries of the same verb.
        cap: the most tokens of a subject; None for no limit.
    """  # S0-016
    plane = rule.partition(" ")[0].partition(".")[0]
    if plane not in ("*", ">") and not (plane.isascii() and plane.isalnum()):
        return None
    found: tuple[str, str | None] | None
    found = engine.rules_overlap([rule], list(deny), [DANGER], [], cap)
    return found


def _reach(grant: Grant) -> tuple[Any, ...]:
    """A sort key: the grant that reaches further comes first."""
    tokens = grant.pattern.split(".")
    literals = sum(token not in ("*", ">") for token in tokens)
    return (
        not grant.danger,
        grant.verb != "respond",
        tokens[0] not in ("*", ">"),
        literals,
        tokens[-1] != ">",
        grant.verb,
        grant.pattern,
        grant.queue or "",
    )
