"""Is one set inside another, do two sets meet? With the shortest subject that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..._errors import refusal
from .rule import Rule, Tokens, has_tail, meet, read
from .table import Reach, Table, reach_of

#: Words of 64 rules that one question may look at.
MOST_WORK = 1 << 34

#: More tokens than any subject has.
_UNBOUNDED = 2**64 - 1

Found = tuple[str, str | None] | None


class Pair:
    """Two sets, read."""

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
        self.reach = reach_of(rules)
        asked = len(allow) * (1 + len(other_deny))
        held = -(-(len(other_allow) + len(deny)) // 64) + 1
        if asked * held * self.reach.subject * (1 + self.reach.queue) > MOST_WORK:
            raise too_much_work()
        self.fresh = fresh(rules)

    def covers(self) -> Table:
        """What may cover an allow rule: what the other side allows, or this one denies."""
        return Table([*self.other_allow, *self.deny])

    def denies(self) -> Table:
        """What may cover what the other side denies."""
        return Table(self.deny)


def too_much_work() -> Exception:
    """The refusal of a question that would take more work than is promised."""
    return refusal("PermissionsError", "too-much-work", "the comparison")


def pair_of(
    allow: Iterable[str],
    deny: Iterable[str],
    other_allow: Iterable[str],
    other_deny: Iterable[str],
    max_tokens: int | None,
) -> Pair:
    """Reads two sets of checked texts."""

    def rules(texts: Iterable[str]) -> list[Rule]:
        return [read(text) for text in texts]

    return Pair(rules(allow), rules(deny), rules(other_allow), rules(other_deny), max_tokens)


def fresh(rules: Iterable[Rule]) -> str:
    """A token that no rule names: ``x``, else the first of ``x1``, ``x2``, … that is free."""
    named = {token for rule in rules for token in (*rule.subject, *(rule.queue or ()))}
    token, number = "x", 0
    while token in named:
        number += 1
        token = f"x{number}"
    return token


class Best:
    """The best witness so far: fewest tokens of the subject, then of the queue, then by text."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._best: tuple[int, int, str, str] | None = None

    def hole(self, table: Table, asked: Rule) -> None:
        """Takes the shortest part of ``asked`` that no rule of the table covers."""
        pair = self._pair
        most = pair.most if self._best is None else min(pair.most, self._best[0])
        for length, size, bits in table.cells(asked, pair.reach, most):
            if not bits:
                subject = _instance(asked.subject, length, pair.fresh)
                queue = _instance(asked.queue or (">",), size, pair.fresh) if size else ""
                found = (length, size, subject, queue)
                self._best = found if self._best is None else min(self._best, found)
                return

    def found(self) -> Found:
        """The witness: subject, and queue or None."""
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
) -> Found:
    """The shortest subject, with its queue, that the first set holds and the second does not."""
    return witness_of(pair_of(allow, deny, other_allow, other_deny, max_tokens))


def witness_of(pair: Pair) -> Found:
    """``a \\ d`` inside ``a' \\ d'``: every a inside a' and d together, every a and d' inside d."""
    best = Best(pair)
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
) -> Found:
    """The shortest subject, with its queue, that both sets hold."""
    # Each allow rule within each of the other's, less both lists of denies.
    pair = pair_of(allow, [*deny, *other_deny], [], other_allow, max_tokens)
    best = Best(pair)
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
) -> Found:
    """The shortest subject of the pattern, asked for with the queue or without one, that the set
    does not hold; None where it holds them all."""
    asked = Rule(tuple(pattern.split(".")), tuple(queue.split(".")) if queue else ())
    rules = [read(text) for text in allow]
    return witness_of(Pair([asked], [], rules, [read(text) for text in deny], max_tokens))


__all__ = ["Best", "Pair", "Reach", "fresh", "pair_of", "rules_admit", "witness_of"]
