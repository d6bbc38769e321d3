"""Pytest fixtures for the tests of services: ``pytest_plugins = ["subtrie.testing"]``.

``plane`` is derived from the id of the test, so that concurrent tests do not receive each other's
messages; ``connector`` makes connectors on it that need no broker.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

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
def bus(plane: str) -> Callable[..., AbstractAsyncContextManager[None]]:
    """Return a context manager that runs connectors on the plane of the test.

    Use it as ``async with bus(shop, stock):``.

    They may be connectors that a module made for another plane and a broker: for the length of the
    block they are on the plane of the test and use no broker, unless ``nats=`` gives one.
    """

    @asynccontextmanager
    async def run(*connectors: Connector, nats: str = "") -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for each in connectors:
                stack.enter_context(each.moved(plane, nats=nats))
                await stack.enter_async_context(each)
            yield

    return run


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
