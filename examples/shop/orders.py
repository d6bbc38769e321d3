"""orders: accepts an order once its goods are reserved and paid for, and publishes an event."""

from __future__ import annotations

from typing import Any

from subtrie.connector import Connector, HTTPError

from .apis import Order, Placed, inventory, payments, placed


def orders(**where: Any) -> Connector:
    """Make the service, which calls inventory and payments."""
    connector = Connector("orders.shop", **where)
    kept: dict[str, Order] = {}

    @connector.endpoint("POST", "/orders", result="order")
    async def place(order: Order) -> Order:
        await inventory.reserve(connector, order.thing, order.id, order.pieces)
        try:
            await payments.charge(connector, order)
        except HTTPError:
            await inventory.release(connector, order.thing, order.id)
            raise
        kept[order.id] = order
        await connector.trigger(placed, Placed(order))
        return order

    @connector.endpoint("GET", "/orders/{id}")
    async def show(id: str) -> Order:
        if id not in kept:
            raise HTTPError("no such order", status=404)
        return kept[id]

    @connector.endpoint("POST", "/orders/{id}/returned")
    async def give_back(id: str) -> None:
        # No customer of the demo does this, so the audit shows the call as never made.
        await payments.refund(connector, id)

    return connector
