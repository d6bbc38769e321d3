"""So many requests a second for each caller, and no more: 429 for the rest (A71).

A bucket of tokens for each verified source, never for what a header claims; the same object sees
the same on both transports. ``connector.middleware(RateLimiter(50))`` is all it takes.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .._errors import HTTPError
from .._http.message import Request
from .middleware import CallNext

_CALLERS = 65_536


class RateLimiter:
    """Middleware: ``rate`` requests a second for each caller, ``burst`` at once (as ``rate``).

    A connector may share one with others. ``clock`` counts seconds. Buckets of at most 65,536
    callers are kept; who is forgotten begins with a full one. Raises ``ValueError`` for a rate or
    a burst that lets nothing through.
    """

    def __init__(
        self,
        rate: float,
        *,
        burst: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rate, self.burst = float(rate), float(max(rate, 1.0) if burst is None else burst)
        if not self.rate > 0 or not self.burst >= 1:
            raise ValueError("a throttle needs a rate above 0 and a burst of at least 1")
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, when
        self._lock = threading.Lock()  # connectors of several loops may share it

    def admit(self, source: str) -> float:
        """Takes one token of a caller: 0, or the seconds until there is one again."""
        now = self._clock()
        with self._lock:
            tokens, then = self._buckets.pop(source, (self.burst, now))
            tokens = min(self.burst, tokens + max(now - then, 0.0) * self.rate)
            wait = 0.0 if tokens >= 1 else (1 - tokens) / self.rate
            self._buckets[source] = (tokens if wait else tokens - 1, now)
            if len(self._buckets) > _CALLERS:
                self._buckets.popitem(last=False)
        return wait

    async def __call__(self, request: Request, call_next: CallNext) -> Any:
        """Lets a request through, or refuses it: ``HTTPError`` 429 with ``retryAfter`` seconds."""
        wait = self.admit(request.source)
        if wait:
            raise HTTPError(
                "too many requests", status=429, properties={"retryAfter": round(wait, 3)}
            )
        return await call_next(request)
