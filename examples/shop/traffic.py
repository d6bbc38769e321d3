"""Running the shop: services, customers and faulty traffic, and the sum of all counts.

The services are the same wherever they run: in one process, where every call is in process and
there is no broker; in six processes, where every message is on the bus; or mixed.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

from subtrie.connector import Connector

from .broker import sign_in
from .counters import Counters
from .faults import connection, publish_malformed, publish_other_traffic, publish_spoofed
from .services import OTHER_PROCESSES, PLANE, SERVICES, replicas
from .web import entries, request_unserved, visit

CUSTOMERS_PER_SECOND = 30
START_LIMIT = 60.0  # seconds
ROOT = Path(__file__).resolve().parents[2]


async def run(
    url: str,
    *,
    how: str = "six",
    seconds: float,
    seed: int = 1,
    plane: str = PLANE,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> tuple[Counters, Counter[str]]:
    """Run the shop for about ``seconds``.

    The same seed and duration send the same requests, wherever the services run.

    Args:
        url: The broker's URL; empty for none, and then there is no faulty traffic.
        how: ``one``, ``six`` or ``mixed``: the processes of the services.
        seconds: For how long customers arrive.
        seed: The seed of the random customers.
        plane: The plane.
        progress: Called with the numbers of customers served and expected.

    Returns:
        What the services counted, and what the customers saw.
    """
    counters, seen = Counters(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as open_shop:
            away = OTHER_PROCESSES[how]
            for number, hosts in enumerate(away):
                counts = Path(folder) / f"{number}.json"
                await open_shop.enter_async_context(_process(url, plane, hosts, counts))
            here = [host for host in SERVICES if not any(host in hosts for hosts in away)]
            connectors = [
                connector
                for host in here
                for connector in replicas(host, plane=plane, nats=url and sign_in(url, host))
            ]
            counters.watch(*connectors)
            for connector in connectors:
                await open_shop.enter_async_context(connector)
            await _wait_until_ready(connector)
            await _run_customers(connector, seconds, seed, seen, progress)
            if url:
                await _inject_faults(
                    url, plane, round(seconds * CUSTOMERS_PER_SECOND / 10), counters
                )
            seen.update(await entries(connector))
            # A connector that responds has read what was sent to it before.
            await _wait_until_ready(connector)
            await _wait_until_ready(connector)
        for number in range(len(away)):
            counters += Counters.load(Path(folder) / f"{number}.json")
    return counters + Counters(), seen  # adding drops counts of zero


@asynccontextmanager
async def _process(
    url: str, plane: str, hosts: tuple[str, ...], counts: Path
) -> AsyncIterator[None]:
    """Run services in a process of their own, which writes its counts when it ends."""
    command = ["-m", "examples.shop.serve", *hosts, "--nats", url, "--plane", plane]
    # In a session of its own, so that Ctrl-C reaches this process only, which stops it in order.
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *command, "--child", str(counts)),
        cwd=ROOT,
        stdin=PIPE,
        start_new_session=True,
    )
    try:
        yield
    finally:
        await asyncio.shield(_end(process))


async def _end(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.close()  # it ends when its standard input closes
    try:
        await asyncio.wait_for(process.wait(), 30)
    except TimeoutError:
        process.kill()
        await process.wait()


async def _wait_until_ready(connector: Connector) -> None:
    """Wait until all replicas respond to the control plane's ping."""
    expected = sum(len(replicas(host, nats="")) for host in SERVICES)
    async with asyncio.timeout(START_LIMIT):
        while True:
            pings = connector.publish("GET", "https://all:888/ping")
            if len({answer.id async for answer in pings}) == expected:
                return
            await asyncio.sleep(0.05)


async def _run_customers(
    connector: Connector,
    seconds: float,
    seed: int,
    seen: Counter[str],
    progress: Callable[[int, int], None],
) -> None:
    customers, done = max(1, round(seconds * CUSTOMERS_PER_SECOND)), 0

    async def customer(number: int) -> None:
        nonlocal done
        dice = Random(f"{seed}-{number}")
        await asyncio.sleep(seconds * number / customers)
        await visit(connector, number, dice, seen)
        if number % 10 == 0:
            await request_unserved(connector, dice, seen)
        done += 1
        progress(done, customers)

    async with asyncio.TaskGroup() as visitors:
        for number in range(customers):
            visitors.create_task(customer(number))


async def _inject_faults(url: str, plane: str, times: int, counters: Counters) -> None:
    """Publish faulty traffic as three services, each on a connection of its own."""
    async with (
        connection(sign_in(url, "orders.shop"), "orders.shop") as orders,
        connection(sign_in(url, "ledger.shop"), "ledger.shop") as ledger_client,
        connection(sign_in(url, "inventory.shop"), "inventory.shop") as inventory,
    ):
        for number in range(max(1, times)):
            await publish_malformed(orders, counters, plane=plane, host="orders.shop")
            await publish_other_traffic(ledger_client, counters)
            if number % 3 == 0:
                await publish_spoofed(
                    inventory, counters, plane=plane, host="inventory.shop", victim="payments.shop"
                )
