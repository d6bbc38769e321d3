"""Inclusion and overlap of sets of rules, with the shortest subject as a witness."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..._core.errors import refusal
from .rule import Rule, Tokens, has_tail, meet, read
from .table import LengthBounds, Table, length_bounds

#: The maximum number of 64-bit words of rule sets that one call may process.
MAX_WORK = 1 << 34

#: More tokens than any subject has.
_UNBOUNDED = 2**64 - 1

Witness = tuple[str, str | None] | None


class Pair:
    """Two sets of rules."""

    def __init__(
        self,
        allow: Sequence[Rule],
        deny: Sequence[Rule],
        other_allow: Sequence[Rule],
        other_deny: Sequence[Rule],
        max_tokens: int | None,
    ) -> None:
        self.allow, self.deny = allow, deny
        self.other_allow, self.other_deny = other_allow, other_deny
        self.most = _UNBOUNDED if max_tokens is None else max_tokens
        rules = [*allow, *deny, *other_allow, *other_deny]
        self.bounds = length_bounds(rules)
        asked = len(allow) * (1 + len(other_deny))
        held = -(-(len(other_allow) + len(deny)) // 64) + 1
        if asked * held * self.bounds.subject * (1 + self.bounds.queue) > MAX_WORK:
            raise too_much_work()
        self.fresh = fresh(rules)

    def covers(self) -> Table:
        """Return the rules that may cover an allow rule: allowed there, or denied here."""
        return Table([*self.other_allow, *self.deny])

    def denies(self) -> Table:
        """Return the rules that may cover a denial of the other side."""
        return Table(self.deny)


def too_much_work() -> Exception:
    """Return the error for a comparison that would take too many steps."""
    return refusal("PermissionsError", "too-much-work", "the comparison")


def pair_of(
    allow: Iterable[str],
    deny: Iterable[str],
    other_allow: Iterable[str],
    other_deny: Iterable[str],
    max_tokens: int | None,
) -> Pair:
    """Return two sets of rules from validated texts."""

    def rules(texts: Iterable[str]) -> list[Rule]:
        return [read(text) for text in texts]

    return Pair(rules(allow), rules(deny), rules(other_allow), rules(other_deny), max_tokens)


def fresh(rules: Iterable[Rule]) -> str:
    """Return a token that no rule names: ``x``, else the first unused of ``x1``, ``x2``, …."""
    named = {token for rule in rules for token in (*rule.subject, *(rule.queue or ()))}
    token, number = "x", 0
    while token in named:
        number += 1
        token = f"x{number}"
    return token


class ShortestWitness:
    """The witness with the fewest tokens of subject and queue; of equal ones the first by text."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._best: tuple[int, int, str, str] | None = None

    def hole(self, table: Table, asked: Rule) -> None:
        """Consider the shortest part of ``asked`` that no rule of the table covers."""
        pair = self._pair
        most = pair.most if self._best is None else min(pair.most, self._best[0])
        for length, size, bits in table.cells(asked, pair.bounds, most):
            if not bits:
                subject = _instance(asked.subject, length, pair.fresh)
                queue = _instance(asked.queue or (">",), size, pair.fresh) if size else ""
                found = (length, size, subject, queue)
                self._best = found if self._best is None else min(self._best, found)
                return

    def found(self) -> Witness:
        """Return the subject, and the queue or None; None if there is no witness."""
        return None if self._best is None else (self._best[2], self._best[3] or None)


def _instance(tokens: Tokens, length: int, free: str) -> str:
    head = tokens[:-1] if has_tail(tokens) else tokens
    concrete = [free if token == "*" else token for token in head]
    return ".".join(concrete + [free] * (length - len(head)))


def rules_witness(
    allow: list[str],
    deny: list[str],
    other_allow: list[str],
    other_deny: list[str],
    max_tokens: int | None = None,
) -> Witness:
    """Return the shortest subject, with its queue, that only the first set allows, or None."""
    return witness_of(pair_of(allow, deny, other_allow, other_deny, max_tokens))


def witness_of(pair: Pair) -> Witness:
    """Return the witness against the inclusion of the first set in the second, or None.

    ``a - d`` is a subset of ``b - e`` exactly if ``a`` is a subset of the union of ``b`` and ``d``,
    and the intersection of ``a`` and ``e`` is a subset of ``d``.
    """
    best = ShortestWitness(pair)
    table = pair.covers()
    for asked in pair.allow:
        best.hole(table, asked)
    table = pair.denies()
    for asked in pair.allow:
        for denied in pair.other_deny:
            both = meet(asked, denied)
            if both is not None:
                best.hole(table, both)
    return best.found()


def rules_overlap(
    allow: list[str],
    deny: list[str],
    other_allow: list[str],
    other_deny: list[str],
    max_tokens: int | None = None,
) -> Witness:
    """Return the shortest subject, with its queue, that both sets allow, or None."""
    # The intersections of the allow rules, without both lists of denies.
    pair = pair_of(allow, [*deny, *other_deny], [], other_allow, max_tokens)
    best = ShortestWitness(pair)
    table = pair.denies()
    for asked in pair.allow:
        for shared in pair.other_deny:
            both = meet(asked, shared)
            if both is not None:
                best.hole(table, both)
    return best.found()


def rules_admit(
    allow: list[str],
    deny: list[str],
    pattern: str,
    queue: str | None = None,
    max_tokens: int | None = None,
) -> Witness:
    """Return the shortest subject of a subscription that the rules do not allow, or None."""
    asked = Rule(tuple(pattern.split(".")), tuple(queue.split(".")) if queue else ())
    rules = [read(text) for text in allow]
    return witness_of(Pair([asked], [], rules, [read(text) for text in deny], max_tokens))


__all__ = [
    "LengthBounds",
    "Pair",
    "ShortestWitness",
    "fresh",
    "pair_of",
    "rules_admit",
    "witness_of",
]
