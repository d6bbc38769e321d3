"""Who hears a subject? The index in plain Python: a dictionary per level, read level by level.

Writers take one lock; readers take none and rely on the GIL (see ``tree``). A reader beside an
``update`` may see part of it, where the native engine shows all of it or nothing.
"""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, final

from ..errors import SubjectError
from ..subscription import (
    Explanation,
    Groups,
    Subscription,
    TrieStats,
    empty_trie,
    explained,
    subscribed,
)
from . import tree
from .admission import check_queue
from .column import rows_of
from .drawing import draw
from .grammar import bound, bounds, check_pattern, check_subject, encoded
from .match_batch import Matches
from .tree import Node, Row, by_id

# One lock for the writers of all tries, held across a fork so that no child inherits it taken.
_writing = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_writing.acquire,
        after_in_parent=_writing.release,
        after_in_child=_writing.release,
    )


@final
class SubjectTrie:
    """An index of subscriptions by pattern, asked by subject.

    ``max_tokens`` and ``max_length`` bound subjects and patterns, by dialect unless given (A37).
    Raises ``PatternError`` for a pattern, ``SubjectError`` for a subject and ``InvalidName`` for a
    queue name that breaks a rule, ``TypeError`` for what is no text; then nothing has changed.
    Safe under threads and fork. Rules: M-05, S0-080, S0-081, S0-128, A17 to A19, A37, A39.
    """

    __slots__ = (
        "__weakref__", "_dialect", "_given", "_max_length", "_max_tokens", "_next", "_root", "_rows"
    )  # fmt: skip
    _dialect: str
    _given: tuple[int | None, int | None]
    _max_length: int
    _max_tokens: int | None
    _next: int
    _root: Node
    _rows: dict[int, Row]

    def __new__(
        cls,
        *,
        dialect: str = "strict",
        max_tokens: int | None = None,
        max_length: int | None = None,
    ) -> SubjectTrie:
        self = object.__new__(cls)
        bounds(dialect, None, None)  # refuses an unknown dialect before anything else
        self._given = (bound("max_tokens", max_tokens), bound("max_length", max_length))
        self._max_tokens, self._max_length = bounds(dialect, *self._given)
        self._dialect = dialect
        self._next = 0
        self._root = Node()
        self._rows = {}
        return self

    @property
    def dialect(self) -> str:
        """``strict`` or ``server``."""
        return self._dialect

    @property
    def max_tokens(self) -> int | None:
        """Most tokens of a subject or pattern; None where only the bytes are bounded."""
        return self._max_tokens

    @property
    def max_length(self) -> int:
        """Most bytes of a subject or pattern."""
        return self._max_length

    # Changing

    def add(self, pattern: str, value: object, *, queue: str | None = None) -> Subscription:
        """Subscribes ``value`` to ``pattern``, as a member of a queue group if one is named.

        Returns the handle that ``remove`` takes. Cost: one step a token.
        """
        pattern, queue = self._admitted(pattern, queue)
        with _writing:
            return self._insert(pattern, value, queue)

    def update(self, rows: Iterable[Iterable[Any]]) -> list[Subscription]:
        """Adds rows ``(pattern, value)`` or ``(pattern, value, queue)``: all, or none of them.

        Raises ``TypeError`` or ``ValueError`` for a row of another shape.
        """
        admitted = []
        for row in rows:
            if isinstance(row, str):
                raise TypeError(
                    "a row must be (pattern, value) or (pattern, value, queue), not str"
                )
            parts = tuple(row)
            if len(parts) not in (2, 3):
                raise ValueError(
                    f"a row must be (pattern, value) or (pattern, value, queue), not {len(parts)}"
                    " parts"
                )
            pattern, queue = self._admitted(parts[0], parts[2] if len(parts) == 3 else None)
            admitted.append((pattern, parts[1], queue))
        with _writing:
            return [self._insert(*row) for row in admitted]

    def remove(self, subscription: Subscription) -> bool:
        """Takes a subscription out. False if it is not, or no longer, in this index."""
        if not isinstance(subscription, Subscription):
            raise TypeError(f"subscription must be Subscription, not {type(subscription).__name__}")
        with _writing:
            row = self._row(subscription)
            if row is None:
                return False
            tree.delete(self._root, row)
            del self._rows[row.id]
            if not self._rows:
                self._rows = {}
        return True  # the row, and with it perhaps the value, goes after the lock

    def clear(self) -> None:
        """Takes all subscriptions out. Ids are not given again."""
        with _writing:
            rows, root = self._rows, self._root
            self._rows, self._root = {}, Node()
        del rows, root

    # Asking

    def match(self, subject: str) -> tuple[Any, ...]:
        """The values of all subscriptions that match, in order of insertion, queues or not."""
        return tuple([row.value for row in self._hits(subject)])

    __call__ = match

    def subscriptions(self, subject: str) -> tuple[Subscription, ...]:
        """The subscriptions that match, in order of insertion."""
        return _handles(self._hits(subject))

    def groups(self, subject: str) -> Groups:
        """The values that match: plain ones, and by queue name over all patterns (A18)."""
        plain: list[Any] = []
        queues: dict[str, list[Any]] = {}
        for row in self._hits(subject):
            members = plain if row.queue is None else queues.setdefault(row.queue, [])
            members.append(row.value)
        return Groups(tuple(plain), {name: tuple(members) for name, members in queues.items()})

    def select(self, subject: str) -> tuple[Any, ...]:
        """The values a broker would deliver to: all plain ones, one of each queue group.

        Members take turns in order of insertion, counted by the group's oldest member (A19).
        """
        chosen: list[Row] = []
        queues: dict[str, list[Row]] = {}
        for row in self._hits(subject):
            members = chosen if row.queue is None else queues.setdefault(row.queue, [])
            members.append(row)
        for members in queues.values():
            oldest = members[0]
            chosen.append(members[oldest.turn % len(members)])
            oldest.turn += 1
        return tuple([row.value for row in by_id(chosen)])

    def has_interest(self, subject: str) -> bool:
        """Does any subscription match?"""
        return bool(self._hits(subject))

    def count(self, subject: str) -> int:
        """How many subscriptions match, queue members too."""
        return len(self._hits(subject))

    def matching(self, pattern: str) -> tuple[Subscription, ...]:
        """The subscriptions whose pattern has a subject in common with ``pattern``."""
        text = self._checked(pattern)
        return _handles(by_id(tree.overlapping(self._root, text)))

    def covered_by(self, pattern: str) -> tuple[Subscription, ...]:
        """The subscriptions whose pattern matches nothing but what ``pattern`` matches."""
        text = self._checked(pattern)
        return _handles(by_id(tree.covered(self._root, text)))

    def match_batch(self, subjects: Any, *, threads: int = 1) -> Matches:
        """Matches a column: an Arrow string array, a stream of them, or an iterable of ``str``.

        A row that is null or no subject matches nothing and is marked. ``threads`` is for the
        native engine; here it is checked and one is used. Cost: one ``match`` a row.
        """
        if operator.index(threads) < 1:
            raise ValueError("threads must be at least 1")
        found: list[list[int] | None] = []
        values: dict[int, Any] = {}
        for row in rows_of(subjects):
            hits = None
            if isinstance(row, str):
                with suppress(SubjectError):
                    hits = self._hits(row)
            found.append(None if hits is None else [hit.id for hit in hits])
            values.update((hit.id, hit.value) for hit in hits or ())
        return Matches._of(found, values)

    def explain(self, subject: str, *, limit: int = 3) -> Explanation:
        """The subscriptions that match, or up to ``limit`` nearest patterns.

        Nearest are those with the most leading tokens equal (a wildcard that takes the token counts
        as equal), then the oldest. Cost: a walk, and where nothing matches the nodes below the
        deepest ones that agree.
        """
        limit = operator.index(limit)
        if limit < 0:
            raise ValueError("limit must not be negative")
        hits = self._hits(subject)
        near: list[tuple[Row, int]] = []
        if not hits:
            near = tree.nearest(self._root, subject.split("."), limit)
        return explained(
            str.__str__(subject),
            self._dialect,
            _handles(hits),
            [(row.subscription, place) for row, place in near],
        )

    # As a collection

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Subscription]:
        """The subscriptions there are now, in order of insertion."""
        return iter([row.subscription for row in list(self._rows.values())])

    def __contains__(self, subscription: object) -> bool:
        return isinstance(subscription, Subscription) and self._row(subscription) is not None

    def __repr__(self) -> str:
        return f"<SubjectTrie of {len(self)} subscriptions, dialect {self._dialect!r}>"

    def __str__(self) -> str:
        with _writing:
            return draw(self._root, len(self._rows))

    def stats(self) -> TrieStats:
        """Counts and memory. Cost: all nodes."""
        with _writing:
            patterns = nodes = depth = memory = 0
            level, at = [self._root], 0
            while level:
                for node in level:
                    patterns += bool(node.exact) + bool(node.tail)
                    parts = (node, node.children, node.exact, node.tail)
                    memory += sum(part.__sizeof__() for part in parts)
                    depth = max(depth, at + bool(node.tail))
                nodes += len(level)
                depth = max(depth, at)
                at += 1
                level = [below for node in level for below in node.children.values()]
            queues = {row.queue for row in self._rows.values()} - {None}
            memory += self._rows.__sizeof__() + sum(row.__sizeof__() for row in self._rows.values())
            return TrieStats(len(self._rows), patterns, nodes - 1, len(queues), depth, memory)

    def copy(self) -> SubjectTrie:
        """An independent index with the same subscriptions, ids and turns."""
        twin = empty_reference(self._dialect, *self._given)
        with _writing:
            for row in self._rows.values():
                twin._take(row.subscription, row.pattern, row.value, row.queue, row.id, row.turn)
            twin._next = self._next
        return twin

    __copy__ = copy

    # The pickle is the same in both engines. Values may lead back here, so they travel as state.
    def __reduce__(self) -> tuple[Any, ...]:
        with _writing:
            rows = tuple(
                (row.subscription, row.pattern, row.value, row.queue, row.id, row.turn)
                for row in self._rows.values()
            )
            return empty_trie, (self._dialect, *self._given), (self._next, rows)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        following, rows = state
        admitted, last = [], -1
        for handle, pattern, value, queue, number, turn in rows:
            pattern, queue = self._admitted(pattern, queue)
            if not last < number < following or turn < 0 or not isinstance(handle, Subscription):
                raise ValueError("not the state of a SubjectTrie")
            last = number
            admitted.append((handle, pattern, value, queue, number, turn))
        with _writing:
            self._root, self._rows, self._next = Node(), {}, following
            for row in admitted:
                self._take(*row)

    def __deepcopy__(self, memo: dict[int, Any]) -> SubjectTrie:
        from copy import deepcopy

        twin = memo[id(self)] = empty_reference(self._dialect, *self._given)
        twin.__setstate__(deepcopy(self.__reduce__()[2], memo))
        return twin

    # Within

    def _insert(self, pattern: str, value: object, queue: str | None) -> Subscription:
        number = self._next
        handle = subscribed(pattern, self._dialect, value, queue, number)
        self._next = number + 1
        self._take(handle, pattern, value, queue, number, 0)
        return handle

    def _take(
        self,
        handle: Subscription,
        pattern: str,
        value: object,
        queue: str | None,
        number: int,
        turn: int,
    ) -> None:
        row = Row(handle, pattern, value, queue, number)
        row.turn = turn
        self._rows[number] = row
        tree.insert(self._root, row)

    def _row(self, subscription: Subscription) -> Row | None:
        row = self._rows.get(getattr(subscription, "id", -1))
        return row if row is not None and row.subscription is subscription else None

    def _hits(self, subject: str) -> list[Row]:
        # Printable ASCII, short and shallow, without a wildcard sign or an empty token: a subject
        # in every dialect (A17, A37). Anything else is looked at byte by byte.
        if not isinstance(subject, str) or not (
            len(subject) <= self._max_length
            and subject.isascii()
            and subject.isprintable()
            and not (" " in subject or "*" in subject or ">" in subject)
        ):
            self._check_subject(subject)
        tokens = subject.split(".")
        if "" in tokens or (self._max_tokens is not None and len(tokens) > self._max_tokens):
            self._check_subject(subject)
        return by_id(tree.hits(self._root, tokens))

    def _check_subject(self, subject: str) -> None:
        encoded(subject, "SubjectError", "subject")
        check_subject(subject, self._dialect, self._max_tokens, self._max_length)

    def _checked(self, pattern: str) -> str:
        encoded(pattern, "PatternError", "pattern")
        check_pattern(pattern, self._dialect, self._max_tokens, self._max_length)
        return str.__str__(pattern)  # the text itself, whatever a subclass prints

    def _admitted(self, pattern: str, queue: str | None) -> tuple[str, str | None]:
        pattern = self._checked(pattern)
        if queue is not None:
            check_queue(queue)
            queue = str.__str__(queue)
        return pattern, queue


def empty_reference(dialect: str, max_tokens: int | None, max_length: int | None) -> SubjectTrie:
    """An empty index of this engine, whichever is in use."""
    return SubjectTrie(dialect=dialect, max_tokens=max_tokens, max_length=max_length)


def _handles(rows: list[Row]) -> tuple[Subscription, ...]:
    return tuple([row.subscription for row in rows])
