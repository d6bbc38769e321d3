"""Converters of values that are one JSON value or one text."""

from __future__ import annotations

import base64
import binascii
import enum
import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any
from uuid import UUID

from .converter import Branch, Conversion, Converter, Text, Unconvertible, Zero, misfit

_INTEGER = re.compile(r"-?[0-9]{1,400}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_LONGEST_NUMBER = 400
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
#: Nanoseconds of Go's longest duration.
_LONGEST_DURATION = 2**63


class Scalar(Converter):
    """A converter of one JSON type, or of texts.

    Args:
        kind: The type.
        exact: The JSON type whose values are those of the type; None if all are converted.
        others: The JSON types that are converted.
        convert: Converts such a value, or a text of a query; raises ``ValueError``.
        zero: The zero.
        schema: The JSON schema.
    """

    def __init__(
        self,
        kind: type,
        exact: type | None,
        others: tuple[type, ...],
        convert: Callable[[Any], Any],
        zero: Any,
        schema: dict[str, Any],
    ) -> None:
        self.name = kind.__name__
        self.kinds = frozenset(others if exact is None else (exact, *others))
        self.exact, self._others, self._convert = exact, (*others, Text), convert
        self._zero_value, self._schema = zero, schema
        self.takes_null = kind is str

    def read(self, value: Any, conversion: Conversion) -> Any:
        """Return the converted value."""
        kind = type(value)
        if kind is self.exact:
            return value
        if kind in self._others:
            try:
                return self._convert(value)
            except (ValueError, OverflowError, InvalidOperation):
                pass
        raise misfit(self.name, value)

    def schema(self, depth: int) -> dict[str, Any]:
        """Return the JSON schema."""
        return dict(self._schema)

    def zero_within(self, outer: frozenset[Converter]) -> Zero | None:
        """Return a function that makes the zero."""
        zero = self._zero_value
        return lambda: zero


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError
    return int(text)


def _number(value: Any) -> float:
    if isinstance(value, str) and not (len(value) <= _LONGEST_NUMBER and _NUMBER.fullmatch(value)):
        raise ValueError
    number = float(value)
    if not isfinite(number):
        raise ValueError
    return number


def _boolean(text: str) -> bool:
    lower = text.lower()
    if lower not in _TRUE and lower not in _FALSE:
        raise ValueError
    return lower in _TRUE


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True)
    except binascii.Error:
        raise ValueError from None


def _datetime(text: str) -> datetime:
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError
    clock, fraction, sign, hours, minutes = found.groups()
    zone = UTC
    if sign is not None:
        if int(hours) > 23 or int(minutes) > 59:
            raise ValueError
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        zone = timezone(-offset if sign == "-" else offset)
    made = datetime.fromisoformat(clock)
    return made.replace(microsecond=int(f"{fraction or '0':0<6.6}"), tzinfo=zone)


def _date(text: str) -> date:
    if not _DATE.fullmatch(text):
        raise ValueError
    return date.fromisoformat(text)


def _timedelta(value: int | str) -> timedelta:
    nanoseconds = value if isinstance(value, int) else _integer(value)
    if not -_LONGEST_DURATION <= nanoseconds < _LONGEST_DURATION:
        raise ValueError
    # Go's unit is finer: what is left of a microsecond is dropped, as Go does in a conversion.
    microseconds = abs(nanoseconds) // 1000
    return timedelta(microseconds=-microseconds if nanoseconds < 0 else microseconds)


def _decimal(value: Any) -> Decimal:
    text = repr(value) if isinstance(value, float) else str(value)
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        raise ValueError
    return Decimal(text)


def _uuid(text: str) -> UUID:
    if len(text) != 36:
        raise ValueError
    return UUID(text)


_NUMBERS: tuple[type, ...] = (int, float)

SCALARS: dict[type, Scalar] = {
    each[0]: Scalar(*each)
    for each in (
        (str, str, (), str, "", {"type": "string"}),
        (int, int, (), _integer, 0, {"type": "integer"}),
        (float, None, _NUMBERS, _number, 0.0, {"type": "number"}),
        (bool, bool, (), _boolean, False, {"type": "boolean"}),
        (bytes, bytes, (str,), _bytes, b"", {"type": "string", "contentEncoding": "base64"}),
        (
            datetime,
            None,
            (str,),
            _datetime,
            datetime(1, 1, 1, tzinfo=UTC),
            {"type": "string", "format": "date-time"},
        ),
        (date, None, (str,), _date, date(1, 1, 1), {"type": "string", "format": "date"}),
        (timedelta, None, (int,), _timedelta, timedelta(0), {"type": "integer"}),
        (UUID, None, (str,), _uuid, UUID(int=0), {"type": "string", "format": "uuid"}),
        (
            Decimal,
            None,
            (str, int, float),
            _decimal,
            Decimal(0),
            {"type": "string", "format": "decimal"},
        ),
    )
}


class Choice(Converter):
    """A converter of an enumeration, or of a ``Literal``.

    Args:
        name: The name of the type.
        choices: The values in JSON, each with what it becomes.
    """

    def __init__(self, name: str, choices: Iterable[tuple[Any, Any]]) -> None:
        self.name = name
        self._by_value: dict[tuple[type, Any], Any] = {}
        self._by_text: dict[str, Any] = {}
        for value, choice in choices:
            plain = _json_scalar(name, value)
            self.nullable = self.nullable or plain is None
            self._by_value.setdefault((type(plain), plain), choice)
            text = plain if isinstance(plain, str) else json.dumps(plain)
            self._by_text.setdefault(text, choice)
        self.kinds = frozenset(kind for kind, _ in self._by_value)
        self.takes_null = "null" in self._by_text

    def read(self, value: Any, conversion: Conversion) -> Any:
        """Return the choice of a value."""
        try:
            if type(value) is Text:
                return self._by_text[value]
            return self._by_value[type(value), value]
        except (KeyError, TypeError):
            raise misfit(self.name, value) from None

    def schema(self, depth: int) -> dict[str, Any]:
        """Return the JSON schema."""
        return {"enum": [value for _, value in self._by_value]}

    def zero_within(self, outer: frozenset[Converter]) -> Zero | None:
        """Return a function that makes the choice whose value is a zero; None without one."""
        for zero in (None, "", 0, 0.0, False):
            if (type(zero), zero) in self._by_value:
                choice = self._by_value[type(zero), zero]
                return lambda: choice
        return None


def _json_scalar(name: str, value: Any) -> Any:
    """Return the value of a choice as exactly a JSON type."""
    if value is None:
        return None
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    raise Unconvertible(f"{name} has the value {value!r}, which is not a JSON scalar")


def enumeration(kind: type[enum.Enum]) -> Choice:
    """Return the converter of an enumeration: its members travel as their values.

    Raises:
        Unconvertible: A value is not a JSON scalar.
    """
    members = list(kind.__members__.values())
    return Choice(kind.__name__, [(each.value, each) for each in members])


class Anything(Converter):
    """The converter of ``Any``: every JSON value as it is.

    Args:
        texts: Whether a text of a path or a query stays one, as for a parameter without annotation.
    """

    name = "value"
    kinds = frozenset((dict, list, str, int, float, bool))
    nullable = True
    takes_null = True
    is_open = True

    def __init__(self, *, texts: bool = False) -> None:
        self._texts = texts

    def read(self, value: Any, conversion: Conversion) -> Any:
        """Return the value."""
        if type(value) is Text and self._texts:
            return str(value)
        return detected(value)

    def schema(self, depth: int) -> dict[str, Any]:
        """Return the JSON schema."""
        return {}

    def zero_within(self, outer: frozenset[Converter]) -> Zero | None:
        """Return a function that makes None."""
        return lambda: None


class Nothing(Anything):
    """The converter of None."""

    name = "null"
    kinds = frozenset((type(None),))
    is_open = False

    def read(self, value: Any, conversion: Conversion) -> Any:
        """Return None."""
        if value is not None and value != "null":
            raise misfit(self.name, value)

    def schema(self, depth: int) -> dict[str, Any]:
        """Return the JSON schema."""
        return {"type": "null"}


def detected(value: Any) -> Any:
    """Return the values that the texts of a query stand for: numbers, booleans, null, texts."""
    if type(value) is Text:
        if value in ("true", "false", "null"):
            return json.loads(value)
        if len(value) <= _LONGEST_NUMBER and _JSON_NUMBER.fullmatch(value):
            number = json.loads(value)
            # Not ``isfinite`` of an integer: it may exceed a float.
            return number if isinstance(number, int) or isfinite(number) else str(value)
        return str(value)
    if type(value) is Branch:
        items = listed(value)
        if items is not None:
            return [detected(each) for each in items]
        return {name: detected(each) for name, each in value.items()}
    return value


def listed(branch: Branch) -> list[Any] | None:
    """Return the items of a list that a query writes as ``l[0]=a&l[1]=b``; None for others."""
    if not branch:
        return None
    try:
        return [branch[str(index)] for index in range(len(branch))]
    except KeyError:
        return None
