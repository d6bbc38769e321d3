"""web: what customers see. It asks the others, and hears when an order is placed."""

from __future__ import annotations

from contextlib import suppress
from random import Random

from .inventory import GOODS
from .message import Refused, Request
from .service import Service, endpoint


class Web(Service):
    host = "web.shop"
    locality_of_customers = "us-west"

    @endpoint("POST", "//orders.shop:417/on-placed", queue=False)
    async def on_placed(self, request: Request) -> None:
        """Would tell the customer."""

    async def visit(self, customer: int, dice: Random) -> None:
        """One customer: looks at a thing and its picture, buys it, and looks at the order."""
        thing = dice.choice(GOODS)
        near = f"loc-{self.locality_of_customers}.inventory.shop"
        await self.request("GET", f"https://{dice.choice((near, 'inventory.shop'))}/stock/{thing}")
        await self.request("GET", f"https://inventory.shop/pictures/{thing}/large.png")
        order = {"id": customer, "thing": thing, "pieces": dice.randint(1, 9)}
        try:
            await self.request("POST", "https://orders.shop/orders", order)
        except Refused as refused:
            if refused.status != 402:
                raise
        else:
            await self.request("GET", f"https://orders.shop/orders/{customer}")

    async def mistake(self, dice: Random) -> None:
        """Asks for what nobody serves: a route, a method and a host that are not there."""
        thing = dice.choice(GOODS)
        for method, url in (
            ("GET", f"https://inventory.shop/stocks/{thing}"),
            ("DELETE", "https://orders.shop/orders/1"),
            ("POST", "https://shipping.shop/labels"),
        ):
            with suppress(Refused):
                await self.request(method, url, wait=0.4)
