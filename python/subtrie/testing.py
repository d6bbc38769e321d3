"""Pytest fixtures for the tests of services: ``pytest_plugins = ["subtrie.testing"]``.

``plane`` is derived from the id of the test, so that concurrent tests do not receive each other's
messages; ``connector`` makes connectors on it that need no broker.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from contextvars import Context
from dataclasses import dataclass
from typing import Any

try:
    import pytest
except ModuleNotFoundError as error:
    if error.name != "pytest":
        raise
    raise ImportError(
        "the fixtures of subtrie.testing need pytest: pip install pytest", name="pytest"
    ) from None

from .connector import Connector
from .connector import FixedIds as FixedIds  # for tests, beside the fixtures

__all__ = ["actor_token", "bus", "connector", "plane"]


@pytest.fixture
def plane(request: pytest.FixtureRequest) -> str:
    """Return 16 hexadecimal characters: the default plane of connectors in this test."""
    # A26
    node = request.node.nodeid.encode("utf-8", "surrogateescape")
    return hashlib.sha256(node).hexdigest()[:16]


@pytest.fixture
def connector(plane: str) -> Callable[..., Connector]:
    """Return a function that makes connectors: ``connector("shop.example")``.

    It takes the arguments of ``Connector``. By default the connectors are on the plane of the test
    and use no broker. Start them with ``async with``.
    """

    def make(host: str, **options: Any) -> Connector:
        return Connector(host, **{"plane": plane, "nats": "", "deployment": "TESTING", **options})

    return make


@pytest.fixture
def bus(plane: str) -> Callable[..., AbstractAsyncContextManager[Any]]:
    """Return a context manager that runs connectors on the plane of the test.

    Use it as ``async with bus(shop, stock):``.

    They may be connectors that a module made for another plane and a broker: for the length of the
    block they are on the plane of the test and use no broker, unless ``nats=`` gives one. Then
    their configuration values are what they were before.

    ``config={"shop.example": {"limit": "100"}}`` gives values that no other source overrides.
    ``async with bus(shop, clock=0) as clock:`` begins at that time, in seconds since the epoch:
    ``await clock.advance(60)`` runs the tickers that are due meanwhile, and nothing else does;
    ``clock()`` is the time, by which actor tokens expire, too.
    """

    @asynccontextmanager
    async def run(
        *connectors: Connector,
        nats: str = "",
        config: Mapping[str, Mapping[str, str]] | None = None,
        clock: float | None = None,
    ) -> AsyncIterator[_ManualClock | None]:
        values, hosts = config or {}, [each.host for each in connectors]
        if unknown := sorted(values.keys() - set(hosts)):
            raise ValueError(f"config= names {unknown[0]!r}; bus() runs {', '.join(hosts)}")
        manual = None if clock is None else _ManualClock(clock)
        async with AsyncExitStack() as stack:
            for each in connectors:
                given = values.get(each.host)
                stack.enter_context(each.moved(plane, nats=nats, config=given, clock=manual))
                await stack.enter_async_context(each)
            yield manual

    return run


class _ManualClock:
    """A clock that only ``advance`` moves."""

    def __init__(self, now: float) -> None:
        self._now = float(now)
        self._added: list[_Periodic] = []

    def __call__(self) -> float:
        """Return the seconds since the epoch."""
        return self._now

    def add(self, seconds: float, first: float, run: Callable[[], Awaitable[None]]) -> _Periodic:
        """Run a function periodically, first after ``first`` seconds."""
        self._added.append(_Periodic(self._now + first, seconds, run))
        return self._added[-1]

    def remove(self, added: object) -> None:
        """Run a function no longer."""
        self._added = [each for each in self._added if each is not added]

    async def advance(self, seconds: float = 0.0) -> None:
        """Let time pass: run what is due, one after the other, each at its time.

        Args:
            seconds: How many.

        Raises:
            Exception: What a ticker raised; the time is that of its run.
            ValueError: The seconds are negative.
        """
        if not 0 <= seconds < float("inf"):
            raise ValueError(f"a clock is advanced by 0 seconds or more, not {seconds!r}")
        end = self._now + seconds
        while self._added:
            first = min(self._added, key=lambda each: each.due)
            if first.due > end:
                break
            self._now = max(self._now, first.due)
            first.due += first.seconds
            await asyncio.get_running_loop().create_task(_whole(first.run), context=Context())
        self._now = max(self._now, end)  # a ticker may advance it, too


@dataclass(eq=False)
class _Periodic:
    due: float
    seconds: float
    run: Callable[[], Awaitable[None]]


async def _whole(run: Callable[[], Awaitable[None]]) -> None:
    await run()


def actor_token(claims: dict[str, Any]) -> str:
    """Return an unsigned actor token, which only the deployment TESTING accepts.

    Args:
        claims: The claims, which JSON can represent.
    """
    parts = ({"alg": "none", "typ": "JWT"}, claims)
    return ".".join(_encoded(part) for part in parts) + "."


def _encoded(value: dict[str, Any]) -> str:
    text = json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")
