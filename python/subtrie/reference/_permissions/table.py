"""Which of many rules cover this one, at each length? Sets of rules as the bits of one integer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .rule import ANY, Rule, Tokens, has_tail


class Reach(NamedTuple):
    """How far lengths are told apart: beyond the longest rule, every length looks alike."""

    subject: int
    queue: int  # 0 where no rule names a queue


def reach_of(rules: Sequence[Rule]) -> Reach:
    """The reach of these rules together."""
    subject = max((len(rule.subject) - has_tail(rule.subject) + 1 for rule in rules), default=1)
    queue = max(
        (len(rule.queue) - has_tail(rule.queue) + 1 for rule in rules if rule.queue), default=0
    )
    return Reach(max(subject, 1), queue)


def lengths(tokens: Tokens, reach: int, most: int) -> range:
    """The lengths of subjects that a pattern has, up to ``most``."""
    last = max(reach, len(tokens)) if has_tail(tokens) else len(tokens)
    return range(len(tokens), min(last, most) + 1)


class _Column:
    """The patterns of the rules, or their queues: for each position, who goes on over a token."""

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
        """Of the rules alive, those that go on over this token."""
        onward = self._tails[min(position, self._longest)]
        if position < self._longest:
            onward |= self._stars[position] | self._named.get((position, token), 0)
        return alive & onward

    def ended(self, alive: int, length: int) -> int:
        """Of the rules alive, those that may end after this many tokens."""
        exact = self._exact[length] if length <= self._longest else 0
        return alive & (exact | self._tails[min(length - 1, self._longest)])


class Table:
    """Rules, ready to be asked which of them cover a given one."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._subjects = _Column({number: rule.subject for number, rule in enumerate(rules)})
        self._queues = _Column({n: rule.queue for n, rule in enumerate(rules) if rule.queue})
        self._any = sum(1 << number for number, rule in enumerate(rules) if rule.queue is ANY)

    def cells(self, asked: Rule, reach: Reach, most: int) -> Iterator[tuple[int, int, int]]:
        """Each length of subject and of queue that ``asked`` has, and who covers it there."""
        wanted = lengths(asked.subject, reach.subject, most)
        queues = self._queue_bits(asked.queue, reach)
        alive = self._subjects.all
        for length in range(1, wanted.stop):
            alive = self._subjects.step(alive, length - 1, _token(asked.subject, length - 1))
            if length in wanted:
                found = self._subjects.ended(alive, length)
                for size, bits in queues:
                    yield length, size, found & bits

    def _queue_bits(self, asked: Tokens | None, reach: Reach) -> list[tuple[int, int]]:
        """By length of queue name: the rules whose queues cover those asked about."""
        wanted = range(reach.queue + 1) if asked is ANY else range(1)
        if asked:
            wanted = lengths(asked, reach.queue, 2**63)
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
    """The token at a position, ``*`` within the tail."""
    head = len(tokens) - has_tail(tokens)
    return tokens[position] if position < head else "*"


def numbers(bits: int) -> Iterator[int]:
    """The numbers in a set, ascending."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
