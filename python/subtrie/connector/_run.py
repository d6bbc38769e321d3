"""The main function of a program of connectors."""

from __future__ import annotations

import asyncio
import signal

from ._connector import Connector


async def serve(*connectors: Connector) -> None:
    """Starts them in order, waits for SIGINT or SIGTERM, stops them in reverse."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # this loop has no signals
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    started: list[Connector] = []
    try:
        for connector in connectors:
            await connector.startup()
            started.append(connector)
        await stop.wait()
    finally:
        for connector in reversed(started):
            await connector.shutdown()


def run(*connectors: Connector) -> None:
    """Runs connectors until the process is asked to end (SIGINT, SIGTERM)."""
    asyncio.run(serve(*connectors))
