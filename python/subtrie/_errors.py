"""The exception tree, in one place, shared by both engines.

Every error is a ``ValueError`` that says what was refused, where, why, and what would work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._reasons import REASONS

# Longest part of a refused value that a message repeats.
_SHOWN = 60


class SubtrieError(ValueError):
    """An input was refused.

    ``reason`` is a stable code of the table in ``docs/errors.md``; ``position`` a byte offset into
    the UTF-8 of the refused text, or None; ``field`` the argument that held it, or None; ``hint``
    what would work; ``status`` the HTTP status that fits.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str = "invalid",
        position: int | None = None,
        field: str | None = None,
        hint: str = "",
        status: int = 400,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.position = position
        self.field = field
        self.hint = hint
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        # BaseException would call the class with the message alone and lose the rest.
        return (type(self), self.args, self.__dict__)


class SubjectError(SubtrieError):
    """The text is no subject of the dialect."""


class PatternError(SubtrieError):
    """The text is no pattern of the dialect."""


class InvalidName(SubtrieError):
    """The text breaks a naming rule of ADR-6."""


class AddressError(SubtrieError):
    """A part of a Microbus address is wrong, or a subject is no canonical address."""


class HostnameCollision(AddressError):
    """Two hosts flatten to the same token (decision A5)."""


class WireError(SubtrieError):
    """Bytes on the wire break the protocol.

    ``position`` is an offset in the stream. ``cause`` is the rule that is broken, also where
    ``reason`` is the one word ``parse``; ``state`` what was being read (``name``, ``arguments``,
    ``payload``); ``resume`` the offset of the first byte that no operation accounts for;
    ``operations`` what this call finished before.
    """

    cause: str | None = None
    state: str | None = None
    resume: int | None = None
    operations: Sequence[Any] = ()


class PermissionsError(SubtrieError):
    """A permission entry or the file it came from is wrong."""


class BusError(SubtrieError):
    """A request over the bus failed."""


class UnheardPort(UserWarning):
    """A request to port 0, which stands for any port in routes: by convention nothing listens."""


_NOUNS = {
    "SubjectError": "not a subject",
    "PatternError": "not a pattern",
    "InvalidName": "not a valid name",
    "AddressError": "not a Microbus address",
    "HostnameCollision": "host collides",
    "PermissionsError": "refused",
    "BusError": "refused by the bus",
    "SubtrieError": "no image of an index",
}


def shown(value: object) -> str:
    """The value as a message repeats it: one line, escaped, shortened."""
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"{value[:_SHOWN]!a}… ({len(value)} characters)"
    if isinstance(value, int) and value.bit_length() > 4 * _SHOWN:
        return f"a number of {value.bit_length()} bits"
    return ascii(value)


def refusal(
    kind: str,
    reason: str,
    value: object,
    position: int | None = None,
    field: str | None = None,
) -> SubtrieError:
    """Builds the error both engines raise for a broken rule, from the table of reasons.

    ``value`` is the refused text; None for the bytes of an image, which no message repeats.
    """
    rule = REASONS[reason]
    if reason == "surrogate" and position is None:
        position = first_surrogate(str(value))
    place = "" if position is None else f" (byte {position})"
    part = "" if field is None else f"{field} "
    told = "the bytes are" if value is None else f"{part}{shown(value)} is"
    message = f"{told} {_NOUNS[kind]}: {rule.sentence}{place}; {rule.hint}"
    error: SubtrieError = _CLASSES[kind](
        message,
        reason=reason,
        position=position,
        field=field,
        hint=rule.hint,
        status=rule.status,
    )
    return error


def wire_error(
    reason: str, cause: str, position: int, resume: int, state: str, operations: Sequence[Any]
) -> WireError:
    """Builds the error both engines raise for bytes that break the protocol."""
    rule = REASONS[cause]
    error = WireError(
        f"not the protocol: {rule.sentence} (byte {position} of the stream); {rule.hint}",
        reason=reason,
        position=position,
        hint=rule.hint,
        status=rule.status,
    )
    error.cause, error.state, error.resume = cause, state, resume
    error.operations = list(operations)
    return error


def first_surrogate(text: str) -> int | None:
    """Where UTF-8 fails, counted in the bytes before it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return len(text[: error.start].encode())
    return None


_CLASSES: dict[str, type[SubtrieError]] = {
    cls.__name__: cls
    for cls in (
        SubtrieError,
        SubjectError,
        PatternError,
        InvalidName,
        AddressError,
        HostnameCollision,
        PermissionsError,
        BusError,
    )
}
