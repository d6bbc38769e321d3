"""Steps around every handler but the control plane's; a throttle per caller stands on them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from .._http.message import Request

CallNext = Callable[[Request], Awaitable[Any]]
Middleware = Callable[[Request, CallNext], Awaitable[Any]]


def around(steps: Iterable[Middleware], call: CallNext) -> CallNext:
    """The call with the steps around it, the first of them outermost."""
    for step in reversed(tuple(steps)):
        call = _around(step, call)
    return call


def _around(step: Middleware, call_next: CallNext) -> CallNext:
    async def call(request: Request) -> Any:
        return await step(request, call_next)

    return call
