"""The shop in motion: starts the services, lets customers in, adds what is wrong, adds up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from random import Random

from .inventory import Inventory
from .ledger import Ledger
from .orders import Orders
from .payments import Payments
from .service import Service
from .tally import Tally
from .tokens import Token
from .web import Web
from .wrong import chatter, mumble, pretend

PLANE = "shop"
CUSTOMERS_PER_SECOND = 30


def staff(plane: str) -> tuple[Service, ...]:
    """The six services; inventory twice, on two coasts."""
    return (
        Token(plane, id="id-token1"),
        Ledger(plane, id="id-ledger1"),
        Payments(plane, id="id-payments1"),
        Inventory(plane, id="id-stock1", locality="us-west-b-1"),
        Inventory(plane, id="id-stock2", locality="us-east-a-1"),
        Orders(plane, id="id-orders1"),
        Web(plane, id="id-web1"),
    )


async def run(
    url: str,
    *,
    seconds: float,
    seed: int = 1,
    plane: str = PLANE,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Tally:
    """Runs the shop for about ``seconds`` and returns what its services counted.

    The same seed and duration ask the same questions, whatever the speed of the machine.
    """
    services = staff(plane)
    *_, ledger, payments, stock, _, orders, web = services
    assert isinstance(web, Web)
    customers = max(1, round(seconds * CUSTOMERS_PER_SECOND))
    done = 0

    async def visit(customer: int) -> None:
        nonlocal done
        dice = Random(f"{seed}-{customer}")
        await asyncio.sleep(seconds * customer / customers)
        await web.visit(customer, dice)
        if customer % 10 == 0:
            await web.mistake(dice)
            await mumble(orders)
            await chatter(ledger)
        if customer % 25 == 0:
            await pretend(stock, victim=payments.host)
        done += 1
        progress(done, customers)

    async with AsyncExitStack() as started:
        for service in services:
            await service.start(url)
            started.push_async_callback(service.leave)
        async with asyncio.TaskGroup() as visitors:
            for customer in range(customers):
                visitors.create_task(visit(customer))
        # Everything published has reached the server, then everything delivered has reached us.
        for _ in range(2):
            for service in services:
                await service.settle()
        for service in services:
            await service.stop()
    return sum((service.tally for service in services), Tally())
