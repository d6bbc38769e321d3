"""web: what customers see. It asks the others, and hears when an order is placed."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Any

from subtrie.connector import AckTimeout, Connector, HTTPError

from .apis import Order, ledger, orders, placed
from .inventory import GOODS


def web(**where: Any) -> Connector:
    """Hears the event without a queue: every replica would."""
    connector = Connector("web.shop", **where)

    @connector.on(placed, queue=None)
    async def on_placed(order: Order) -> None:
        """Would tell the customer."""

    return connector


async def visit(connector: Connector, customer: int, dice: Random, seen: Counter[str]) -> None:
    """One customer: looks at a thing and its picture, buys it, and looks at the order."""
    thing = dice.choice(GOODS)
    if dice.random() < 0.5:  # this one asks the west coast, whichever replica that is
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
    """Asks for what nobody serves: a route, a method and a host that are not there."""
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
            raise AssertionError(f"somebody served a mistake: {answer!r}")
        seen["unserved"] += 1


async def entries(connector: Connector) -> dict[str, int]:
    """How many entries each account of the ledger has."""
    return {name: len(kept) for name, kept in (await ledger.accounts(connector)).items()}
