"""The native engine.

``subtrie.reference`` has the same names and signatures. The docstrings here are what an editor
shows for both engines.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, final

from typing_extensions import Buffer, TypeVar

from ._core.explanation import Explanation
from ._core.subject import Dialect, Pattern
from ._core.subscription import Groups, TrieStats
from ._subtrie_http import *  # noqa: F403
from ._subtrie_microbus import *  # noqa: F403
from ._subtrie_trace import *  # noqa: F403
from ._subtrie_wire import *  # noqa: F403
from .names import NameReport

_T = TypeVar("_T", default=Any)

def check_subject(
    text: str,
    dialect: str = "strict",
    max_tokens: int | None = None,
    max_length: int | None = None,
) -> None:
    """Raise ``SubjectError`` unless the text is a valid subject.

    Args:
        text: The text to check.
        dialect: ``strict`` or ``server``.
        max_tokens: The maximum number of tokens; by default that of the dialect.
        max_length: The maximum number of bytes; by default that of the dialect.
    """

def check_pattern(
    text: str,
    dialect: str = "strict",
    max_tokens: int | None = None,
    max_length: int | None = None,
) -> None:
    """Raise ``PatternError`` unless the text is a valid pattern.

    Args:
        text: The text to check.
        dialect: ``strict`` or ``server``.
        max_tokens: The maximum number of tokens; by default that of the dialect.
        max_length: The maximum number of bytes; by default that of the dialect.
    """

def check_name(text: str, kind: str, *, level: str = "adr6", windows: bool = False) -> NameReport:
    """Return whether the text is a valid name of a kind; see ``subtrie.check_name``."""

def matches(pattern: str, subject: str) -> bool:
    """Return whether a pattern matches a subject; both must be valid."""

def covers(pattern: str, other: str) -> bool:
    """Return whether a pattern matches every subject that another one matches."""

def overlaps(pattern: str, other: str) -> str | None:
    """Return a subject that both patterns match, or None."""

def rules_witness(
    allow: list[str],
    deny: list[str],
    other_allow: list[str],
    other_deny: list[str],
    max_tokens: int | None = None,
) -> tuple[str, str | None] | None:
    """Return the shortest subject, with its queue, that only the first set allows, or None."""

def rules_overlap(
    allow: list[str],
    deny: list[str],
    other_allow: list[str],
    other_deny: list[str],
    max_tokens: int | None = None,
) -> tuple[str, str | None] | None:
    """Return the shortest subject, with its queue, that both sets allow, or None."""

def rules_proof(
    allow: list[str],
    deny: list[str],
    other_allow: list[str],
    other_deny: list[str],
    max_tokens: int | None = None,
) -> tuple[list[tuple[str, list[str]]], list[tuple[str, str, list[str]]]] | None:
    """Return why the first set is a subset of the second, or None if it is not."""

def rules_difference(
    allow: list[str],
    deny: list[str],
    other_allow: list[str],
    other_deny: list[str],
    max_tokens: int | None = None,
) -> list[tuple[str, list[str], str, str | None]]:
    """Return what only the first set allows: rule, exceptions, example subject, its queue."""

def rules_minimised(
    allow: list[str], deny: list[str], max_tokens: int | None = None
) -> tuple[list[str], list[str]]:
    """Return the fewest allow rules and deny rules that allow the same."""

def rules_admit(
    allow: list[str],
    deny: list[str],
    pattern: str,
    queue: str | None = None,
    max_tokens: int | None = None,
) -> tuple[str, str | None] | None:
    """Return the shortest subject of a subscription that the rules do not allow, or None."""

def blank_subscription() -> Subscription:
    """Return a subscription without attributes, which unpickling fills."""

@final
class Subscription:
    """A pattern, its value, and the queue group of which the value is a member, if any.

    A subscription is immutable and equal only to itself. If it is pickled together with its index,
    the unpickled one belongs to the unpickled index.
    """

    @property
    def pattern(self) -> Pattern:
        """The pattern."""

    @property
    def value(self) -> Any:
        """The value that was added."""

    @property
    def queue(self) -> str | None:
        """The name of the queue group, or None."""

    @property
    def id(self) -> int:
        """A number that the index assigned: 0, 1, 2, … in insertion order, never used again."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Subscription: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __setstate__(self, state: tuple[Any, ...]) -> None: ...

@final
class SubjectTrie(Generic[_T]):
    """An index of subscriptions by pattern, queried by subject.

    Safe with threads: reading does not wait for a reader, and adding and removing while other
    threads match is allowed. A call that raises has changed nothing.

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

    def __new__(
        cls,
        *,
        dialect: Dialect = "strict",
        max_tokens: int | None = None,
        max_length: int | None = None,
    ) -> SubjectTrie[_T]: ...
    @property
    def dialect(self) -> Dialect:
        """``strict`` or ``server``."""

    @property
    def max_tokens(self) -> int | None:
        """The maximum number of tokens of a subject or pattern; None for no limit."""

    @property
    def max_length(self) -> int:
        """The maximum number of bytes of a subject or pattern."""

    def add(self, pattern: str, value: _T, *, queue: str | None = None) -> Subscription:
        """Subscribe a value to a pattern.

        The cost does not depend on the number of subscriptions.

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

    def update(
        self,
        rows: Iterable[Iterable[Any]] | None = None,
        *,
        patterns: Any = None,
        values: Iterable[_T] | None = None,
        queues: Any = None,
    ) -> Sequence[Subscription]:
        """Add many subscriptions, all or none: rows, or columns.

        Args:
            rows: ``(pattern, value)`` or ``(pattern, value, queue)`` for each.
            patterns: The patterns: a sequence, or an Arrow string array or stream.
            values: As many values.
            queues: As many queue names or ``None``, as a sequence or in Arrow.

        Returns:
            The subscriptions, in the order of the rows; those of columns are created when they
            are asked for.

        Raises:
            PatternError: A pattern is not valid. A note says in which row of the columns.
            InvalidName: A queue name is not valid.
            ValueError: A row has another number of parts, or the columns differ in length.
        """

    def remove(self, subscription: Subscription) -> bool:
        """Remove a subscription; return False if it is not in this index."""

    def clear(self) -> None:
        """Remove all subscriptions; their ids are not used again."""

    def match(self, subject: str) -> tuple[_T, ...]:
        """Return the values of all matching subscriptions, in insertion order.

        Members of queue groups are included. Calling the index does the same.

        Raises:
            SubjectError: The subject is not valid.
        """

    def __call__(self, subject: str) -> tuple[_T, ...]:
        """Return the same as ``match``."""

    def subscriptions(self, subject: str) -> tuple[Subscription, ...]:
        """Return all matching subscriptions, in insertion order.

        Raises:
            SubjectError: The subject is not valid.
        """

    def groups(self, subject: str) -> Groups[_T]:
        """Return the matching values, those of queue groups by the name of their queue.

        Raises:
            SubjectError: The subject is not valid.
        """

    def select(self, subject: str) -> tuple[_T, ...]:
        """Return the values that a NATS server would deliver to.

        These are all values without a queue, and one of each queue group, in turn.

        Raises:
            SubjectError: The subject is not valid.
        """

    def has_interest(self, subject: str) -> bool:
        """Return whether any subscription matches.

        Raises:
            SubjectError: The subject is not valid.
        """

    def count(self, subject: str) -> int:
        """Return how many subscriptions match, members of queue groups included.

        Raises:
            SubjectError: The subject is not valid.
        """

    def matching(self, pattern: str) -> tuple[Subscription, ...]:
        """Return the subscriptions whose pattern has a subject in common with a pattern.

        Raises:
            PatternError: The pattern is not valid.
        """

    def covered_by(self, pattern: str) -> tuple[Subscription, ...]:
        """Return the subscriptions that match only subjects that a pattern matches.

        Raises:
            PatternError: The pattern is not valid.
        """

    def match_batch(self, subjects: object, *, threads: int = 1) -> Matches:
        """Match a column of subjects, without the GIL.

        A row that is null or not a valid subject matches nothing and is marked in ``valid``.

        Args:
            subjects: An Arrow string array, a stream of them, or an iterable of ``str``.
            threads: How many threads of the native engine share the work.

        Raises:
            TypeError: It is not a column of text.
            ValueError: It has more than 2 GiB, or ``threads`` is less than 1.
        """

    def explain(self, subject: str, *, limit: int = 3) -> Explanation:
        """Return the matching subscriptions or, if there are none, the nearest patterns.

        Nearest are the patterns with the most equal leading tokens, then the oldest.

        Args:
            subject: The subject.
            limit: The maximum number of nearest patterns.

        Raises:
            SubjectError: The subject is not valid.
        """

    def _repr_html_(self) -> str: ...
    def draw(self, format: str = "text") -> str:
        """Return the index as a drawing.

        Args:
            format: ``text`` (complete), or ``dot`` or ``mermaid`` (at most 200 nodes).

        Raises:
            ValueError: The format is unknown.
        """

    def to_bytes(self) -> bytes:
        """Return the index, without its values, as an image that ``from_bytes`` opens."""

    @classmethod
    def from_bytes(
        cls, image: Buffer, values: Any = None, *, verify: bool = True
    ) -> SubjectTrie[Any]:
        """Open an image, without copying it if it cannot change.

        Args:
            image: Any object with the buffer protocol. ``bytes`` and a read-only memory map are
                read in place, and any other buffer is copied.
            values: A mapping or sequence from ids to values; without it the ids are the values.
            verify: Whether to verify the checksum.

        Raises:
            SubtrieError: The bytes are not a valid image.
        """

    def stats(self) -> TrieStats:
        """Return counts and memory. The cost is linear in the number of subscriptions."""

    def copy(self) -> SubjectTrie[_T]:
        """Return an independent index with the same subscriptions and ids."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Subscription]: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __copy__(self) -> SubjectTrie[_T]: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> SubjectTrie[_T]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __setstate__(self, state: tuple[Any, ...]) -> None: ...

def decode_batch(subjects: object, fields: Iterable[str] | None = None) -> Batch:
    """Decode a column of subjects, without the GIL.

    Cost: a decode for each row, and a search for each row and field of text: where only ``kind``
    and ``port`` are needed, ask for them alone.

    Args:
        subjects: An Arrow string array, a stream of them, or an iterable of ``str``.
        fields: The columns to make, in this order; without it all.

    Raises:
        TypeError: It is not a column of text, or ``fields`` is one ``str``.
        ValueError: It has more than 2 GiB, a field does not exist or is named twice, or none is
            named.
    """

@final
class Batch:
    """Decoded subjects: a sequence of dictionaries, and an Arrow struct (``pyarrow.array(batch)``).

    The columns are ``kind`` (1 request, 2 reply, 0 neither), ``plane``, ``trust``, ``port``,
    ``source``, ``host``, ``slot`` (of a reply, its id), ``method``, ``path`` and ``reason`` (the
    error code of a row that is neither; then all other columns are null), or those of them that
    were asked for. A null row stays null.
    """

    def __len__(self) -> int: ...
    def __getitem__(self, key: int, /) -> dict[str, Any] | None: ...
    def _repr_html_(self) -> str: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

@final
class Matches:
    """The subscriptions that match each subject of a column, and an Arrow ``list<int32>``.

    Row ``i`` has ``ids[offsets[i]:offsets[i + 1]]``, in insertion order.
    """

    @property
    def offsets(self) -> memoryview:
        """The index in ``ids`` at which each row begins, and the end of the last one."""

    @property
    def ids(self) -> memoryview:
        """The subscription ids of all rows, int32."""

    @property
    def valid(self) -> memoryview:
        """A bitmap of the rows that are valid subjects, least significant bit first."""

    def values(self, row: int) -> tuple[Any, ...]:
        """Return the values that match a row, in insertion order."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: int, /) -> tuple[Any, ...]: ...
    def _repr_html_(self) -> str: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...
