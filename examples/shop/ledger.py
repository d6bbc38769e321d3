"""ledger: accounts, and an entry for every order that was placed."""

from __future__ import annotations

from typing import Any

from subtrie.connector import Connector

from .apis import Order, placed


def ledger(**where: Any) -> Connector:
    """Make the service: two path arguments, and an event received through its queue."""
    connector = Connector("ledger.shop", **where)
    entries: dict[str, list[str]] = {"sales": [], "orders": []}

    @connector.endpoint("POST", "/accounts/{account}/{entry}")
    async def enter(account: str, entry: str, pieces: int) -> None:
        entries[account].append(f"{entry}: {pieces}")

    @connector.endpoint("GET", "/accounts")
    async def accounts() -> dict[str, list[str]]:
        return {account: sorted(kept) for account, kept in entries.items()}

    @connector.on(placed)
    async def note(order: Order) -> None:
        entries["orders"].append(order.id)

    return connector
