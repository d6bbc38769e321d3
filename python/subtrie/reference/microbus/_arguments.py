"""What arrives as an argument, and how a broken rule becomes the error both engines raise.

All arguments are first looked at for their type, in the order of the signature; then the rules are
applied in that order, each from left to right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from ..._errors import refusal
from .._grammar import encoded


class Broken(Exception):
    """A rule broke: its code, and the byte of the text at which it did, if one can be blamed."""

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason, position)
        self.reason = reason
        self.position = position


@contextmanager
def of(field: str | None, value: object) -> Iterator[None]:
    """Whatever breaks inside is the fault of the argument ``field``, whose value is shown."""
    try:
        yield
    except Broken as broken:
        raise refusal("AddressError", broken.reason, value, broken.position, field) from None


def text(value: object, name: str) -> str:
    """The text itself, or ``TypeError``, or the refusal of a lone surrogate."""
    encoded(value, "AddressError", name, name)
    return cast(str, value)


def port_text(value: object) -> int | str:
    """A port as it was given, if of a type that ports have."""
    if isinstance(value, str):
        return text(value, "port")
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(f"port must be int or str, not {type(value).__name__}")


def byte_at(text: str, index: int) -> int:
    """Where the character at ``index`` begins in the UTF-8 of the text."""
    return len(text[:index].encode())
