"""The fewest allow rules for the given denies, then the denies that can go.

At each length, what must be kept is the widest rules that no deny covers. A rule ``r.*.>`` keeps
those of the chain ``r.*.*``, ``r.*.*.*``, …; the chains are independent, and each takes one tail
where that saves a rule, as narrow as can be.
"""

from __future__ import annotations

from collections import defaultdict

from .rule import ANY, Rule, Tokens, at_length, covers_at, meet, queue_covers, read
from .sets import too_much_work
from .table import Reach, Table, numbers, reach_of

_UNBOUNDED = 2**64 - 1


def rules_minimised(
    allow: list[str], deny: list[str], max_tokens: int | None = None
) -> tuple[list[str], list[str]]:
    """The fewest allow rules, and the denies they need, that hold the same.

    Sorted by text, independent of the order of the rules, and its own smallest form. The rules of
    each queue name are minimised for themselves, beside what wider queues allow (A69).
    """
    rules, denied = [read(text) for text in allow], [read(text) for text in deny]
    most = _UNBOUNDED if max_tokens is None else max_tokens
    reach = reach_of([*rules, *denied])
    if (len(rules) + len(denied)) ** 2 * reach.subject > 1 << 34:
        raise too_much_work()
    kept = []
    for queue in sorted({rule.queue or () for rule in rules}):
        kept += _one_queue(queue or ANY, rules, denied, reach, most)
    needed = _needed(kept, denied, reach, most)
    return sorted({str(rule) for rule in kept}), sorted({str(rule) for rule in needed})


def _one_queue(
    queue: Tokens | None, allow: list[Rule], deny: list[Rule], reach: Reach, most: int
) -> list[Rule]:
    # Within one queue, only the subjects of the rules that speak of all of it count.
    plain = [Rule(r.subject) for r in allow if r.queue == queue]
    wider = [Rule(r.subject) for r in allow if r.queue != queue and queue_covers(r.queue, queue)]
    denied = [Rule(rule.subject) for rule in deny if queue_covers(rule.queue, queue)]
    table = Table([*plain, *wider, *denied])
    reach = Reach(reach.subject, 0)
    last = min(reach.subject, most)
    endless = most > reach.subject  # then a tail at `last` stands for all the lengths beyond

    rules = []
    for root, stars in _chains(plain, table, reach, most).items():
        asked = Rule((*root, ">"))
        holes = [n - len(root) for n, _, bits in table.cells(asked, reach, last) if not bits]
        first = max(holes, default=0)  # the fewest stars after which a tail widens nothing
        above = sorted(star for star in stars if star > first)
        beyond = endless and bool(above) and len(root) + above[-1] == last
        tail = above[0] - 1 if len(above) + beyond >= 2 else None
        for star in stars:
            if tail is None or star <= tail:
                rules.append(Rule((*root, *["*"] * star), queue))
        if tail is not None:
            rules.append(Rule((*root, *["*"] * tail, ">"), queue))
    return rules


def _chains(plain: list[Rule], table: Table, reach: Reach, most: int) -> dict[Tokens, set[int]]:
    """By root, how many stars follow it in what must be kept."""
    kept: dict[Tokens, set[int]] = defaultdict(set)
    for rule in plain:
        for length, _, bits in table.cells(rule, reach, most):
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


def _needed(allow: list[Rule], deny: list[Rule], reach: Reach, most: int) -> list[Rule]:
    """The denies without which the set would be wider; the longest are tried first."""
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
            for _, _, bits in table.cells(part, reach, most)
        ):
            left = rest
    return [ordered[number] for number in numbers(left)]
