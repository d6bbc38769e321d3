"""Pytest fixtures for the tests of services: ``pytest_plugins = ["subtrie.testing"]``.

``plane`` is derived from the id of the test, so that concurrent tests do not receive each other's
messages; ``connector`` makes connectors on it that need no broker.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from .connector import Connector, FixedIds

__all__ = ["FixedIds", "actor_token", "connector", "plane"]


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
