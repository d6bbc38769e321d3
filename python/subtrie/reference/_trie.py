"""Who hears a subject? The index in plain Python: a dictionary per level, read level by level.

Writers take one lock; readers take none and rely on the GIL (see ``tree``). A reader beside an
``update`` may see part of it, where the native engine shows all of it or nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from types import GenericAlias
from typing import Any, ClassVar, final

from .._drawing import draw
from .._errors import refusal
from .._subscription import (
    Explanation,
    Groups,
    Subscription,
    TrieStats,
    blank_subscription,
    empty_trie,
    explained,
    subscribed,
)
from . import _tree as tree
from ._column import rows_of
from ._grammar import bound, bounds, check_pattern, encoded
from ._image import fill, image_of, opened
from ._match_batch import Matches, matches_of
from ._queue_groups import chosen, grouped
from ._stats import stats_of
from ._text_drawing import text_of
from ._tree import Node, Row, by_id
from ._validation import check_queue, row_parts, subject_tokens
from ._write_lock import writing


@final
class SubjectTrie:
    """An index of subscriptions by pattern, asked by subject.

    ``max_tokens`` and ``max_length`` bound subjects and patterns, by dialect unless given (A37).
    Raises ``PatternError`` for a pattern, ``SubjectError`` for a subject and ``InvalidName`` for a
    queue name that breaks a rule, ``TypeError`` for what is no text; then nothing has changed.
    Safe under threads and fork. Rules: M-05, S0-080, S0-081, S0-128, A17 to A19, A37, A39.
    """

    __slots__ = (
        "__weakref__", "_apart", "_dialect", "_given", "_max_length", "_max_tokens", "_next",
        "_root", "_rows",
    )  # fmt: skip
    _apart: Any  # from id to value, while the rows of an image have neither value nor handle
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
        self._apart = None
        return self

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)

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
        self._live()
        with writing:
            self._make_room(1)
            return self._insert(pattern, value, queue)

    def update(self, rows: Iterable[Iterable[Any]]) -> list[Subscription]:
        """Adds rows ``(pattern, value)`` or ``(pattern, value, queue)``: all, or none of them.

        Raises ``TypeError`` or ``ValueError`` for a row of another shape.
        """
        admitted = []
        for pattern, value, queue in map(row_parts, rows):
            pattern, queue = self._admitted(pattern, queue)
            admitted.append((pattern, value, queue))
        self._live()
        with writing:
            self._make_room(len(admitted))
            return [self._insert(*row) for row in admitted]

    def remove(self, subscription: Subscription) -> bool:
        """Takes a subscription out. False if it is not, or no longer, in this index."""
        if not isinstance(subscription, Subscription):
            raise TypeError(f"subscription must be Subscription, not {type(subscription).__name__}")
        self._live()
        with writing:
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
        with writing:
            rows, root = self._rows, self._root
            self._rows, self._root = {}, Node()
            apart, self._apart = self._apart, None
        del rows, root, apart

    # Asking

    def match(self, subject: str) -> tuple[Any, ...]:
        """The values of all subscriptions that match, in order of insertion, queues or not."""
        hits, apart = self._hits_apart(subject)
        return tuple([row.value if apart is None else apart[row.id] for row in hits])

    __call__ = match

    def subscriptions(self, subject: str) -> tuple[Subscription, ...]:
        """The subscriptions that match, in order of insertion."""
        self._live()
        return _handles(self._hits(subject))

    def groups(self, subject: str) -> Groups:
        """The values that match: plain ones, and by queue name over all patterns (A18)."""
        self._live()
        return grouped(self._hits(subject))

    def select(self, subject: str) -> tuple[Any, ...]:
        """The values a broker would deliver to: all plain ones, one of each queue group.

        Members take turns in order of insertion, counted by the group's oldest member (A19).
        """
        self._live()
        return tuple([row.value for row in chosen(self._hits(subject))])

    def has_interest(self, subject: str) -> bool:
        """Does any subscription match?"""
        return bool(self._hits(subject))

    def count(self, subject: str) -> int:
        """How many subscriptions match, queue members too."""
        return len(self._hits(subject))

    def matching(self, pattern: str) -> tuple[Subscription, ...]:
        """The subscriptions whose pattern has a subject in common with ``pattern``."""
        text = self._checked(pattern)
        self._live()
        return _handles(by_id(tree.overlapping(self._root, text)))

    def covered_by(self, pattern: str) -> tuple[Subscription, ...]:
        """The subscriptions whose pattern matches nothing but what ``pattern`` matches."""
        text = self._checked(pattern)
        self._live()
        return _handles(by_id(tree.covered(self._root, text)))

    def match_batch(self, subjects: Any, *, threads: int = 1) -> Matches:
        """Matches a column: an Arrow string array, a stream of them, or an iterable of ``str``.

        A row that is null or no subject matches nothing and is marked. ``threads`` is for the
        native engine; here it is checked and one is used. Cost: one ``match`` a row.
        """
        if operator.index(threads) < 1:
            raise ValueError("threads must be at least 1")
        return matches_of(rows_of(subjects), self._hits_apart)

    def explain(self, subject: str, *, limit: int = 3) -> Explanation:
        """The subscriptions that match, or up to ``limit`` nearest patterns.

        Nearest are those with the most leading tokens equal (a wildcard that takes the token counts
        as equal), then the oldest. Cost: a walk, and where nothing matches the nodes below the
        deepest ones that agree.
        """
        limit = operator.index(limit)
        if limit < 0:
            raise ValueError("limit must not be negative")
        self._live()
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
        self._live()
        return iter([row.subscription for row in list(self._rows.values())])

    def __contains__(self, subscription: object) -> bool:
        return isinstance(subscription, Subscription) and self._row(subscription) is not None

    def __repr__(self) -> str:
        return f"<SubjectTrie of {len(self)} subscriptions, dialect {self._dialect!r}>"

    def __str__(self) -> str:
        self._live()
        with writing:
            return text_of(self._root, len(self._rows))

    def draw(self, format: str = "text") -> str:
        """The tree as ``text`` (``str(trie)``), for Graphviz as ``dot``, or as ``mermaid``.

        Text is whole; a picture is cut, and says so, where it would not be read any more. Raises
        ``ValueError`` for another format.
        """
        return draw(self, format)

    def stats(self) -> TrieStats:
        """Counts and memory. Cost: all nodes, and the tokens of all patterns."""
        self._live()
        with writing:
            return stats_of(self._root, self._rows)

    def copy(self) -> SubjectTrie:
        """An independent index with the same subscriptions, ids and turns."""
        self._live()
        twin = empty_reference(self._dialect, *self._given)
        with writing:
            twin._take_all(row.twin() for row in self._rows.values())
            twin._next = self._next
        return twin

    __copy__ = copy

    # As an image

    def to_bytes(self) -> bytes:
        """The index as one run of bytes, values left out: what ``from_bytes`` opens.

        Cost: all of it. The native engine's image holds a table besides, so that it opens at once.
        """
        self._live()
        with writing:
            return image_of(list(self._rows.values()), self._dialect, self._given, self._next)

    @classmethod
    def from_bytes(cls, image: Any, values: Any = None, *, verify: bool = True) -> SubjectTrie:
        """Opens an image: any object with the buffer protocol, a memory map too.

        ``values`` maps ids to values, a mapping or a sequence; without it the ids are the values.
        ``match`` asks it for what it returns, ``count``, ``has_interest`` and ``match_batch`` for
        nothing, every other call for all values once. What it raises passes through. ``verify``
        checks the sum of the content. Raises ``SubtrieError`` for what is no image.
        """
        read = opened(image, verify)
        self = cls(dialect=read.dialect, max_tokens=read.given[0], max_length=read.given[1])
        blank = blank_subscription()  # until somebody asks for one
        self._take_all(
            Row(blank, one.pattern, None, one.queue, one.id, one.turn) for one in read.held
        )
        self._next = read.following
        self._apart = range(read.following) if values is None else values
        return self

    # The pickle is the same in both engines. Values may lead back here, so they travel as state.
    def __reduce__(self) -> tuple[Any, ...]:
        self._live()
        with writing:
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
            admitted.append(Row(handle, pattern, value, queue, number, turn))
        with writing:
            self._root, self._rows, self._next, self._apart = Node(), {}, following, None
            self._take_all(admitted)

    def __deepcopy__(self, memo: dict[int, Any]) -> SubjectTrie:
        from copy import deepcopy

        twin = memo[id(self)] = empty_reference(self._dialect, *self._given)
        twin.__setstate__(deepcopy(self.__reduce__()[2], memo))
        return twin

    # Within

    def _make_room(self, count: int) -> None:
        """Ids have 64 bits in both engines."""
        if self._next + count >= 1 << 64:
            raise refusal("PatternError", "index-full", "")

    def _insert(self, pattern: str, value: object, queue: str | None) -> Subscription:
        number = self._next
        handle = subscribed(pattern, self._dialect, value, queue, number)
        self._next = number + 1
        self._rows[number] = row = Row(handle, pattern, value, queue, number)
        tree.insert(self._root, row)
        return handle

    def _take_all(self, rows: Iterable[Row]) -> None:
        self._rows = {row.id: row for row in rows}
        tree.insert_all(self._root, self._rows.values())

    def _live(self) -> None:
        """Gives the rows of an image their values and subscriptions, all or none."""
        apart = self._apart
        if apart is None:
            return
        rows = list(self._rows.values())
        values = [apart[row.id] for row in rows]  # whatever this runs, it runs under no lock
        with writing:
            if self._apart is apart:
                fill(rows, values, self._dialect)
                self._apart = None

    def _row(self, subscription: Subscription) -> Row | None:
        row = self._rows.get(getattr(subscription, "id", -1))
        return row if row is not None and row.subscription is subscription else None

    def _hits_apart(self, subject: str) -> tuple[list[Row], Any]:
        """The rows that match, and where their values are if they do not have them yet."""
        while True:
            apart = self._apart
            hits = self._hits(subject)
            if self._apart is apart:
                return hits, apart

    def _hits(self, subject: str) -> list[Row]:
        tokens = subject_tokens(subject, self._dialect, self._max_tokens, self._max_length)
        return by_id(tree.hits(self._root, tokens))

    def _checked(self, pattern: str) -> str:
        encoded(pattern, "PatternError", "pattern")
        check_pattern(pattern, self._dialect, self._max_tokens, self._max_length)
        return str.__str__(pattern)  # the text itself, whatever a subclass prints

    def _admitted(self, pattern: str, queue: str | None) -> tuple[str, str | None]:
        pattern = self._checked(pattern)
        if queue is not None:
            check_queue(queue, self._dialect)
            queue = str.__str__(queue)
        return pattern, queue


def empty_reference(dialect: str, max_tokens: int | None, max_length: int | None) -> SubjectTrie:
    """An empty index of this engine, whichever is in use."""
    return SubjectTrie(dialect=dialect, max_tokens=max_tokens, max_length=max_length)


def _handles(rows: list[Row]) -> tuple[Subscription, ...]:
    return tuple([row.subscription for row in rows])
