"""The request being handled, as a context variable: its own calls inherit from it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple

from .headers import Headers


class RequestContext(NamedTuple):
    """Headers, call depth and deadline (on the loop's clock) of the request in progress."""

    headers: Headers
    depth: int
    deadline: float


#: The context of the request that the running task handles, or None.
current_request: ContextVar[RequestContext | None] = ContextVar("subtrie_inbound", default=None)

_FORWARDED = ("Accept-Language", "Microbus-Actor")
_FORWARDED_BY_PREFIX = ("X-Forwarded-", "Microbus-Baggage-")


def forwarded_headers(headers: Headers) -> dict[str, list[str]]:
    """Return the headers that are forwarded to nested calls."""
    return {
        name: values
        for name, values in headers._values.items()
        if name in _FORWARDED or name.startswith(_FORWARDED_BY_PREFIX)
    }
