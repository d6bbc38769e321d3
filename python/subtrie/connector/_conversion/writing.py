"""Values as JSON and as texts of a query, by their own type: what a converter reads back."""

from __future__ import annotations

import base64
import dataclasses
import enum
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Any
from uuid import UUID

_LONGEST_DURATION = 2**63  # nanoseconds
NOT_A_NUMBER = "not a number: NaN and infinite numbers cannot be represented in JSON"


def written(value: Any) -> Any:
    """Return what a value that is not plain JSON becomes; it may contain further ones.

    Args:
        value: The value.

    Raises:
        TypeError: Its type cannot be represented in JSON.
        ValueError: The value cannot: a time without a zone, a number that is not finite.
    """
    kind: Any = type(value)
    return _writer(kind)(value)


@lru_cache(maxsize=1024)
def _writer(kind: type) -> Callable[[Any], Any]:
    """Return the function that writes the values of a type."""
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
        return lambda value: {name: getattr(value, name) for name in names}
    if hasattr(kind, "model_dump"):
        return lambda value: value.model_dump(mode="json")
    for base in kind.__mro__:
        if base in _WRITERS:
            return _WRITERS[base]
    return _refuse


def _refuse(value: Any) -> Any:
    raise TypeError(
        f"{type(value).__name__} cannot be represented in JSON; "
        "return a dict, a dataclass or a Response"
    )


def _time(value: datetime) -> str:
    offset = value.utcoffset()
    if offset is None:
        raise ValueError(f"the time {value} has no zone; make it with datetime.now(timezone.utc)")
    if offset % timedelta(minutes=1):  # RFC 3339 has minutes
        value, offset = value.astimezone(UTC), timedelta(0)
    text = value.replace(tzinfo=None).isoformat()
    text = text.rstrip("0") if "." in text else text
    if not offset:
        return text + "Z"
    minutes = abs(offset) // timedelta(minutes=1)
    return f"{text}{'-' if offset < timedelta(0) else '+'}{minutes // 60:02}:{minutes % 60:02}"


def _duration(value: timedelta) -> int:
    nanoseconds = value // timedelta(microseconds=1) * 1000
    if not -_LONGEST_DURATION <= nanoseconds < _LONGEST_DURATION:
        raise ValueError(f"the duration {value} is longer than 292 years")
    return nanoseconds


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError(NOT_A_NUMBER)
    return str(value)


def _bytes(value: bytes | bytearray | memoryview) -> str:
    return base64.b64encode(value).decode()


_WRITERS: dict[type, Callable[[Any], Any]] = {
    enum.Enum: lambda value: value.value,
    set: list,
    frozenset: list,
    tuple: list,
    bytes: _bytes,
    bytearray: _bytes,
    memoryview: _bytes,
    datetime: _time,
    date: date.isoformat,
    timedelta: _duration,
    UUID: str,
    Decimal: _decimal,
}


def plain(value: Any) -> Any:
    """Return a value as JSON types only, with texts as keys.

    Args:
        value: The value.

    Raises:
        TypeError: A type cannot be represented in JSON.
        ValueError: A value cannot.
        RecursionError: The value contains itself.
    """
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(NOT_A_NUMBER)
        return value
    if isinstance(value, Mapping):
        return {_scalar_text(plain(name)): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return plain(written(value))


def _scalar_text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict | list):
        raise TypeError("a key of a mapping cannot be an object or a list")
    return str(value)


def text_of(value: Any) -> str:
    """Return a value as the text of a path or a query.

    Args:
        value: The value.

    Raises:
        TypeError: It is an object or a list, or cannot be represented in JSON.
        ValueError: It cannot be represented in JSON.
    """
    return _scalar_text(plain(value))


def deep_object(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of an argument in a query: ``a[b]=1``, ``a[0]=x``.

    Args:
        name: The name of the argument.
        value: Its value.

    Raises:
        TypeError: A type cannot be represented in JSON.
        ValueError: A value cannot.
    """
    yield from _members(name, plain(value))


def _members(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _members(f"{name}[{key}]", each)
    else:
        yield name, _scalar_text(value)
