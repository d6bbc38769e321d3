"""How a request fails, and how a failure travels.

An error on the bus is a JSON object ``err``: the message, the status, the trace it belongs to,
properties of the handler's choice, and where it was raised, keys sorted, indented where people
read it (LOCAL), as Go writes it.
"""

from __future__ import annotations

import json
import os
import traceback
from http import HTTPStatus
from typing import Any

from .._errors import BusError

_SHOWN_FRAMES = 32


class HTTPError(BusError):
    """An answer that is an error, or one that a handler gives.

    ``status``, ``message``, ``properties`` (what the handler added; JSON-able), ``trace`` (32
    hexadecimal digits, or empty), ``stack`` (where it was raised: ``func``, ``file``, ``line``).
    """

    reason_code = "answered-error"

    def __init__(
        self,
        message: str = "",
        *,
        status: int = 500,
        properties: dict[str, Any] | None = None,
        trace: str = "",
        stack: list[dict[str, Any]] | None = None,
    ) -> None:
        self.message = message  # what its text is made of, so that it has one from the start
        self.properties = dict(properties or {})
        self.trace = trace
        self.stack = stack or []
        super().__init__(message, reason=self.reason_code, status=status)

    def set_message(self, message: str) -> None:
        """Says it better."""
        self.message, self.args = message, (message,)

    def __str__(self) -> str:
        return f"{self.status}: {self.message}" if self.message else reason_phrase(self.status)


class AckTimeout(HTTPError):
    """Nobody acknowledged the request in time: nobody serves it (status 404)."""

    reason_code = "ack-timeout"

    def __init__(self, message: str = "ack timeout", **more: Any) -> None:
        super().__init__(message, **{"status": 404, **more})


class RequestTimeout(HTTPError):
    """The time budget of the request is used up (status 408)."""

    reason_code = "request-timeout"

    def __init__(self, message: str = "timeout", **more: Any) -> None:
        super().__init__(message, **{"status": 408, **more})


class CallDepthExceeded(HTTPError):
    """The request would be the 65th in a chain of calls (status 508)."""

    reason_code = "call-depth"

    def __init__(self, message: str = "call depth overflow", **more: Any) -> None:
        super().__init__(message, **{"status": 508, **more})


_PHRASES = {  # where Go's words are not Python's
    203: "Non-Authoritative Information",
    413: "Request Entity Too Large",
    414: "Request URI Too Long",
    416: "Requested Range Not Satisfiable",
    418: "I'm a teapot",
    422: "Unprocessable Entity",
}


def reason_phrase(status: int) -> str:
    """The words after a status, Go's; empty for a status without any."""
    try:
        return _PHRASES.get(status) or HTTPStatus(status).phrase
    except ValueError:
        return ""


def to_http_error(error: BaseException) -> HTTPError:
    """The error a caller is to see for what a handler raised: its own, or a plain 500."""
    if isinstance(error, HTTPError):
        if not error.stack and error.__traceback__ is not None:
            error.stack = stack_frames(error)
        return error
    if isinstance(error, BusError):
        return HTTPError(str(error), status=error.status, stack=stack_frames(error))
    return HTTPError(str(error) or type(error).__name__, status=500, stack=stack_frames(error))


def stack_frames(error: BaseException) -> list[dict[str, Any]]:
    """Where an error was raised, innermost first, without the frames of this package."""
    here = os.path.dirname(__file__)
    frames = [
        {"func": each.name, "file": each.filename, "line": each.lineno or 0}
        for each in reversed(traceback.extract_tb(error.__traceback__))
        if os.path.dirname(each.filename) != here
    ]
    return frames[:_SHOWN_FRAMES]


def error_body(error: HTTPError, *, indent: bool) -> bytes:
    """The JSON of an error as it travels, with a final line feed."""
    fields: dict[str, Any] = dict(error.properties)
    fields["error"] = error.message or reason_phrase(error.status)
    fields["statusCode"] = error.status
    if error.stack:
        fields["stack"] = error.stack
    if error.trace:
        fields["trace"] = error.trace
    return go_json({"err": dict(sorted(fields.items()))}, indent=indent) + b"\n"


def read_error(body: bytes, status: int) -> HTTPError:
    """The error that a body tells of; a plain one with the status where it cannot be read.

    A 408 is a ``RequestTimeout``, whoever ran out of time; a 404 is an answer, no ``AckTimeout``.
    """
    try:
        told = json.loads(body)["err"]
        fields = dict(told)
    except (ValueError, TypeError, KeyError, RecursionError):
        return HTTPError("unparsable error response", status=status if status >= 400 else 500)
    message, code = fields.pop("error", ""), fields.pop("statusCode", 0)
    trace, stack = fields.pop("trace", ""), fields.pop("stack", [])
    number = isinstance(code, int) and not isinstance(code, bool) and 100 <= code <= 999
    status = code if number else 500
    return (RequestTimeout if status == 408 else HTTPError)(
        message if isinstance(message, str) else "",
        status=status,
        properties=fields,
        trace=trace if isinstance(trace, str) else "",
        stack=stack if isinstance(stack, list) else [],
    )


_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_GO_ESCAPES = str.maketrans(_ESCAPES)


def go_json(value: Any, *, indent: bool = False) -> bytes:
    """JSON as Go's encoder writes it: compact, or indented by two; ``<``, ``>``, ``&`` escaped."""
    text = json.dumps(
        value,
        ensure_ascii=False,
        indent=2 if indent else None,
        separators=(",", ": " if indent else ":"),
    )
    return text.translate(_GO_ESCAPES).encode("utf-8", "replace")
