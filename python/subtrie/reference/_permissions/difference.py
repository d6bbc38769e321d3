"""The difference of two sets of rules, as rules with exceptions."""

from __future__ import annotations

from collections.abc import Iterable

from .rule import Rule, covers, meet
from .sets import Pair, ShortestWitness, pair_of, too_much_work
from .table import Table

#: The maximum number of grants of a difference, before removing those that others cover.
MAX_GRANTS = 4096

#: The maximum of the grants times the square of the rules that may be exceptions of each.
MAX_HOLES = 1 << 32

Grant = tuple[str, list[str], str, str | None]


def rules_difference(
    allow: list[str],
    deny: list[str],
    other_allow: list[str],
    other_deny: list[str],
    max_tokens: int | None = None,
) -> list[Grant]:
    """Return what only the first set allows: rule, exceptions, example subject, its queue.

    The union of the grants is the difference: first what the other side does not allow, then what
    it allows and denies.
    """
    pair = pair_of(allow, deny, other_allow, other_deny, max_tokens)
    table, denies = pair.covers(), pair.denies()
    wider = [rule for rule in pair.allow if _found(pair, table, rule)]
    undenied: dict[Rule, None] = {}
    for rule in pair.allow:
        for denied in pair.other_deny:
            both = meet(rule, denied)
            # If the other side allows none of it, the grants above contain it.
            if both is None or not any(meet(both, allowed) for allowed in pair.other_allow):
                continue
            if both not in undenied and _found(pair, denies, both):
                undenied[both] = None
    # A larger difference is not readable, and reducing it would take quadratic time.
    grants, rules = len(wider) + len(undenied), len(pair.other_allow) + len(pair.deny)
    if grants > MAX_GRANTS or grants * rules * rules > MAX_HOLES:
        raise too_much_work()
    return [
        *_written(pair, table, wider, [*pair.other_allow, *pair.deny]),
        *_written(pair, denies, undenied, pair.deny),
    ]


def _found(pair: Pair, table: Table, rule: Rule) -> tuple[str, str | None] | None:
    best = ShortestWitness(pair)
    best.hole(table, rule)
    return best.found()


def widest(rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules without those that another one covers; of equal rules the first."""
    kept: list[Rule] = []
    for rule in rules:
        if not any(covers(other, rule) for other in kept):
            kept = [other for other in kept if not covers(rule, other)] + [rule]
    return kept


def _written(pair: Pair, table: Table, rules: Iterable[Rule], taken: Iterable[Rule]) -> list[Grant]:
    grants = []
    for rule in widest(rules):
        met = (meet(rule, other) for other in taken)
        holes = widest(hole for hole in met if hole is not None)
        witness = _found(pair, table, rule)
        assert witness is not None  # only rules with a witness are kept
        grants.append((str(rule), sorted(map(str, holes)), *witness))
    return sorted(grants, key=lambda grant: grant[0])
