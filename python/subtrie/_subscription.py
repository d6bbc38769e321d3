"""What a subject index hands out: subscriptions, groups, explanations, figures.

One set of classes for both engines; the engines create them, users only read them.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from . import _engine
from ._subject import Pattern, Subject

_FIELDS = ("pattern", "value", "queue", "id")


class Subscription:
    """One interest: a pattern, the value that stands behind it, and perhaps a queue group.

    ``pattern`` is a ``Pattern``, ``value`` whatever was given, ``queue`` a name or None, ``id`` the
    number the index gave it: 0, 1, 2, … in order of insertion, never given again. Immutable; equal
    to itself alone. Through pickle, a subscription and the index it is in stay together when they
    are pickled together.
    """

    __slots__ = ("__weakref__", "id", "pattern", "queue", "value")
    pattern: Pattern
    value: Any
    queue: str | None
    id: int

    def __init__(self) -> None:
        raise TypeError("subscriptions are made by SubjectTrie.add")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a subscription does not change: {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a subscription does not change: {name!r} cannot be deleted")

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        if not hasattr(self, "id"):  # met while a pickle is being read
            return "<Subscription being restored>"
        queue = "" if self.queue is None else f", queue={self.queue!r}"
        return (
            f"Subscription(id={self.id}, pattern={str.__repr__(self.pattern)}{queue},"
            f" value={reprlib.repr(self.value)})"
        )

    # The value may lead back to this subscription, so it travels as state, not as an argument.
    def __reduce__(self) -> tuple[Any, ...]:
        return blank_subscription, (), tuple(getattr(self, field) for field in _FIELDS)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if hasattr(self, "id"):
            raise AttributeError("a subscription does not change")
        _fill(self, *state)


def blank_subscription() -> Subscription:
    """A subscription that is still to be filled: what a pickle starts from."""
    return object.__new__(Subscription)


def _fill(made: Subscription, *fields: object) -> None:
    for name, field in zip(_FIELDS, fields, strict=True):
        object.__setattr__(made, name, field)


def subscribed(
    text: str, dialect: str, value: object, queue: str | None, number: int
) -> Subscription:
    """Makes a subscription from a pattern and a queue name that an engine has checked.

    A ``Pattern`` is taken as it is, so that many subscriptions may share one.
    """
    made = blank_subscription()
    pattern = text if type(text) is Pattern else Pattern._of(text, dialect)
    _fill(made, pattern, value, queue, number)
    return made


class Groups(NamedTuple):
    """Who would hear a subject: all of ``plain``, and one member of each group in ``queues``.

    ``plain`` holds the values without a queue in order of insertion; ``queues`` maps each queue
    name, oldest member first, to its members' values in order of insertion (A18).
    """

    plain: tuple[Any, ...]
    queues: dict[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A pattern that almost matches: the first ``differs_at`` tokens agree, the next does not.

    ``differs_at`` equals the number of the subject's tokens where the pattern goes on longer;
    ``subscription`` is the oldest one with the pattern.
    """

    pattern: Pattern
    differs_at: int
    subscription: Subscription


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a subject is heard, or which patterns come nearest. Truthy when something matches."""

    subject: Subject
    matches: tuple[Subscription, ...]
    nearest: tuple[NearMiss, ...]

    @property
    def differs_at(self) -> int | None:
        """Zero-based index of the first token in which the nearest pattern differs, or None."""
        return self.nearest[0].differs_at if self.nearest else None

    def __bool__(self) -> bool:
        return bool(self.matches)

    def __str__(self) -> str:
        if self.matches:
            lines = [f"{self.subject} is matched by"]
            for match in self.matches:
                queue = "" if match.queue is None else f" in queue {match.queue}"
                lines.append(f"  {match.pattern} (subscription {match.id}{queue})")
        elif self.nearest:
            lines = [f"{self.subject} is matched by nothing; nearest:"]
            lines += [f"  {miss.pattern}: {self._difference(miss)}" for miss in self.nearest]
        else:
            lines = [f"{self.subject} is matched by nothing"]
        return "\n".join(lines)

    def _difference(self, miss: NearMiss) -> str:
        subject, pattern, place = self.subject.tokens, miss.pattern.tokens, miss.differs_at
        if place >= len(subject):
            return f"the subject ends before token {place}, {pattern[place]!r}"
        if place >= len(pattern):
            return f"the pattern ends before token {place}, {subject[place]!r}"
        return f"token {place} is {subject[place]!r}, not {pattern[place]!r}"


def explained(
    text: str,
    dialect: str,
    matches: Sequence[Subscription],
    nearest: Sequence[tuple[Subscription, int]],
) -> Explanation:
    """Makes an explanation from what an engine found."""
    return Explanation(
        Subject._of(text, dialect),
        tuple(matches),
        tuple(NearMiss(found.pattern, place, found) for found, place in nearest),
    )


class TrieStats(NamedTuple):
    """The size of an index.

    ``subscriptions``; distinct ``patterns``; ``nodes`` below the root (``>`` needs none); distinct
    ``queues``; ``depth`` in tokens of the deepest pattern; ``shapes``, the ways in which patterns
    are made: how many tokens, which of them ``*``, and whether ``>`` ends them (``a.b`` and ``c.d``
    have one); ``memory`` in bytes of the engine's own structures, without the values: an estimate,
    and the only figure in which engines differ.
    """

    subscriptions: int
    patterns: int
    nodes: int
    queues: int
    depth: int
    shapes: int
    memory: int


def empty_trie(dialect: str, max_tokens: int | None, max_length: int | None) -> Any:
    """An empty index of the engine in use: what a pickle starts from, whichever engine wrote it."""
    return _engine.SubjectTrie(dialect=dialect, max_tokens=max_tokens, max_length=max_length)
