"""The main function of a program that runs connectors."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Iterable

from .._core.errors import BusError
from . import _settings
from ._broker.errors import refuses_credentials
from ._connector import Connector

logger = logging.getLogger("subtrie.connector")

_STARTUP_LIMIT = 120.0  # seconds
#: How records are written if the program has not set up logging.
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


async def serve(*connectors: Connector) -> None:
    """Start connectors together, wait for SIGINT or SIGTERM, and stop them in reverse order.

    A configurator starts before the others.
    A broker that cannot be reached yet is waited for, until ``MICROBUS_STARTUP_TIME_BUDGET``
    (120 s) has passed. If one connector cannot start, the others are stopped.

    Raises:
        BusError: A connector is running already, has no transport, or its creds are refused.
        ConnectionError: The broker cannot be reached, or refuses the connection.
        TimeoutError: The start took longer than ``MICROBUS_STARTUP_TIME_BUDGET``.
    """
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # the event loop does not support signal handlers
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    try:
        await _until(stop, _start_all(connectors))
        for each in connectors:
            if not stop.is_set():
                warn_without_broker(each)
        await stop.wait()
    finally:
        for connector in reversed(connectors):
            await connector.shutdown()


async def _until(stop: asyncio.Event, work: Awaitable[None]) -> None:
    """Await work, but cancel it when the program is told to stop."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((working, stopping), return_when="FIRST_COMPLETED")
        if working.done():
            working.result()
    finally:
        for each in (working, stopping):
            each.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


async def _start_all(connectors: Iterable[Connector]) -> None:
    listed = list(connectors)
    limit = _settings.budget("MICROBUS_STARTUP_TIME_BUDGET", _STARTUP_LIMIT)
    for connector in (each for each in listed if each.host == "configurator.core"):
        await connector.startup(wait=limit)  # the others need its values
    starting = [
        asyncio.ensure_future(each.startup(wait=limit)) for each in listed if not each.running
    ]
    try:
        await asyncio.gather(*starting)
    finally:
        for each in starting:
            each.cancel()
        await asyncio.gather(*starting, return_exceptions=True)


def warn_without_broker(connector: Connector) -> None:
    """Log a warning if a connector reaches nothing outside of its process."""
    if connector._transport.nats is None:
        text = "%s: there is no broker, so only this process is reached (%s)"
        extra = {"service": connector.host}
        logger.warning(text, connector.host, _settings.WITHOUT_BROKER, extra=extra)


def log_to_stderr() -> None:
    """Write records from INFO on to standard error, if the program has not set up logging."""
    if not logger.hasHandlers():
        logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
        logging.getLogger("nats").setLevel(logging.CRITICAL)  # the connector reports what matters


def run(*connectors: Connector) -> None:
    """Run connectors in a new event loop until SIGINT or SIGTERM.

    If the program has not set up logging, records from INFO on are written to standard error.

    Raises:
        SystemExit: They cannot start (1); the log has the reason in one line.
    """
    log_to_stderr()
    try:
        asyncio.run(serve(*connectors))
    except (BusError, ConnectionError, TimeoutError) as error:
        # Some errors are of one service; those of the connection, of all of them.
        hosts = ", ".join(each.host for each in connectors) + ": "
        if str(error).startswith(tuple(f"{each.host}: " for each in connectors)):
            hosts = ""
        logger.error("%s%s%s", hosts, error, missing_creds(error, connectors))
        raise SystemExit(1) from None


def missing_creds(error: BaseException, connectors: Iterable[Connector]) -> str:
    """Return which creds files were looked for, if the broker wants some and none is there."""
    if not refuses_credentials(error):
        return ""
    names = [*(f"{each.host}_nats.creds" for each in connectors), "nats.creds"]
    if any(os.path.exists(name) for name in names):
        return ""
    return f"; no creds found: looked for {', '.join(names)} in {os.getcwd()}"
