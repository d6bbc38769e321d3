"""The main function of a program that runs connectors."""

from __future__ import annotations

import asyncio
import signal

from ._connector import Connector


async def serve(*connectors: Connector) -> None:
    """Start connectors in order, wait for SIGINT or SIGTERM, and stop them in reverse order."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # the event loop does not support signal handlers
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
    """Run connectors in a new event loop until SIGINT or SIGTERM."""
    asyncio.run(serve(*connectors))
