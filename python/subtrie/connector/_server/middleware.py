"""Middleware: functions around every handler except the control plane's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from .._http.message import Request

CallNext = Callable[[Request], Awaitable[Any]]
Middleware = Callable[[Request, CallNext], Awaitable[Any]]


def around(steps: Iterable[Middleware], call: CallNext) -> CallNext:
    """Return a call wrapped in middleware, the first step outermost."""
    for step in reversed(tuple(steps)):
        call = _around(step, call)
    return call


def _around(step: Middleware, call_next: CallNext) -> CallNext:
    async def call(request: Request) -> Any:
        return await step(request, call_next)

    return call
