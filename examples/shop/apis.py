"""The interfaces of the services: typed clients, and the event of an order.

Each function declares the method, the route, the arguments and the result of an endpoint once.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from subtrie.connector import Client, Event


@dataclass
class Order:
    """An order of a customer."""

    id: str
    thing: str
    pieces: int


@dataclass
class Placed:
    """The arguments of the event of an order."""

    order: Order


placed = Event[Placed]("orders.shop", "/on-placed")

inventory = Client("inventory.shop")
ledger = Client("ledger.shop")
orders = Client("orders.shop")
payments = Client("payments.shop")
token = Client("token.shop")


@inventory.call("PUT", "/stock/{thing}/reserved/{order}")
async def reserve(thing: str, order: str, pieces: int) -> None:
    """Reserve goods for an order."""


@inventory.call("DELETE", "/stock/{thing}/reserved/{order}")
async def release(thing: str, order: str) -> None:
    """Release the goods reserved for an order."""


@ledger.call("POST", "/accounts/{account}/{entry}")
async def enter(account: str, entry: str, pieces: int) -> None:
    """Add an entry to an account."""


@ledger.call("GET", "/accounts")
async def accounts() -> dict[str, list[str]]:
    """Return the entries of every account."""


@orders.call("POST", "/orders", result="order")
async def place(order: Order) -> Order:
    """Place an order."""


@orders.call("GET", "/orders/{id}")
async def show(id: str) -> dict[str, Any]:
    """Return an order that was placed."""


@payments.call("POST", "/charges", result="token")
async def charge(order: Order) -> str:
    """Charge the customer; 402 if the card is declined."""


@payments.call("POST", "/refunds/{order}")
async def refund(order: str) -> None:
    """Refund the customer."""


@token.call("POST", ":666/mint", result="token")
async def mint(order: str) -> str:
    """Return a token; only payments may call it."""
