"""Headers of a message: names in Go's canonical form, several text values a name.

A name is a token of RFC 9110, and a value contains no control character except the tab, so nothing
can end a line early and written headers are read back equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from functools import lru_cache

from .._errors import refusal

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@lru_cache(maxsize=1024)
def canonical(name: str) -> str:
    """Return a name in canonical form: ``Microbus-Op-Code``. Raises ``BusError`` if not valid."""
    if not _NAME.fullmatch(name):
        raise refusal("BusError", "header-name", name, field="headers")
    return "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))


def _checked(value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a header value must be text, not {type(value).__name__}")
    found = _CONTROL.search(value)
    if found or not value.isascii():
        # Text beyond ASCII is sent as UTF-8; lone surrogates cannot be encoded.
        try:
            offset = len(value[: found.start()].encode()) if found else None
            value.encode()
        except UnicodeEncodeError:
            raise refusal("BusError", "surrogate", value, field="headers") from None
        if found:
            raise refusal("BusError", "header-value", value, offset, "headers")
    return value.strip(" \t")


class Headers(MutableMapping[str, str]):
    """A mapping from header names, in any case, to their first values; ``all`` gives every value.

    Args:
        given: Other headers, a mapping, or pairs of name and value.

    Raises:
        BusError: A name or a value is not valid in a header.
    """

    # A list of values is replaced, never modified, so that copies can share it.
    __slots__ = ("_values",)

    def __init__(self, given: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, list[str]] = {}
        if isinstance(given, Headers):
            self._values = given._values.copy()
            return
        for name, value in given.items() if isinstance(given, Mapping) else given:
            self.add(name, value)

    @classmethod
    def _of(cls, values: dict[str, list[str]]) -> Headers:
        """Wrap values that are canonical and checked already."""
        headers = cls.__new__(cls)
        headers._values = values
        return headers

    def copy(self) -> Headers:
        """Return an independent copy."""
        return Headers._of(self._values.copy())

    def add(self, name: str, value: str) -> None:
        """Add a value to a name."""
        name = canonical(name)
        self._values[name] = [*self._values.get(name, ()), _checked(value)]

    def all(self, name: str) -> list[str]:
        """Return every value of a name in order; empty if there is none."""
        return list(self._values.get(canonical(name), ()))

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield every name and value; a name once for each of its values."""
        for name, values in self._values.items():
            for value in values:
                yield name, value

    def __getitem__(self, name: str) -> str:
        return self._values[canonical(name)][0]

    def __setitem__(self, name: str, value: str) -> None:
        self._values[canonical(name)] = [_checked(value)]

    def __delitem__(self, name: str) -> None:
        del self._values[canonical(name)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and canonical(name) in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Headers):
            return self._values == other._values
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Headers({list(self.pairs())!r})"
