"""Errors of requests, and their form on the bus.

An error response is a JSON object ``err``: the message, the status, the trace id, properties that
the handler added, and where it was raised; keys sorted, indented in the deployment LOCAL, as Go
does.
"""

from __future__ import annotations

import json
import os
from http import HTTPStatus
from types import TracebackType
from typing import Any

from .._core.errors import BusError, SubtrieError

_SHOWN_FRAMES = 32  # the innermost; bounds the size of an error response
_OMITTED_PACKAGES = frozenset(("subtrie", "asyncio", "concurrent"))  # between caller and handler


class HTTPError(BusError):
    """An error response, received or to be sent by a handler.

    Attributes:
        status: The HTTP status.
        message: The text.
        properties: Further values, which JSON can represent.
        trace: The trace id, 32 hexadecimal digits, or empty.
        stack: Where it was raised, innermost first: ``func``, ``file`` (relative to its top-level
            package) and ``line``.

    Args:
        message: The text.
        status: The HTTP status.
        properties: Further values, which JSON can represent.
        trace: The trace id.
        stack: Where it was raised.

    Raises:
        ValueError: The status is not in 200 to 999.
    """

    reason_code = "answered-error"
    _made_here = False  # by the connector that sent the request
    _answered = ""  # the request that a service answered with it

    def __init__(
        self,
        message: str = "",
        *,
        status: int = 500,
        properties: dict[str, Any] | None = None,
        trace: str = "",
        stack: list[dict[str, Any]] | None = None,
    ) -> None:
        if not 200 <= status <= 999:
            raise ValueError(f"the status of an error is 200 to 999, not {status!r}")
        self.message = message  # before super(): __str__ needs it
        self.properties = dict(properties or {})
        self.trace = trace
        self.stack = stack or []
        super().__init__(message, reason=self.reason_code, status=status)

    def set_message(self, message: str) -> None:
        """Replace the message."""
        self.message, self.args = message, (message,)

    def __str__(self) -> str:
        return f"{self.status}: {self.message}" if self.message else reason_phrase(self.status)


class AckTimeout(HTTPError):
    """No service acknowledged the request in time (404)."""

    reason_code = "ack-timeout"

    def __init__(self, message: str = "ack timeout", **more: Any) -> None:
        super().__init__(message, **{"status": 404, **more})


class RequestTimeout(HTTPError, TimeoutError):
    """The time budget of the request is used up (408)."""

    reason_code = "request-timeout"

    def __init__(self, message: str = "timeout", **more: Any) -> None:
        super().__init__(message, **{"status": 408, **more})


class PublishRefused(HTTPError):
    """The broker does not let this service publish the request (403); for its own caller 500."""

    reason_code = "publish-refused"

    def __init__(self, message: str = "", **more: Any) -> None:
        super().__init__(message, **{"status": 403, **more})


class CallDepthExceeded(HTTPError):
    """The request would be the 65th in a chain of calls (508)."""

    reason_code = "call-depth"

    def __init__(self, message: str = "call depth overflow", **more: Any) -> None:
        super().__init__(message, **{"status": 508, **more})


_PHRASES = {  # where Go's phrase differs from Python's
    203: "Non-Authoritative Information",
    413: "Request Entity Too Large",
    414: "Request URI Too Long",
    416: "Requested Range Not Satisfiable",
    418: "I'm a teapot",
    422: "Unprocessable Entity",
}


def reason_phrase(status: int) -> str:
    """Return the reason phrase of a status as Go writes it; empty for an unknown status."""
    try:
        return _PHRASES.get(status) or HTTPStatus(status).phrase
    except ValueError:
        return ""


def to_http_error(error: BaseException, *, detailed: bool = True) -> HTTPError:
    """Return the error that the caller gets for what a handler raised.

    Args:
        error: The exception.
        detailed: Whether the text is included of an exception other than ``HTTPError``, and of an
            error of the connector itself.
    """
    if isinstance(error, HTTPError):
        if not error.stack and error.__traceback__ is not None:
            error.stack = stack_frames(error)
        return _for_others(error, detailed=detailed) if error._made_here else error
    if not detailed:
        return HTTPError("internal server error", status=500, stack=stack_frames(error))
    if isinstance(error, BusError):
        return HTTPError(str(error), status=error.status, stack=stack_frames(error))
    return HTTPError(described(error), status=500, stack=stack_frames(error))


def described(error: BaseException) -> str:
    """Return the text of an exception, after its type where the text alone says too little."""
    text, kind = str(error), type(error).__name__
    if not text:
        return kind
    return f"{kind}: {text}" if isinstance(error, LookupError) else text


def answered(error: HTTPError, request: str) -> HTTPError:
    """Mark an error as the answer to a request, which the log of the caller then names."""
    error._answered = request
    return error


def made_here(error: SubtrieError) -> SubtrieError:
    """Mark the error of a call as one of this connector, not the answer of a service."""
    if isinstance(error, HTTPError):
        error._made_here = True
    return error


def _for_others(error: HTTPError, *, detailed: bool) -> HTTPError:
    """Return what another service gets for an error of a call: its text names subjects and URLs."""
    status, text = error.status, error.message
    if isinstance(error, PublishRefused):  # this service may not; its caller may
        status = 500
    if not detailed:
        timeout = isinstance(error, AckTimeout | RequestTimeout)
        text = text.partition(":")[0] if timeout else reason_phrase(status).lower()
    return HTTPError(text, status=status, stack=error.stack)


def stack_frames(error: BaseException) -> list[dict[str, Any]]:
    """Return where an error was raised, innermost frame first, without the connector's frames."""
    frames: list[dict[str, Any]] = []
    step = error.__traceback__
    while step is not None:
        code, module = step.tb_frame.f_code, _module_of(step.tb_frame.f_globals)
        if module.partition(".")[0] not in _OMITTED_PACKAGES:
            file = _module_relative(module, code.co_filename)
            frames.append({"func": code.co_name, "file": file, "line": step.tb_lineno or 0})
        step = step.tb_next
    return frames[: -_SHOWN_FRAMES - 1 : -1]


def users_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback of an exception without the connector's frames."""
    steps = []
    step = error.__traceback__
    while step is not None:
        if _module_of(step.tb_frame.f_globals).partition(".")[0] not in _OMITTED_PACKAGES:
            steps.append(step)
        step = step.tb_next
    found: TracebackType | None = None
    for step in reversed(steps):
        found = TracebackType(found, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return found


def _module_of(names: dict[str, Any]) -> str:
    """Return the dotted name of a module from its globals; empty if it has none."""
    name = names.get("__name__")
    if name == "__main__":  # run by ``python -m``: the import system knows the name
        name = getattr(names.get("__spec__"), "name", None)
    return name if isinstance(name, str) else ""


def _module_relative(module: str, path: str) -> str:
    """Return a path that begins with the package: ``shop/orders.py``, not where it is installed."""
    file, packages = os.path.basename(path), module.split(".")
    if file != "__init__.py":
        packages.pop()
    return "/".join((*packages, file))


def error_body(error: HTTPError, *, indent: bool) -> bytes:
    """Return the JSON of an error, with a final line feed."""
    fields: dict[str, Any] = dict(error.properties)
    fields["error"] = error.message or reason_phrase(error.status)
    fields["statusCode"] = error.status
    if error.stack:
        fields["stack"] = error.stack
    if error.trace:
        fields["trace"] = error.trace
    return go_json({"err": dict(sorted(fields.items()))}, indent=indent) + b"\n"


def read_error(body: bytes, status: int) -> HTTPError:
    """Return the error in a body, or a plain one with the status if it cannot be parsed.

    A 408 is a ``RequestTimeout``, wherever it arose. A 404 is an ``HTTPError``, not an
    ``AckTimeout``.
    """
    if not body and status in (204, 304):  # HTTP does not let them have one
        return HTTPError(status=status)
    try:
        parsed = json.loads(body)["err"]
        fields = dict(parsed)
    except (ValueError, TypeError, KeyError, RecursionError):
        return HTTPError(
            "unparsable error response", status=status if 400 <= status <= 999 else 500
        )
    message, code = fields.pop("error", ""), fields.pop("statusCode", 0)
    trace, stack = fields.pop("trace", ""), fields.pop("stack", [])
    number = isinstance(code, int) and 200 <= code <= 999
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
    """Encode JSON as Go does: compact or indented by two; ``<``, ``>`` and ``&`` escaped."""
    text = json.dumps(
        value,
        ensure_ascii=False,
        indent=2 if indent else None,
        separators=(",", ": " if indent else ":"),
    )
    return text.translate(_GO_ESCAPES).encode("utf-8", "replace")
