"""What one set grants and another does not, as patterns with what is taken out of each."""

from __future__ import annotations

from collections.abc import Iterable

from .rule import Rule, covers, meet
from .sets import Best, Pair, pair_of, too_much_work
from .table import Table

#: Most grants of a difference, before those that others cover are dropped.
MOST_GRANTS = 4096

#: Grants times the square of the rules that may take something out of each.
MOST_HOLES = 1 << 32

Grant = tuple[str, list[str], str, str | None]


def rules_difference(
    allow: list[str],
    deny: list[str],
    other_allow: list[str],
    other_deny: list[str],
    max_tokens: int | None = None,
) -> list[Grant]:
    """What the first set holds and the second does not: rule, what is taken out, subject, queue.

    The union of the grants is exactly that: first what no rule of the other side allows, then what
    the other side allows and denies.
    """
    pair = pair_of(allow, deny, other_allow, other_deny, max_tokens)
    table, denies = pair.covers(), pair.denies()
    wider = [rule for rule in pair.allow if _found(pair, table, rule)]
    undenied: dict[Rule, None] = {}
    for rule in pair.allow:
        for denied in pair.other_deny:
            both = meet(rule, denied)
            # Where the other side allows nothing of it, the grants above say it already.
            if both is None or not any(meet(both, allowed) for allowed in pair.other_allow):
                continue
            if both not in undenied and _found(pair, denies, both):
                undenied[both] = None
    # More is no difference that anybody reads, and sorting it out would take the square of it.
    grants, rules = len(wider) + len(undenied), len(pair.other_allow) + len(pair.deny)
    if grants > MOST_GRANTS or grants * rules * rules > MOST_HOLES:
        raise too_much_work()
    return [
        *_written(pair, table, wider, [*pair.other_allow, *pair.deny]),
        *_written(pair, denies, undenied, pair.deny),
    ]


def _found(pair: Pair, table: Table, rule: Rule) -> tuple[str, str | None] | None:
    best = Best(pair)
    best.hole(table, rule)
    return best.found()


def widest(rules: Iterable[Rule]) -> list[Rule]:
    """Without the rules that another one covers; of equal ones the first."""
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
        assert witness is not None  # only what has a witness is kept
        grants.append((str(rule), sorted(map(str, holes)), *witness))
    return sorted(grants, key=lambda grant: grant[0])
