"""payments: charges a customer with a token of the trust root, and enters it in the ledger."""

from __future__ import annotations

from typing import Any

from .message import Refused, Request
from .service import Service, endpoint

MOST_PIECES = 7


class Payments(Service):
    host = "payments.shop"

    @endpoint("POST", "/charges")
    async def charge(self, request: Request) -> Any:
        order = request.body
        if order["pieces"] > MOST_PIECES:
            raise Refused(402, "the card says no")
        token = await self.request("POST", "https://token.shop:666/mint", {"for": order["id"]})
        entry = {"pieces": order["pieces"], "token": token}
        await self.request("POST", f"https://ledger.shop/accounts/sales/{order['id']}", entry)
        return token
