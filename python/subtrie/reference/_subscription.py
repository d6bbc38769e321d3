"""The handle of a subscription."""

from __future__ import annotations

from typing import Any, NoReturn, final

from .._core.subject import Pattern
from .._core.subscription import blank_subscription as blank_of_engine
from .._core.subscription import deep_copied, subscription_state, subscription_text

_FIELDS = ("pattern", "value", "queue", "id")


@final
class Subscription:
    """A pattern, its value, and the queue group of which the value is a member, if any.

    A subscription is immutable and equal only to itself. If it is pickled together with its index,
    the unpickled one belongs to the unpickled index.

    Attributes:
        pattern: The pattern.
        value: The value that was added.
        queue: The name of the queue group, or None.
        id: A number that the index assigned: 0, 1, 2, … in insertion order, never used again.
    """

    __slots__ = ("__weakref__", "id", "pattern", "queue", "value")
    pattern: Pattern
    value: Any
    queue: str | None
    id: int

    def __init__(self) -> None:
        raise TypeError("a Subscription is created by SubjectTrie.add")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a subscription is immutable: {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a subscription is immutable: {name!r} cannot be deleted")

    def __repr__(self) -> str:
        return subscription_text(self)

    # The value may refer to this subscription, so it is pickled as state, not as an argument.
    def __reduce__(self) -> tuple[Any, ...]:
        return blank_of_engine, (), tuple(getattr(self, field) for field in _FIELDS)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if hasattr(self, "id"):
            raise AttributeError("a subscription is immutable")
        _fill(self, *subscription_state(state))

    def __deepcopy__(self, memo: dict[int, Any]) -> Subscription:
        copy: Subscription = deep_copied(self, memo, blank_subscription())
        return copy


def blank_subscription() -> Subscription:
    """Return a subscription without attributes, which unpickling fills."""
    return object.__new__(Subscription)


def _fill(made: Subscription, *fields: object) -> None:
    for name, field in zip(_FIELDS, fields, strict=True):
        object.__setattr__(made, name, field)


def subscribed(
    text: str, dialect: str, value: object, queue: str | None, number: int
) -> Subscription:
    """Return a subscription with a pattern and a queue name that are validated.

    Args:
        text: The pattern; a ``Pattern`` is used as it is, so that subscriptions can share one.
        dialect: Its dialect.
        value: The value.
        queue: The name of the queue group, or None.
        number: The id.
    """
    made = blank_subscription()
    pattern = text if type(text) is Pattern else Pattern._of(text, dialect)
    _fill(made, pattern, value, queue, number)
    return made
