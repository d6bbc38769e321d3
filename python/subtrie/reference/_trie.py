"""The subject index in plain Python: a trie of tokens with one dictionary per node.

Writers take one lock; readers take none and rely on the GIL (see ``_tree``). A concurrent reader
may see a part of an ``update``; with the native engine it sees all of it or nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar, final

from .._core.display import tree_html
from .._core.drawing import draw
from .._core.subscription import Groups, SubscriptionSequence, TrieStats, empty_trie, explained
from . import _tree as tree
from ._bulk_load import entries_of, rows_given
from ._column import rows_of
from ._grammar import bound, bounds, check_pattern, encoded
from ._image import attach_values, image_of, read_image
from ._match_batch import Matches, matches_of
from ._queue_groups import group_values, select_members
from ._stats import stats_of
from ._subscription import Subscription, blank_subscription, subscribed
from ._text_drawing import text_of
from ._tree import Entry, Node, handles, sorted_by_id
from ._validation import check_queue, check_room, subject_tokens
from ._write_lock import write_lock

if TYPE_CHECKING:
    from .._core.explanation import Explanation


@final
class SubjectTrie:
    """An index of subscriptions by pattern, queried by subject.

    Safe with threads and after a fork. A call that raises has changed nothing.

    Args:
        dialect: ``strict`` (the grammar of the documents) or ``server`` (what nats-server accepts).
        max_tokens: The maximum number of tokens of a subject or pattern; by default 64 in
            ``strict`` and unlimited in ``server``.
        max_length: The maximum number of bytes; by default 1,024 in ``strict`` and 4,096 in
            ``server``.

    Example:
        >>> trie = SubjectTrie()
        >>> subscription = trie.add("orders.*", "shipping")
        >>> trie.match("orders.new")
        ('shipping',)
    """

    # M-05, S0-080, S0-081, S0-128, A17 to A19, A37, A39

    __slots__ = (
        "__weakref__",
        "_dialect",
        "_given",
        "_lazy_values",
        "_max_length",
        "_max_tokens",
        "_next",
        "_root",
        "_rows",
    )  # fmt: skip
    _lazy_values: Any  # the values of an opened image by id, until its entries have their values
    _dialect: str
    _given: tuple[int | None, int | None]
    _max_length: int
    _max_tokens: int | None
    _next: int
    _root: Node
    _rows: dict[int, Entry]

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
        self._lazy_values = None
        return self

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)

    @property
    def dialect(self) -> str:
        """``strict`` or ``server``."""
        return self._dialect

    @property
    def max_tokens(self) -> int | None:
        """The maximum number of tokens of a subject or pattern; None for no limit."""
        return self._max_tokens

    @property
    def max_length(self) -> int:
        """The maximum number of bytes of a subject or pattern."""
        return self._max_length

    # Changes

    def add(self, pattern: str, value: object, *, queue: str | None = None) -> Subscription:
        """Subscribe a value to a pattern; the cost is one step per token.

        Args:
            pattern: What to subscribe to.
            value: What ``match`` returns for it.
            queue: The queue group of which the value is a member.

        Returns:
            The subscription, which ``remove`` takes.

        Raises:
            PatternError: The pattern is not valid.
            InvalidName: The queue name is not valid.
        """
        pattern = self._checked(pattern)
        queue = None if queue is None else self._checked_queue(queue)
        self._load_values()
        with write_lock:
            check_room(self._next, 1)
            return self._insert(pattern, value, queue)

    def update(
        self,
        rows: Iterable[Iterable[Any]] | None = None,
        *,
        patterns: Any = None,
        values: Any = None,
        queues: Any = None,
    ) -> Sequence[Any]:
        """Add many subscriptions, all or none: rows, or columns.

        Args:
            rows: ``(pattern, value)`` or ``(pattern, value, queue)`` for each.
            patterns: The patterns: a sequence, or an Arrow string array or stream.
            values: As many values.
            queues: As many queue names or ``None``, as a sequence or in Arrow.

        Returns:
            The subscriptions, in the order of the rows.

        Raises:
            PatternError: A pattern is not valid. A note says in which row of the columns.
            InvalidName: A queue name is not valid.
            ValueError: A row has another number of parts, or the columns differ in length.
        """
        columns = (patterns, values, queues)
        valid = rows_given(rows, columns, self._checked, self._checked_queue)
        self._load_values()
        with write_lock:
            check_room(self._next, len(valid))
            made = [self._insert(*row) for row in valid]
        return made if rows is not None else SubscriptionSequence(made.__getitem__, len(made))

    def remove(self, subscription: Subscription) -> bool:
        """Remove a subscription; return False if it is not in this index."""
        if not isinstance(subscription, Subscription):
            raise TypeError(f"subscription must be Subscription, not {type(subscription).__name__}")
        self._load_values()
        with write_lock:
            row = self._row(subscription)
            if row is None:
                return False
            tree.delete(self._root, row)
            del self._rows[row.id]
            if not self._rows:
                self._rows = {}
        return True  # the value is released without the lock

    def clear(self) -> None:
        """Remove all subscriptions; their ids are not used again."""
        with write_lock:
            rows, root = self._rows, self._root
            self._rows, self._root = {}, Node()
            lazy_values, self._lazy_values = self._lazy_values, None
        del rows, root, lazy_values

    # Queries

    def match(self, subject: str) -> tuple[Any, ...]:
        """Return the values of all matching subscriptions, in insertion order."""
        hits, lazy_values = self._matches_with_values(subject)
        return tuple([row.value if lazy_values is None else lazy_values[row.id] for row in hits])

    __call__ = match

    def subscriptions(self, subject: str) -> tuple[Subscription, ...]:
        """Return all matching subscriptions, in insertion order."""
        self._load_values()
        return handles(self._matching(subject))

    def groups(self, subject: str) -> Groups:
        """Return the matching values, those of queue groups by the name of their queue."""  # A18
        self._load_values()
        return group_values(self._matching(subject))

    def select(self, subject: str) -> tuple[Any, ...]:
        """Return the values that a NATS server would deliver to.

        These are all values without a queue, and one of each queue group, in turn.
        """
        # A19
        self._load_values()
        return tuple([row.value for row in select_members(self._matching(subject))])

    def has_interest(self, subject: str) -> bool:
        """Return whether any subscription matches."""
        return bool(self._matching(subject))

    def count(self, subject: str) -> int:
        """Return how many subscriptions match, members of queue groups included."""
        return len(self._matching(subject))

    def matching(self, pattern: str) -> tuple[Subscription, ...]:
        """Return the subscriptions whose pattern has a subject in common with ``pattern``."""
        text = self._checked(pattern)
        self._load_values()
        return handles(sorted_by_id(tree.overlapping(self._root, text)))

    def covered_by(self, pattern: str) -> tuple[Subscription, ...]:
        """Return the subscriptions that match only subjects that ``pattern`` matches."""
        text = self._checked(pattern)
        self._load_values()
        return handles(sorted_by_id(tree.covered(self._root, text)))

    def match_batch(self, subjects: Any, *, threads: int = 1) -> Matches:
        """Match a column of subjects.

        A row that is null or not a valid subject matches nothing and is marked in ``valid``.

        Args:
            subjects: An Arrow string array, a stream of them, or an iterable of ``str``.
            threads: Only the native engine uses more than one.

        Raises:
            TypeError: It is not a column of text.
            ValueError: ``threads`` is less than 1.
        """
        if operator.index(threads) < 1:
            raise ValueError("threads must be at least 1")
        return matches_of(rows_of(subjects), self._matches_with_values)

    def explain(self, subject: str, *, limit: int = 3) -> Explanation:
        """Return the matching subscriptions or, if there are none, the nearest patterns.

        Nearest are the patterns with the most equal leading tokens (a wildcard that matches the
        token counts as equal), then the oldest.

        Args:
            subject: The subject.
            limit: The maximum number of nearest patterns.
        """
        limit = operator.index(limit)
        if limit < 0:
            raise ValueError("limit must not be negative")
        self._load_values()
        hits = self._matching(subject)
        near: list[tuple[Entry, int]] = []
        if not hits:
            near = tree.nearest(self._root, subject.split("."), limit)
        return explained(
            str.__str__(subject),
            self._dialect,
            handles(hits),
            [(row.subscription, place) for row, place in near],
        )

    # As a collection

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Subscription]:
        """Iterate over the current subscriptions, in insertion order."""
        self._load_values()
        return iter([row.subscription for row in list(self._rows.values())])

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            return tree.contains(self._root, key)
        return isinstance(key, Subscription) and self._row(key) is not None

    def __repr__(self) -> str:
        return f"<SubjectTrie of {len(self)} subscriptions, dialect {self._dialect!r}>"

    def __str__(self) -> str:
        self._load_values()
        with write_lock:
            return text_of(self._root, len(self._rows))

    def _repr_html_(self) -> str:
        return tree_html(self)

    def draw(self, format: str = "text") -> str:
        """Return the index as a drawing.

        Args:
            format: ``text`` (complete), or ``dot`` or ``mermaid`` (at most 200 nodes).

        Raises:
            ValueError: The format is unknown.
        """
        return draw(self, format)

    def stats(self) -> TrieStats:
        """Return counts and memory. The cost is linear in the number of subscriptions."""
        self._load_values()
        with write_lock:
            return stats_of(self._root, self._rows)

    def copy(self) -> SubjectTrie:
        """Return an independent index with the same subscriptions and ids."""
        self._load_values()
        copy = _empty(self._dialect, *self._given)
        with write_lock:
            copy._install(row.copy() for row in self._rows.values())
            copy._next = self._next
        return copy

    __copy__ = copy

    # As an image

    def to_bytes(self) -> bytes:
        """Return the index, without its values, as an image that ``from_bytes`` opens.

        An image of the native engine also has the hash table, so that it can be matched in place.
        """
        self._load_values()
        with write_lock:
            return image_of(list(self._rows.values()), self._dialect, self._given, self._next)

    @classmethod
    def from_bytes(cls, image: Any, values: Any = None, *, verify: bool = True) -> SubjectTrie:
        """Open an image.

        ``match`` looks up the values that it returns; ``count``, ``has_interest`` and
        ``match_batch`` look up none; every other call first looks up all values, once.

        Args:
            image: Any object with the buffer protocol, such as a memory map. It is copied.
            values: A mapping or sequence from ids to values; without it the ids are the values.
            verify: Whether to verify the checksum.

        Raises:
            SubtrieError: The bytes are not a valid image.
        """
        read = read_image(image, verify)
        self = cls(dialect=read.dialect, max_tokens=read.given[0], max_length=read.given[1])
        blank = blank_subscription()  # replaced when the values are loaded
        self._install(
            Entry(blank, one.pattern, None, one.queue, one.id, one.turn) for one in read.held
        )
        self._next = read.following
        self._lazy_values = range(read.following) if values is None else values
        return self

    # The pickle is the same in both engines. A value may refer to this index, so values are state.
    def __reduce__(self) -> tuple[Any, ...]:
        self._load_values()
        with write_lock:
            rows = tuple(
                (row.subscription, row.pattern, row.value, row.queue, row.id, row.turn)
                for row in self._rows.values()
            )
            return empty_trie, (self._dialect, *self._given), (self._next, rows)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        following, rows = state
        validated = entries_of(rows, following, self._checked, self._checked_queue, self._dialect)
        with write_lock:
            self._root, self._rows, self._next, self._lazy_values = Node(), {}, following, None
            self._install(validated)

    def __deepcopy__(self, memo: dict[int, Any]) -> SubjectTrie:
        from copy import deepcopy

        copy = memo[id(self)] = _empty(self._dialect, *self._given)
        copy.__setstate__(deepcopy(self.__reduce__()[2], memo))
        return copy

    # Private

    def _insert(self, pattern: str, value: object, queue: str | None) -> Subscription:
        number = self._next
        handle = subscribed(pattern, self._dialect, value, queue, number)
        self._next = number + 1
        self._rows[number] = row = Entry(handle, pattern, value, queue, number)
        tree.insert(self._root, row)
        return handle

    def _install(self, rows: Iterable[Entry]) -> None:
        self._rows = {row.id: row for row in rows}
        tree.insert_all(self._root, self._rows.values())

    def _load_values(self) -> None:
        """Give the entries of an opened image their values and subscriptions, all or none."""
        lazy_values = self._lazy_values
        if lazy_values is None:
            return
        rows = list(self._rows.values())
        values = [lazy_values[row.id] for row in rows]  # user code, called without the lock
        with write_lock:
            if self._lazy_values is lazy_values:
                attach_values(rows, values, self._dialect)
                self._lazy_values = None

    def _row(self, subscription: Subscription) -> Entry | None:
        row = self._rows.get(getattr(subscription, "id", -1))
        return row if row is not None and row.subscription is subscription else None

    def _matches_with_values(self, subject: str) -> tuple[list[Entry], Any]:
        """Return the matching entries, and their values by id if they are not loaded yet."""
        while True:
            lazy_values = self._lazy_values
            hits = self._matching(subject)
            if self._lazy_values is lazy_values:
                return hits, lazy_values

    def _matching(self, subject: str) -> list[Entry]:
        tokens = subject_tokens(subject, self._dialect, self._max_tokens, self._max_length)
        return sorted_by_id(tree.matching(self._root, tokens))

    def _checked(self, pattern: str) -> str:
        encoded(pattern, "PatternError", "pattern")
        check_pattern(pattern, self._dialect, self._max_tokens, self._max_length)
        return str.__str__(pattern)  # the text itself: str() of a subclass may return another one

    def _checked_queue(self, queue: str) -> str:
        check_queue(queue, self._dialect)
        return str.__str__(queue)


def _empty(dialect: str, max_tokens: int | None, max_length: int | None) -> SubjectTrie:
    """Return an empty index of this engine, whichever is in use."""
    return SubjectTrie(dialect=dialect, max_tokens=max_tokens, max_length=max_length)
