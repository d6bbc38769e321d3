"""Waiting for another task, thread or program.

The limit decides nothing: it is longer than a busy machine needs, and ends a test that would hang.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 60.0  # seconds


def wait_until(condition: Callable[[], object], what: str = "", seconds: float = PATIENCE) -> None:
    """Wait until a condition holds; it may itself assert that waiting makes sense."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what or "it never came to that"
        time.sleep(0.01)


async def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait until a condition holds, while the loop runs."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what or "it never came to that"
        await asyncio.sleep(0.005)


async def settled(client: Any) -> None:
    """Wait until the broker has processed what a client of nats-py sent.

    The PING of one ``flush`` is sent before what waits to be sent.
    """
    await client.flush(PATIENCE)
    await client.flush(PATIENCE)
