"""payments: charges a customer with a token of the trust root, and adds it to the ledger."""

from __future__ import annotations

from typing import Any

from subtrie.connector import Connector, HTTPError

from .apis import Order, ledger, token

MOST_PIECES = 7


def payments(**where: Any) -> Connector:
    """Make the service; a declined card is an error that travels back through every caller."""
    connector = Connector("payments.shop", **where)

    @connector.endpoint("POST", "/charges", result="token")
    async def charge(order: Order) -> str:
        if order.pieces > MOST_PIECES:
            raise HTTPError("the card is declined", status=402, properties={"most": MOST_PIECES})
        minted: str = await token.mint(connector, order.id)
        await ledger.enter(connector, "sales", order.id, order.pieces)
        return minted

    @connector.endpoint("POST", "/refunds/{order}")
    async def refund(order: str) -> None:
        """Refund the customer (does nothing here)."""

    return connector
