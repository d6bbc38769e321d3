"""Fixtures for the tests of services: ``pytest_plugins = ["subtrie.testing"]``.

``plane`` is derived from the id of the test, so that tests which run at the same time do not hear
each other (A26); ``connector`` makes connectors on it that need no broker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from .connector import Connector, FixedIds

__all__ = ["FixedIds", "connector", "plane"]


@pytest.fixture
def plane(request: pytest.FixtureRequest) -> str:
    """16 hexadecimal characters: what a connector that is given no plane takes in this test."""
    node = request.node.nodeid.encode("utf-8", "surrogateescape")
    return hashlib.sha256(node).hexdigest()[:16]


@pytest.fixture
def connector(plane: str) -> Callable[..., Connector]:
    """Makes connectors: ``connector("shop.example")``, with the arguments of ``Connector``.

    They are on the plane of the test and short circuit only, unless told otherwise. Start them
    with ``async with``.
    """

    def make(host: str, **options: Any) -> Connector:
        return Connector(host, **{"plane": plane, "nats": "", "deployment": "TESTING", **options})

    return make
