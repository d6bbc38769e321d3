"""Arguments of the codec, and the errors that it raises for them.

First the types of all arguments are checked, in the order of the signature; then the rules are
applied in that order, each from left to right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from ..._core.errors import refusal
from .._grammar import encoded


class RuleViolation(Exception):
    """A violated rule: its code, and the byte of the text at which it is violated, if known."""

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason, position)
        self.reason = reason
        self.position = position


@contextmanager
def argument(field: str | None, value: object) -> Iterator[None]:
    """Raise an ``AddressError`` about the argument ``field`` for a rule that is violated inside."""
    try:
        yield
    except RuleViolation as violation:
        raise refusal("AddressError", violation.reason, value, violation.position, field) from None


def text(value: object, name: str) -> str:
    """Return the text, or raise if it is not a ``str`` or contains a lone surrogate."""
    encoded(value, "AddressError", name, name)
    return cast(str, value)


def port_text(value: object) -> int | str:
    """Return the port, or raise if it is neither ``int`` nor ``str``."""
    if isinstance(value, str):
        return text(value, "port")
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(f"port must be int or str, not {type(value).__name__}")


def byte_at(text: str, index: int) -> int:
    """Return the offset in UTF-8 of the character at ``index``."""
    return len(text[:index].encode())
