"""What a handler's own calls inherit from the request it handles."""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple

from .headers import Headers


class RequestContext(NamedTuple):
    """The request being handled: its headers, its depth, and when (on the loop's clock) it ends."""

    headers: Headers
    depth: int
    deadline: float


#: The request that the running task handles, or None.
current_request: ContextVar[RequestContext | None] = ContextVar("subtrie_inbound", default=None)

_PASSED_ON = ("Accept-Language", "Microbus-Actor")
_PASSED_ON_BY_PREFIX = ("X-Forwarded-", "Microbus-Baggage-")


def forwarded_headers(headers: Headers) -> dict[str, list[str]]:
    """The headers that travel along, and no others."""
    return {
        name: values
        for name, values in headers._values.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_BY_PREFIX)
    }
