"""Shared by the tests of gencreds: the head of a source, and a short form of uses."""

from __future__ import annotations

from collections.abc import Iterable

from subtrie.gencreds import EndpointUse

HEAD = """\
from subtrie.connector import Client, Connector, Event, Request
orders = Connector("orders.shop")
"""


def said(uses: Iterable[EndpointUse]) -> list[str]:
    """Uses in short: ``GET stock.shop:443/items``."""
    return [f"{u.method} {u.host}:{'*' if u.port is None else u.port}{u.path}" for u in uses]
