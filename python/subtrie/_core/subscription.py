"""The results of a subject index: groups and statistics.

Both engines share these classes and create their instances.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, overload

from . import engine
from .subject import Dialect, Pattern, Subject

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from .engine import Subscription
    from .explanation import Explanation

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")


def blank_subscription() -> Subscription:
    """Return a subscription of the engine in use without attributes, which unpickling fills."""
    made: Subscription = engine.module.blank_subscription()
    return made


def subscription_state(state: Any) -> tuple[Pattern, Any, str | None, int]:
    """Return the state of a pickled subscription.

    Raises:
        ValueError: It is not the state of one.
    """
    if isinstance(state, tuple) and len(state) == 4:
        pattern, _, queue, number = state
        parts = type(pattern) is Pattern, queue is None or type(queue) is str, type(number) is int
        if all(parts) and 0 <= number < 2**64:
            return state
    raise ValueError("not the state of a Subscription")


def deep_copied(subscription: Any, memo: dict[int, Any], blank: Any) -> Any:
    """Fill a blank subscription with a deep copy of the state of another one."""
    memo[id(subscription)] = blank
    blank.__setstate__(deepcopy(subscription.__reduce__()[2], memo))
    return blank


@reprlib.recursive_repr()
def subscription_text(subscription: Any) -> str:
    """Return the ``repr`` of a subscription of either engine."""
    if not hasattr(subscription, "id"):  # while it is unpickled
        return "<Subscription being unpickled>"
    queue = "" if subscription.queue is None else f", queue={subscription.queue!r}"
    return (
        f"Subscription(id={subscription.id}, pattern={str.__repr__(subscription.pattern)}{queue},"
        f" value={reprlib.repr(subscription.value)})"
    )


class SubscriptionSequence(Sequence["Subscription"]):
    """The subscriptions of one ``update``, in the order of the rows.

    Each is created when it is asked for, and then stays the same.
    """

    __slots__ = ("_length", "_subscription")

    def __init__(self, subscription: Callable[[int], Any], length: int) -> None:
        self._subscription = subscription
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Subscription: ...
    @overload
    def __getitem__(self, index: slice) -> list[Subscription]: ...
    def __getitem__(self, index: int | slice) -> Subscription | list[Subscription]:
        if isinstance(index, slice):
            return [self._subscription(row) for row in range(self._length)[index]]
        try:
            row = range(self._length)[index]
        except IndexError:
            raise IndexError("no such row") from None
        found: Subscription = self._subscription(row)
        return found

    def __repr__(self) -> str:
        return f"<SubscriptionSequence of {self._length} subscriptions>"


class Groups(NamedTuple, Generic[T]):
    """The values that match a subject, by queue group.

    A message is delivered to all of ``plain`` and to one member of each group in ``queues``.

    Attributes:
        plain: The values without a queue, in insertion order.
        queues: The values of each queue group, in insertion order, by the name of the queue; the
            group with the oldest member is first.
    """

    plain: tuple[T, ...]
    queues: dict[str, tuple[T, ...]]

    def _repr_html_(self) -> str:
        from .display import table

        rows = [("every one", reprlib.repr(each)) for each in self.plain]
        rows += [
            (f"one of {name}", reprlib.repr(each))
            for name in self.queues
            for each in self.queues[name]
        ]
        return table(f"{len(rows)} subscribers", ("delivered to", "value"), rows)


def explained(
    text: str,
    dialect: str,
    matches: Sequence[Any],
    nearest: Sequence[tuple[Any, int]],
) -> Explanation:
    """Return an explanation of what an engine found."""
    from .explanation import Explanation, NearMiss  # on demand, because dataclasses load slowly

    return Explanation(
        Subject._of(text, dialect),
        tuple(matches),
        tuple(NearMiss(found.pattern, place, found) for found, place in nearest),
    )


class TrieStats(NamedTuple):
    """The size of an index.

    Attributes:
        subscriptions: The number of subscriptions.
        patterns: The number of distinct patterns.
        nodes: The number of nodes of the token tree below its root.
        queues: The number of distinct queue names.
        depth: The number of tokens of the deepest pattern.
        shapes: The number of distinct shapes: how many tokens, which of them are ``*``, and whether
            ``>`` ends the pattern. ``a.b`` and ``c.d`` have one shape.
        memory: The estimated bytes of the engine's own structures, without the values; the only
            number in which the engines differ.
    """

    subscriptions: int
    patterns: int
    nodes: int
    queues: int
    depth: int
    shapes: int
    memory: int

    def _repr_html_(self) -> str:
        from .display import fields

        return fields("SubjectTrie", self._asdict().items())


def empty_trie(dialect: Dialect, max_tokens: int | None, max_length: int | None) -> Any:
    """Return an empty index of the engine in use, which unpickling fills."""
    return engine.SubjectTrie(dialect=dialect, max_tokens=max_tokens, max_length=max_length)
