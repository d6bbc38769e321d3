"""What the services offer each other: calls with names, and the event of an order.

A stub says method, route, arguments and answer once; whoever asks calls it as a function.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from subtrie.connector import Client, Event


@dataclass
class Order:
    """What a customer wants."""

    id: str
    thing: str
    pieces: int


placed = Event("orders.shop", "/on-placed")

inventory = Client("inventory.shop")
ledger = Client("ledger.shop")
orders = Client("orders.shop")
payments = Client("payments.shop")
token = Client("token.shop")


@inventory.call("PUT", "/stock/{thing}/reserved/{order}")
async def reserve(thing: str, order: str, pieces: int) -> None:
    """Puts goods aside."""


@inventory.call("DELETE", "/stock/{thing}/reserved/{order}")
async def release(thing: str, order: str) -> None:
    """Puts them back."""


@ledger.call("POST", "/accounts/{account}/{entry}")
async def enter(account: str, entry: str, pieces: int) -> None:
    """Makes an entry."""


@ledger.call("GET", "/accounts")
async def accounts() -> dict[str, list[str]]:
    """The entries of every account."""


@orders.call("POST", "/orders")
async def place(order: Order) -> Order:
    """Places an order."""


@orders.call("GET", "/orders/{id}")
async def show(id: str) -> dict[str, Any]:
    """An order that was placed."""


@payments.call("POST", "/charges")
async def charge(order: Order) -> str:
    """Charges the customer; 402 where the card says no."""


@token.call("POST", ":666/mint")
async def mint(order: str) -> str:
    """A token, for payments only."""
