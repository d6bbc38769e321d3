"""ledger: keeps accounts, and a note of every order that was placed."""

from __future__ import annotations

from typing import Any

from .message import Request
from .service import Service, endpoint


class Ledger(Service):
    host = "ledger.shop"

    def __init__(self, plane: str, *, id: str) -> None:
        super().__init__(plane, id=id)
        self.entries: list[tuple[str, str, Any]] = []

    @endpoint("POST", "/accounts/{account}/{entry}")
    async def enter(self, request: Request) -> None:
        arguments = request.arguments
        self.entries.append((arguments["account"], arguments["entry"], request.body))

    @endpoint("POST", "//orders.shop:417/on-placed")
    async def note(self, request: Request) -> None:
        self.entries.append(("orders", str(request.body["id"]), None))
