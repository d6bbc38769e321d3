"""The interface of converters, the state of one conversion, and the errors of both."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

#: Most steps of one conversion: values within the converted types, and alternatives tried.
MAX_STEPS = 1_000_000
_MAX_PLACE = 120  # characters of the place in an error
_MAX_VALUE = 60  # characters of the value in an error


class Misfit(Exception):
    """A value does not fit its type.

    Attributes:
        message: What is wrong, without the place: ``is not a valid int: "2"``.
        path: The parts of the place within the value, the innermost first.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.path: list[str] = []

    def within(self, part: str) -> Misfit:
        """Add the part of the place that contains the value; return the error itself."""
        self.path.append(part)
        return self

    def described(self, name: str) -> str:
        """Return the whole message.

        Args:
            name: The name of the converted value.
        """
        parts = [name, *reversed(self.path)]
        if len(parts) > 12:
            parts[6:-5] = ["…"]
        place = "".join(parts)
        if len(place) > _MAX_PLACE:
            place = f"{place[: _MAX_PLACE // 2]}…{place[-_MAX_PLACE // 3 :]}"
        return f"{place!r} {self.message}"


class TooLong(Exception):
    """The conversion takes too many steps, or the value is nested too deeply."""


class Conversion:
    """The state of one conversion.

    Attributes:
        left: The steps that are left.
        tried: The results of unions that had several candidates, by union and value.
    """

    __slots__ = ("left", "tried")

    def __init__(self) -> None:
        self.left = MAX_STEPS
        self.tried: dict[tuple[int, int], Any] = {}

    def spend(self, steps: int) -> None:
        """Count steps.

        Raises:
            TooLong: None are left.
        """
        self.left -= steps
        if self.left < 0:
            raise TooLong(f"it has more than {MAX_STEPS} values to convert")


class Text(str):
    """A text of a path, a query or a form, which stands for a value of any scalar type.

    Attributes:
        repeated: All texts of a repeated name, in order; the text itself is the last one.
    """

    __slots__ = ("repeated",)

    repeated: list[str]


class Branch(dict[str, Any]):
    """An object or a list whose members were separate arguments of a query: ``a[b]=1``."""


def shown(value: Any) -> str:
    """Return the beginning of a value for an error, whatever its size and depth."""
    if isinstance(value, dict):
        names = ", ".join(json.dumps(str(each)[:20]) for each in list(value)[:3])
        return f"an object with {names}{', …' * (len(value) > 3)}" if value else "{}"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "[]"
    if isinstance(value, str):
        value = value[: _MAX_VALUE + 1]
    elif isinstance(value, int) and value.bit_length() > 1024:
        return "a number of more than 300 digits"
    return json.dumps(value)[:_MAX_VALUE]


def misfit(name: str, value: Any) -> Misfit:
    """Return the error for a value that is not a valid ``name``."""
    return Misfit(f"is not a valid {name}: {shown(value)}")


Zero = Callable[[], Any]
_UNKNOWN: Any = object()


class Unconvertible(TypeError):
    """A type has no converter."""


class Required:
    """The mark of arguments and fields that must be given: ``Annotated[str, REQUIRED]``."""

    def __repr__(self) -> str:
        return "REQUIRED"


#: The mark of an argument or a field that must be given. Without it, what is absent is its declared
#: default, else the zero of its type.
REQUIRED = Required()


class Converter:
    """A converter of the values of one type: reader, zero and schema.

    Attributes:
        name: The name of the type in errors.
        kinds: The JSON types that it reads: ``dict``, ``list``, ``str``, ``int``, ``float``,
            ``bool``.
        nullable: Whether None is a value of the type.
        takes_null: Whether the text ``null`` is a value, not an absent one.
        members: The names of the members of an object; None for other types.
        is_open: Whether an object with any members is read.
        exact: The JSON type whose values are values of the type, so that they need not be read.
    """

    name = ""
    exact: type | None = None
    kinds: frozenset[type] = frozenset()
    nullable = False
    takes_null = False
    members: frozenset[str] | None = None
    is_open = False
    _zero: Any = _UNKNOWN

    def read(self, value: Any, conversion: Conversion) -> Any:
        """Return the converted value.

        Args:
            value: A JSON value, or a text or an object of a query.
            conversion: The conversion to which it belongs.

        Raises:
            Misfit: It does not fit the type.
            TooLong: The conversion takes too many steps.
        """
        raise NotImplementedError

    def schema(self, depth: int) -> dict[str, Any]:
        """Return the JSON schema; empty below a depth.

        Args:
            depth: How many schemas contain it.
        """
        raise NotImplementedError

    def zero_within(self, outer: frozenset[Converter]) -> Zero | None:
        """Return a function that makes the zero; None if there is none.

        Args:
            outer: The converters whose zeros need this one: a zero that contains itself is none.
        """
        raise NotImplementedError

    def zero(self) -> Any:
        """Return the zero of the type.

        Raises:
            Misfit: It has none.
        """
        if self._zero is _UNKNOWN:
            self._zero = self.zero_within(frozenset())
        if self._zero is None:
            raise Misfit("is missing")
        return self._zero()

    def lacks(self, value: Any) -> bool:
        """Return whether a value means that there is none: ``null``, unless the type has it."""
        if value is None:
            return not self.nullable
        return type(value) is Text and value == "null" and not (self.nullable or self.takes_null)
