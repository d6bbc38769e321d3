"""A table of rules that finds those covering a rule at each length, as bit sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .rule import ANY, Rule, Tokens, has_tail


class LengthBounds(NamedTuple):
    """The lengths to be distinguished: all lengths beyond the longest rule are equivalent."""

    subject: int
    queue: int  # 0 if no rule has a queue


def length_bounds(rules: Sequence[Rule]) -> LengthBounds:
    """Return the length bounds of rules."""
    subject = max((len(rule.subject) - has_tail(rule.subject) + 1 for rule in rules), default=1)
    queue = max(
        (len(rule.queue) - has_tail(rule.queue) + 1 for rule in rules if rule.queue), default=0
    )
    return LengthBounds(max(subject, 1), queue)


def lengths(tokens: Tokens, bounds: int, most: int) -> range:
    """Return the lengths of the subjects of a pattern, up to ``most``."""
    last = max(bounds, len(tokens)) if has_tail(tokens) else len(tokens)
    return range(len(tokens), min(last, most) + 1)


class _PatternTable:
    """The patterns of rules, or their queues: for each position, the rules that match a token."""

    def __init__(self, patterns: dict[int, Tokens]) -> None:
        self.all = sum(1 << number for number in patterns)
        self._longest = max((len(p) - has_tail(p) for p in patterns.values()), default=0)
        self._stars = [0] * self._longest
        self._tails = [0] * (self._longest + 1)
        self._exact = [0] * (self._longest + 1)
        self._named: dict[tuple[int, str], int] = {}
        for number, pattern in patterns.items():
            bit = 1 << number
            head = pattern[:-1] if has_tail(pattern) else pattern
            for position, token in enumerate(head):
                if token == "*":
                    self._stars[position] |= bit
                else:
                    key = (position, token)
                    self._named[key] = self._named.get(key, 0) | bit
            if has_tail(pattern):
                for position in range(len(head), self._longest + 1):
                    self._tails[position] |= bit
            else:
                self._exact[len(head)] |= bit

    def step(self, alive: int, position: int, token: str) -> int:
        """Return those of the rules ``alive`` that match this token."""
        onward = self._tails[min(position, self._longest)]
        if position < self._longest:
            onward |= self._stars[position] | self._named.get((position, token), 0)
        return alive & onward

    def ended(self, alive: int, length: int) -> int:
        """Return those of the rules ``alive`` that match a subject of this length."""
        exact = self._exact[length] if length <= self._longest else 0
        return alive & (exact | self._tails[min(length - 1, self._longest)])


class Table:
    """Rules, prepared for finding those that cover a given rule."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._subjects = _PatternTable({number: rule.subject for number, rule in enumerate(rules)})
        self._queues = _PatternTable({n: rule.queue for n, rule in enumerate(rules) if rule.queue})
        self._any = sum(1 << number for number, rule in enumerate(rules) if rule.queue is ANY)

    def cells(self, asked: Rule, bounds: LengthBounds, most: int) -> Iterator[tuple[int, int, int]]:
        """Iterate over the lengths of subject and queue of a rule, with the rules that cover it."""
        wanted = lengths(asked.subject, bounds.subject, most)
        queues = self._queue_bits(asked.queue, bounds)
        alive = self._subjects.all
        for length in range(1, wanted.stop):
            alive = self._subjects.step(alive, length - 1, _token(asked.subject, length - 1))
            if length in wanted:
                found = self._subjects.ended(alive, length)
                for size, bits in queues:
                    yield length, size, found & bits

    def _queue_bits(self, asked: Tokens | None, bounds: LengthBounds) -> list[tuple[int, int]]:
        """Return, for each length of a queue name, the rules whose queues cover the query."""
        wanted = range(bounds.queue + 1) if asked is ANY else range(1)
        if asked:
            wanted = lengths(asked, bounds.queue, 2**63)
        by_length = []
        alive = self._queues.all
        for size in range(wanted.stop):
            if size:
                alive = self._queues.step(alive, size - 1, _token(asked or (), size - 1))
            if size in wanted:
                found = self._queues.ended(alive, size) if size else 0
                by_length.append((size, found | self._any))
        return by_length


def _token(tokens: Tokens, position: int) -> str:
    """Return the token at a position; ``*`` for positions that ``>`` covers."""
    head = len(tokens) - has_tail(tokens)
    return tokens[position] if position < head else "*"


def numbers(bits: int) -> Iterator[int]:
    """Iterate over the numbers in a bit set, in ascending order."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
