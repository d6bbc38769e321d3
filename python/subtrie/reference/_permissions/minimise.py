"""Minimisation of rules: the fewest allow rules for the given denies, then the needed denies.

At each length, the widest rules that no deny covers must be kept. A rule ``r.*.>`` keeps those of
the chain ``r.*.*``, ``r.*.*.*``, …; the chains are independent, and in each the narrowest rule with
``>`` is used if it saves a rule.
"""

from __future__ import annotations

from collections import defaultdict

from .rule import ANY, Rule, Tokens, at_length, covers_at, meet, queue_covers, read
from .sets import too_much_work
from .table import LengthBounds, Table, length_bounds, numbers

_UNBOUNDED = 2**64 - 1


def rules_minimised(
    allow: list[str], deny: list[str], max_tokens: int | None = None
) -> tuple[list[str], list[str]]:
    """Return the fewest allow rules, and the denies they need, that allow the same.

    The result is sorted by text, independent of the order of the rules, and minimal itself. The
    rules of each queue name are minimised separately, given what wider queues allow.
    """
    # A69
    rules, denied = [read(text) for text in allow], [read(text) for text in deny]
    most = _UNBOUNDED if max_tokens is None else max_tokens
    bounds = length_bounds([*rules, *denied])
    if (len(rules) + len(denied)) ** 2 * bounds.subject > 1 << 34:
        raise too_much_work()
    kept = []
    for queue in sorted({rule.queue or () for rule in rules}):
        kept += _one_queue(queue or ANY, rules, denied, bounds, most)
    needed = _needed(kept, denied, bounds, most)
    return sorted({str(rule) for rule in kept}), sorted({str(rule) for rule in needed})


def _one_queue(
    queue: Tokens | None, allow: list[Rule], deny: list[Rule], bounds: LengthBounds, most: int
) -> list[Rule]:
    # Within one queue, only the subjects of the rules that apply to all of it count.
    plain = [Rule(r.subject) for r in allow if r.queue == queue]
    wider = [Rule(r.subject) for r in allow if r.queue != queue and queue_covers(r.queue, queue)]
    denied = [Rule(rule.subject) for rule in deny if queue_covers(rule.queue, queue)]
    table = Table([*plain, *wider, *denied])
    bounds = LengthBounds(bounds.subject, 0)
    last = min(bounds.subject, most)
    endless = most > bounds.subject  # then '>' at `last` stands for all longer lengths

    rules = []
    for root, stars in _chains(plain, table, bounds, most).items():
        asked = Rule((*root, ">"))
        holes = [n - len(root) for n, _, bits in table.cells(asked, bounds, last) if not bits]
        first = max(holes, default=0)  # the fewest stars after which '>' adds nothing
        above = sorted(star for star in stars if star > first)
        beyond = endless and bool(above) and len(root) + above[-1] == last
        tail = above[0] - 1 if len(above) + beyond >= 2 else None
        for star in stars:
            if tail is None or star <= tail:
                rules.append(Rule((*root, *["*"] * star), queue))
        if tail is not None:
            rules.append(Rule((*root, *["*"] * tail, ">"), queue))
    return rules


def _chains(
    plain: list[Rule], table: Table, bounds: LengthBounds, most: int
) -> dict[Tokens, set[int]]:
    """Return, for each root, the numbers of stars that follow it in the rules to keep."""
    kept: dict[Tokens, set[int]] = defaultdict(set)
    for rule in plain:
        for length, _, bits in table.cells(rule, bounds, most):
            if all(
                number < len(plain) and covers_at(rule.subject, plain[number].subject, length)
                for number in numbers(bits)
            ):
                tokens = at_length(rule.subject, length) or ()
                root = tokens
                while root[-1:] == ("*",):
                    root = root[:-1]
                kept[root].add(length - len(root))
    return kept


def _needed(allow: list[Rule], deny: list[Rule], bounds: LengthBounds, most: int) -> list[Rule]:
    """Return the denies without which more would be allowed; the longest are tried first."""
    by_text = {str(rule): rule for rule in deny}

    def longest_first(text: str) -> tuple[int, int, str]:
        rule = by_text[text]
        return -len(rule.subject) - len(rule.queue or ()), -len(text.encode()), text

    ordered = [by_text[text] for text in sorted(by_text, key=longest_first)]
    table = Table(ordered)
    left = (1 << len(ordered)) - 1
    for number, tried in enumerate(ordered):
        rest = left & ~(1 << number)
        parts = (meet(rule, tried) for rule in allow)
        if all(
            bits & rest
            for part in parts
            if part is not None
            for _, _, bits in table.cells(part, bounds, most)
        ):
            left = rest
    return [ordered[number] for number in numbers(left)]
