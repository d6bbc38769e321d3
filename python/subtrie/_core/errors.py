"""The exception classes, shared by both engines.

Every message says what was refused, where, why, and what would work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .reasons import IMAGE, REASONS

# Longest part of a refused value that a message repeats.
_SHOWN = 60

# Reasons whose message does not repeat what was refused: bytes, or nothing in particular.
_WITHOUT_VALUE = {*IMAGE, "index-full"}


class SubtrieError(Exception):
    """Base class of all errors of this package.

    Attributes:
        reason: A stable code from the table in ``docs/errors.md``.
        position: A byte offset into the UTF-8 of the refused text, or None.
        field: The name of the refused argument, or None.
        hint: What would work.
        status: The HTTP status that fits.
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


class InvalidInput(SubtrieError, ValueError):
    """An input is not valid; base class of what the validators raise."""


class SubjectError(InvalidInput):
    """The text is not a valid subject of the dialect."""


class PatternError(InvalidInput):
    """The text is not a valid pattern of the dialect."""


class InvalidName(InvalidInput):
    """The text violates a naming rule of NATS (ADR-6)."""


class AddressError(InvalidInput):
    """A part of a Microbus address is not valid, or a subject is not a canonical address."""


class HostnameCollision(AddressError):
    """Two hosts have the same token in a subject."""  # A5


class WireError(InvalidInput):
    """Bytes violate the protocol.

    Attributes:
        position: An offset in the stream.
        cause: The code of the violated rule, also when ``reason`` is only ``parse``.
        state: What was being read: ``name``, ``arguments`` or ``payload``.
        resume: The offset of the first byte that belongs to no operation.
        operations: The operations that this call completed before the error.
        groups: The acknowledged messages among them, by receiver; only of a connector's reader.
        acknowledgements: Those to be written for them.
    """

    cause: str | None = None
    state: str | None = None
    resume: int | None = None
    operations: Sequence[Any] = ()
    groups: Sequence[Any] = ()
    acknowledgements: bytes = b""


class PermissionsError(InvalidInput):
    """A permission rule, or the file that contains it, is not valid."""


class BusError(SubtrieError):
    """A connector cannot do what was asked of it, or a request failed."""


class UnheardPort(UserWarning):
    """A request to port 0 reaches no endpoint: in a route, port 0 stands for every port."""


_NOUNS = {
    "SubjectError": "subject",
    "PatternError": "pattern",
    "InvalidName": "name",
    "AddressError": "Microbus address",
}


def shown(value: object) -> str:
    """Return the value as a message repeats it: one line, escaped, shortened."""
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
    """Return the error that both engines raise, with the message of a reason.

    Args:
        kind: The name of the error class.
        reason: A code of the table of reasons.
        value: The refused value.
        position: A byte offset into its UTF-8.
        field: The name of the argument.
    """
    rule = REASONS[reason]
    if isinstance(value, str):
        value = str.__str__(value)  # a subclass may have an str() and a repr of its own
    if reason == "surrogate" and position is None:
        position = first_surrogate(str(value))
    place = "" if position is None else f" (at byte {position})"
    message = f"{rule.sentence}{place}; {rule.hint}"
    if reason not in _WITHOUT_VALUE:
        message = f"{_refused(kind, value, field)}: {message}"
    # The core calls a damaged image a ``SubtrieError``.
    error: SubtrieError = _CLASSES["InvalidInput" if reason in IMAGE else kind](
        message,
        reason=reason,
        position=position,
        field=field,
        hint=rule.hint,
        status=rule.status,
    )
    return error


def _refused(kind: str, value: object, field: str | None) -> str:
    """Return what was refused: ``'a..b' is not a valid subject``, ``port 'x' is not valid``."""
    what = shown(value) if field is None else f"{field} {shown(value)}"
    if kind not in _NOUNS:
        return what
    return f"{what} is not a valid {_NOUNS[kind]}" if field is None else f"{what} is not valid"


def wire_error(
    reason: str, cause: str, position: int, resume: int, state: str, operations: Sequence[Any]
) -> WireError:
    """Return the error that both engines raise for bytes that violate the protocol."""
    rule = REASONS[cause]
    error = WireError(
        f"protocol error: {rule.sentence} (at byte {position} of the stream); {rule.hint}",
        reason=reason,
        position=position,
        hint=rule.hint,
        status=rule.status,
    )
    error.cause, error.state, error.resume = cause, state, resume
    error.operations = list(operations)
    return error


def first_surrogate(text: str) -> int | None:
    """Return the byte offset of the first lone surrogate, or None."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return len(text[: error.start].encode())
    return None


_CLASSES: dict[str, type[SubtrieError]] = {
    cls.__name__: cls
    for cls in (
        SubtrieError,
        InvalidInput,
        SubjectError,
        PatternError,
        InvalidName,
        AddressError,
        HostnameCollision,
        PermissionsError,
        BusError,
    )
}
