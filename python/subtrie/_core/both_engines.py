"""Both engines as one: each question goes to both, and a difference between them is an error.

``SUBTRIE_ENGINE=both`` selects this module, for the tests of a program: its answers are those of
the native engine. Not compared: images, whose bytes depend on a random key, the memory of an index,
and the reader of a live connection.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import threading
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, ModuleType
from typing import Any

from .errors import SubtrieError

_native: ModuleType = importlib.import_module("subtrie._subtrie")
_reference: ModuleType = importlib.import_module("subtrie.reference")


class EngineDifference(AssertionError):
    """The two engines answer one question differently: a bug of subtrie."""


def _asked(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """Return the answer of one engine, or what it raised."""
    try:
        return call(), None
    except RecursionError:
        raise  # depends on the stack that was left, not on the engine
    except Exception as error:
        return None, error


def _refusal(error: BaseException | None) -> tuple[object, ...]:
    """Return what the engines must agree on in an error."""
    if isinstance(error, SubtrieError):
        place = (error.reason, error.position, error.field, error.status)
        return (type(error).__name__, *place, str(error))
    if isinstance(error, ValueError):
        return ("ValueError",)  # UnicodeEncodeError is one
    return (type(error).__name__,)


def _parts(answer: Any) -> Any:
    """Return the parts of an answer whose class differs between the engines."""
    name = type(answer).__name__
    if name == "Subscription":
        return answer.pattern, answer.value, answer.queue, answer.id
    if name == "Op":
        return answer.conn, answer.as_dict(), bytes(answer), answer.offset
    if name == "Batch":
        return [answer[row] for row in range(len(answer))]
    if name == "Matches":
        columns = (answer.offsets, answer.ids, answer.valid)
        return [bytes(column) for column in columns], [
            answer.values(row) for row in range(len(answer))
        ]
    if name == "TrieStats":
        return tuple(answer._replace(memory=0))
    if isinstance(answer, memoryview):
        return bytes(answer)
    if dataclasses.is_dataclass(answer):
        return [getattr(answer, field.name) for field in dataclasses.fields(answer)]
    return None


def _equal(native: Any, reference: Any) -> bool:
    """Whether two answers are the same: a value that the caller stored by identity or equality."""
    if native is reference:
        return True
    if type(native).__name__ != type(reference).__name__:
        return False
    if (parts := _parts(native)) is not None:
        return _equal(parts, _parts(reference))
    if isinstance(native, tuple | list):
        return len(native) == len(reference) and all(map(_equal, native, reference))
    if isinstance(native, dict):
        return list(native) == list(reference) and all(
            _equal(value, reference[name]) for name, value in native.items()
        )
    return bool(native == reference)


def _compared(
    question: str, calls: Iterable[Callable[[], Any]], same: Callable[[Any, Any], bool] = _equal
) -> tuple[Any, Any]:
    """Return both answers, or raise what both engines raised.

    Raises:
        EngineDifference: The answers differ, or one engine raised and the other did not.
    """
    (one, raised), (other, raised_too) = map(_asked, calls)
    if _refusal(raised) != _refusal(raised_too) or not (raised or same(one, other)):
        raise EngineDifference(
            f"the engines differ in {question}:\n  native    {_shown(one, raised)}\n"
            f"  reference {_shown(other, raised_too)}"
        )
    if isinstance(raised, SubtrieError):
        _compare_operations(question, raised, raised_too)
    if raised is not None:
        raise raised
    return one, other


def _compare_operations(question: str, raised: Any, raised_too: Any) -> None:
    """Compare the operations that an error of a parser has."""
    before = [getattr(error, "operations", None) for error in (raised, raised_too)]
    if not _equal(*before):
        raise EngineDifference(f"the engines differ in what precedes the error of {question}")


def _shown(answer: Any, raised: BaseException | None) -> str:
    text = repr(answer) if raised is None else f"{type(raised).__name__}: {raised}"
    return text if len(text) <= 500 else text[:500] + "…"


def _repeatable(argument: Any) -> Any:
    """Return a list of what an iterator gives, for two engines cannot both use it up."""
    return list(argument) if hasattr(argument, "__next__") else argument


def _function(name: str) -> Callable[..., Any]:
    native, reference = getattr(_native, name), getattr(_reference, name)

    @functools.wraps(native)
    def ask(*args: Any, **kwargs: Any) -> Any:
        args = tuple(map(_repeatable, args))
        calls = (functools.partial(each, *args, **kwargs) for each in (native, reference))
        return _compared(f"{name}{args!a}", calls)[0]

    return ask


def _method(name: str) -> Callable[..., Any]:
    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        args = tuple(map(_repeatable, args))
        kwargs = {key: _repeatable(value) for key, value in kwargs.items()}
        with self._lock:
            calls = (
                functools.partial(getattr(each, name), *args, **kwargs)
                for each in (self._one, self._other)
            )
            return _compared(f"{type(self).__name__}.{name}{args!a}", calls)[0]

    ask.__name__ = name
    return ask


def _attribute(name: str) -> property:
    def ask(self: Any) -> Any:
        calls = (functools.partial(getattr, each, name) for each in (self._one, self._other))
        return _compared(f"{type(self).__name__}.{name}", calls)[0]

    return property(ask)


class Parser:
    """A parser of each engine, fed with the same bytes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        makes = (functools.partial(each.Parser, *args, **kwargs) for each in (_native, _reference))
        self._lock = threading.RLock()
        self._one, self._other = _compared(f"Parser{args!a}", makes, same=_made)

    feed = _method("feed")
    conn, dialect, complete = _attribute("conn"), _attribute("dialect"), _attribute("complete")
    offset, held = _attribute("offset"), _attribute("held")


def _made(_native: Any, _reference: Any) -> bool:
    return True


class SubjectTrie:
    """An index of each engine with the same subscriptions; the native ones are returned."""

    __class_getitem__ = classmethod(lambda cls, _: cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        makes = (
            functools.partial(each.SubjectTrie, *args, **kwargs) for each in (_native, _reference)
        )
        self._start(*_compared("SubjectTrie()", makes, same=_made), {})

    def _start(self, one: Any, other: Any, twins: dict[int, Any]) -> None:
        self._lock = threading.RLock()
        self._one, self._other = one, other
        #: The subscriptions of the reference, by the number that both engines give.
        self._twins = twins

    @classmethod
    def _of(cls, one: Any, other: Any, twins: dict[int, Any]) -> SubjectTrie:
        made = cls.__new__(cls)
        made._start(one, other, twins)
        return made

    @classmethod
    def from_bytes(cls, *args: Any, **kwargs: Any) -> SubjectTrie:
        """Return the index of an image, which both engines read."""
        reads = (
            functools.partial(each.SubjectTrie.from_bytes, *args, **kwargs)
            for each in (_native, _reference)
        )
        one, other = _compared("SubjectTrie.from_bytes", reads, same=_made)
        made = cls._of(one, other, {each.id: each for each in other})
        list(made)  # compares what they read
        return made

    dialect, max_tokens = _attribute("dialect"), _attribute("max_tokens")
    max_length = _attribute("max_length")
    match, __call__, select = _method("match"), _method("__call__"), _method("select")
    subscriptions, groups = _method("subscriptions"), _method("groups")
    has_interest, count = _method("has_interest"), _method("count")
    matching, covered_by = _method("matching"), _method("covered_by")
    match_batch, explain, draw = _method("match_batch"), _method("explain"), _method("draw")
    stats, __len__ = _method("stats"), _method("__len__")

    def add(self, pattern: str, value: Any, *, queue: str | None = None) -> Any:
        """Subscribe a value to a pattern in both."""
        with self._lock:
            calls = (
                functools.partial(each.add, pattern, value, queue=queue)
                for each in (self._one, self._other)
            )
            one, other = _compared(f"SubjectTrie.add({pattern!a})", calls)
            self._twins[one.id] = other
        return one

    def update(self, *args: Any, **kwargs: Any) -> Any:
        """Subscribe many values in both."""
        args = tuple(map(_repeatable, args))
        kwargs = {name: _repeatable(value) for name, value in kwargs.items()}
        with self._lock:
            calls = (
                functools.partial(each.update, *args, **kwargs) for each in (self._one, self._other)
            )
            one, other = _compared("SubjectTrie.update", calls, same=_same_sequence)
            self._twins.update((each.id, each) for each in other)
        return one

    def remove(self, subscription: Any) -> bool:
        """Remove a subscription from both."""
        with self._lock:
            twin = self._twin(subscription)
            removed: bool = _compared(
                f"SubjectTrie.remove({subscription!a})",
                (lambda: self._one.remove(subscription), lambda: self._other.remove(twin)),
            )[0]
            if removed:
                del self._twins[subscription.id]
        return removed

    def _twin(self, subscription: Any) -> Any:
        """Return the reference's subscription for one of the native engine."""
        if not isinstance(subscription, _native.Subscription):
            return subscription
        if subscription in self._one:
            return self._twins[subscription.id]
        return _reference.SubjectTrie().add("removed", None)  # of another index

    def __contains__(self, key: object) -> bool:
        with self._lock:
            if not isinstance(key, str):
                return key in self._one
            calls = [functools.partial(each.__contains__, key) for each in (self._one, self._other)]
            found, _ = _compared("SubjectTrie.__contains__", calls)
            return bool(found)

    def clear(self) -> None:
        """Remove all from both."""
        with self._lock:
            self._one.clear()
            self._other.clear()
            self._twins.clear()

    def __iter__(self) -> Iterator[Any]:
        with self._lock:
            lists: Any = (functools.partial(list, each) for each in (self._one, self._other))
            return iter(_compared("list(SubjectTrie)", lists)[0])

    def to_bytes(self) -> bytes:
        """Return the image that the native engine writes."""
        image: bytes = self._one.to_bytes()
        return image

    def copy(self) -> SubjectTrie:
        """Copy both."""
        with self._lock:
            return self._of(self._one.copy(), self._other.copy(), dict(self._twins))

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        reduced: tuple[Any, ...] = self._one.__reduce__()  # it is unpickled by the engine in use
        return reduced

    def __setstate__(self, state: tuple[int, tuple[Any, ...]]) -> None:
        following, rows = state
        self._one.__setstate__(state)
        self._other.__setstate__((following, tuple((None, *row[1:]) for row in rows)))
        self._twins = {each.id: each for each in self._other}

    def __str__(self) -> str:
        texts = (functools.partial(str, each) for each in (self._one, self._other))
        text: str = _compared("str(SubjectTrie)", texts)[0]
        return text

    def __repr__(self) -> str:
        return repr(self._one)


def _same_sequence(native: Any, reference: Any) -> bool:
    return _equal(list(native), list(reference))


def _all_names() -> dict[str, Any]:
    """Return the names of an engine: functions that ask both, else what the native engine has."""
    names = {name: value for name, value in vars(_native).items() if not name.startswith("__")}
    for name, value in names.items():
        if isinstance(value, BuiltinFunctionType) and hasattr(_reference, name):
            names[name] = _function(name)
    # A blank subscription is filled by pickle, and is of the engine whose subscriptions are given.
    return {**names, "blank_subscription": _native.blank_subscription}


globals().update(
    {name: value for name, value in _all_names().items() if name not in ("Parser", "SubjectTrie")}
)
__all__ = list(_native.__all__)
