"""Headers of a message: names in Go's canonical form, several text values a name.

A name is a token of RFC 9110, and a value contains no control character except the tab, so nothing
can end a line early and written headers are read back equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from functools import lru_cache

from .._core.errors import refusal

#: Every value by canonical name.
HeaderValues = dict[str, list[str]]

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

    Attributes:
        lists: Every value by canonical name; the connector reads it, others use the methods.

    Raises:
        BusError: A name or a value is not valid in a header.
    """

    # A list of values is replaced, never modified, so that copies can share it.
    __slots__ = ("lists",)

    def __init__(self, given: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        self.lists: HeaderValues = {}
        if isinstance(given, Headers):
            self.lists = given.lists.copy()
            return
        for name, value in given.items() if isinstance(given, Mapping) else given:
            self.add(name, value)

    @classmethod
    def of(cls, values: HeaderValues) -> Headers:
        """Wrap values that are canonical and checked already."""
        headers = cls.__new__(cls)
        headers.lists = values
        return headers

    def copy(self) -> Headers:
        """Return an independent copy."""
        return Headers.of(self.lists.copy())

    def add(self, name: str, value: str) -> None:
        """Add a value to a name."""
        name = canonical(name)
        self.lists[name] = [*self.lists.get(name, ()), _checked(value)]

    def all(self, name: str) -> list[str]:
        """Return every value of a name in order; empty if there is none."""
        return list(self.lists.get(canonical(name), ()))

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield every name and value; a name once for each of its values."""
        for name, values in self.lists.items():
            for value in values:
                yield name, value

    def __getitem__(self, name: str) -> str:
        return self.lists[canonical(name)][0]

    def __setitem__(self, name: str, value: str) -> None:
        self.lists[canonical(name)] = [_checked(value)]

    def __delitem__(self, name: str) -> None:
        del self.lists[canonical(name)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and canonical(name) in self.lists

    def __iter__(self) -> Iterator[str]:
        return iter(self.lists)

    def __len__(self) -> int:
        return len(self.lists)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Headers):
            return self.lists == other.lists
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Headers({list(self.pairs())!r})"
