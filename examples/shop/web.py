"""web: the customers' side of the shop. It calls the others, and receives the event of an order."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Any

from subtrie.connector import AckTimeout, Connector, HTTPError

from .apis import Order, ledger, orders, placed
from .inventory import GOODS


def web(**where: Any) -> Connector:
    """Make the service; its event subscription has no queue, so every replica receives it."""
    connector = Connector("web.shop", **where)

    @connector.on(placed, queue=None)
    async def on_placed(order: Order) -> None:
        """Notify the customer (does nothing here)."""

    return connector


async def visit(connector: Connector, customer: int, dice: Random, seen: Counter[str]) -> None:
    """Act as one customer: look at a thing and its picture, order it, and look at the order.

    Args:
        connector: The connector that sends the requests.
        customer: The number of the customer.
        dice: The customer's random numbers.
        seen: Counts of what the customers saw.
    """
    thing = dice.choice(GOODS)
    if dice.random() < 0.5:  # by locality: any replica on the west coast
        near = "https://loc-us-west.inventory.shop/stock/{thing}"
        await connector.request("GET", near, params={"thing": thing})
    else:
        anyone = "https://inventory.shop/stock/{thing}"
        await connector.request("GET", anyone, params={"thing": thing})
    picture = {"file": f"{thing}/large.png"}
    await connector.request("GET", "https://inventory.shop/pictures/{file...}", params=picture)
    order = Order(f"order{customer}", thing, dice.randint(1, 9))
    try:
        await orders.place(connector, order)
        await orders.show(connector, order.id)
        seen["placed"] += 1
    except HTTPError as error:
        if error.status != 402:
            raise
        seen["declined"] += 1


async def request_unserved(connector: Connector, dice: Random, seen: Counter[str]) -> None:
    """Request a route, a method and a host that no service serves.

    Args:
        connector: The connector that sends the requests.
        dice: The customer's random numbers.
        seen: Counts of what the customers saw.
    """
    answers = await asyncio.gather(
        connector.request(
            "GET", "https://inventory.shop/stocks/{thing}", params={"thing": dice.choice(GOODS)}
        ),
        connector.request("DELETE", "https://orders.shop/orders/1"),
        connector.request("POST", "https://shipping.shop/labels"),
        return_exceptions=True,
    )
    for answer in answers:
        if not isinstance(answer, AckTimeout):
            raise AssertionError(f"a request without a handler was answered: {answer!r}")
        seen["unserved"] += 1


async def entries(connector: Connector) -> dict[str, int]:
    """Return the number of entries in each account of the ledger."""
    return {name: len(kept) for name, kept in (await ledger.accounts(connector)).items()}
