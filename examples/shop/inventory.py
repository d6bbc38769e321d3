"""inventory: goods in stock, in two replicas with one queue and two localities."""

from __future__ import annotations

from typing import Any

from subtrie.connector import Connector

GOODS = ("anvil", "bell", "candle", "drum")


def inventory(**where: Any) -> Connector:
    """Make one replica; ``where`` is its plane, its broker and its locality."""
    connector = Connector("inventory.shop", **where)
    reserved: dict[tuple[str, str], int] = {}

    @connector.endpoint("GET", "/stock/{thing}")
    async def stock(thing: str) -> dict[str, Any]:
        aside = sum(pieces for (of, _), pieces in reserved.items() if of == thing)
        return {"thing": thing, "from": connector.locality, "reserved": aside}

    @connector.endpoint("PUT", "/stock/{thing}/reserved/{order}")
    async def reserve(thing: str, order: str, pieces: int) -> None:
        reserved[thing, order] = pieces

    @connector.endpoint("DELETE", "/stock/{thing}/reserved/{order}")
    async def release(thing: str, order: str) -> None:
        reserved.pop((thing, order), None)

    @connector.endpoint("GET", "/pictures/{file...}")
    async def picture(file: str) -> str:
        return f"a picture: {file}"

    return connector
