"""Rate limiting by caller with token buckets; further requests are answered with 429.

There is one bucket for each verified source, never for a host that a header claims. The limit is
shared between both transports: ``connector.middleware(RateLimiter(50))``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from . import _system
from ._errors import HTTPError
from ._message import Request

# A71

_MAX_CALLERS = 65_536  # buckets kept; bounds the memory when sources are many


class RateLimiter:
    """Middleware that limits the requests of each caller.

    Buckets of the latest 65,536 callers are kept; a forgotten caller begins with a full one. One
    object may be shared by several connectors.

    Args:
        rate: Requests a second for each caller.
        burst: Requests at once; ``rate`` by default, at least 1.
        clock: A clock in seconds.

    Raises:
        ValueError: The rate or the burst would admit no request.
    """

    def __init__(
        self,
        rate: float,
        *,
        burst: float | None = None,
        clock: Callable[[], float] = lambda: _system.monotonic(),
    ) -> None:
        self.rate, self.burst = float(rate), float(max(rate, 1.0) if burst is None else burst)
        if not self.rate > 0 or not self.burst >= 1:
            raise ValueError("the rate must be above 0 and the burst at least 1")
        self._clock = clock
        #: By caller: tokens, and the time of their count.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = _system.lock()  # connectors of several loops may share it

    def admit(self, source: str) -> float:
        """Take a token of a caller; return 0, or the seconds until there is one."""
        now = self._clock()
        with self._lock:
            tokens, then = self._buckets.pop(source, (self.burst, now))
            tokens = min(self.burst, tokens + max(now - then, 0.0) * self.rate)
            wait = 0.0 if tokens >= 1 else (1 - tokens) / self.rate
            self._buckets[source] = (tokens if wait else tokens - 1, now)
            if len(self._buckets) > _MAX_CALLERS:
                self._buckets.popitem(last=False)
        return wait

    async def __call__(self, request: Request, call_next: CallNext) -> Any:
        """Pass a request on, or raise ``HTTPError`` 429 with ``retryAfter`` in seconds."""
        wait = self.admit(request.source)
        if wait:
            raise HTTPError(
                "too many requests", status=429, properties={"retryAfter": round(wait, 3)}
            )
        return await call_next(request)


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
