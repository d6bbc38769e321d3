"""orders: takes an order once its goods are reserved and paid for, and says so to all."""

from __future__ import annotations

from typing import Any

from .message import Refused, Request
from .service import Service, endpoint


class Orders(Service):
    host = "orders.shop"

    def __init__(self, plane: str, *, id: str) -> None:
        super().__init__(plane, id=id)
        self.placed: dict[str, Any] = {}

    @endpoint("POST", "/orders")
    async def place(self, request: Request) -> Any:
        order = request.body
        reserved = f"https://inventory.shop/stock/{order['thing']}/reserved/{order['id']}"
        await self.request("PUT", reserved, order["pieces"])
        try:
            await self.request("POST", "https://payments.shop/charges", order)
        except Refused:
            await self.request("DELETE", reserved)
            raise
        self.placed[str(order["id"])] = order
        await self.fire("POST", "https://orders.shop:417/on-placed", order)
        return order

    @endpoint("GET", "/orders/{id}")
    async def show(self, request: Request) -> Any:
        try:
            return self.placed[request.arguments["id"]]
        except KeyError:
            raise Refused(404, "no such order") from None
