"""inventory: what is in stock, in two replicas that share a queue and stand in two localities."""

from __future__ import annotations

from typing import Any

from .message import Request
from .service import Service, endpoint

GOODS = ("anvil", "bell", "candle", "drum")


class Inventory(Service):
    host = "inventory.shop"

    def __init__(self, plane: str, *, id: str, locality: str) -> None:
        super().__init__(plane, id=id, locality=locality)
        self.reserved: dict[tuple[str, str], int] = {}

    @endpoint("GET", "/stock/{thing}")
    async def stock(self, request: Request) -> Any:
        return {"thing": request.arguments["thing"], "from": self.locality}

    @endpoint("PUT", "/stock/{thing}/reserved/{order}")
    async def reserve(self, request: Request) -> None:
        self.reserved[request.arguments["thing"], request.arguments["order"]] = request.body

    @endpoint("DELETE", "/stock/{thing}/reserved/{order}")
    async def release(self, request: Request) -> None:
        self.reserved.pop((request.arguments["thing"], request.arguments["order"]), None)

    @endpoint("GET", "/pictures/{file...}")
    async def picture(self, request: Request) -> Any:
        return f"a picture: {request.arguments['file']}"
