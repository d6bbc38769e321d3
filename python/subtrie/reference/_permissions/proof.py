"""The proof that one set of rules is a subset of another: for each rule, the covering rules."""

from __future__ import annotations

from functools import reduce
from operator import and_

from .rule import Rule, meet
from .sets import Pair, pair_of
from .table import Table, numbers

Claims = tuple[list[tuple[str, list[str]]], list[tuple[str, str, list[str]]]]


def rules_proof(
    allow: list[str],
    deny: list[str],
    other_allow: list[str],
    other_deny: list[str],
    max_tokens: int | None = None,
) -> Claims | None:
    """Return why the first set is a subset of the second, or None if it is not.

    The first list has each allow rule with the rules that cover it: those the other side allows or
    this side denies. The second has each allow rule, a deny rule of the other side that overlaps
    it, and the denies of this side that cover the overlap. Every listed rule is needed.
    """
    pair = pair_of(allow, deny, other_allow, other_deny, max_tokens)
    inside = []
    table, texts = pair.covers(), [*other_allow, *deny]
    for rule, text in zip(pair.allow, allow, strict=True):
        within = _claim(pair, table, rule, texts)
        if within is None:
            return None
        inside.append((text, within))
    outside = []
    table = pair.denies()
    for rule, text in zip(pair.allow, allow, strict=True):
        for denied, denial in zip(pair.other_deny, other_deny, strict=True):
            both = meet(rule, denied)
            if both is None:
                continue
            within = _claim(pair, table, both, deny)
            if within is None:
                return None
            outside.append((text, denial, within))
    return inside, outside


def _claim(pair: Pair, table: Table, asked: Rule, texts: list[str]) -> list[str] | None:
    """Return one covering rule if one suffices, else a set from which no rule can be removed."""
    cells = [bits for _, _, bits in table.cells(asked, pair.bounds, pair.most)]
    if not all(cells):
        return None
    everywhere = reduce(and_, cells) if cells else 0
    if everywhere:
        return [texts[next(numbers(everywhere))]]
    chosen: list[int] = []
    for bits in reversed(cells):
        if not any(bits >> number & 1 for number in chosen):
            chosen.append(next(numbers(bits)))
    for tried in list(chosen):
        rest = sum(1 << number for number in chosen if number != tried)
        if all(bits & rest for bits in cells):
            chosen.remove(tried)
    return [texts[number] for number in chosen]
