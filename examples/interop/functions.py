"""Functions of every shape of arguments and results, as a service and as typed calls.

``peer function --to HOST NAME ARGUMENTS`` calls one of them by its name here.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from subtrie.connector import Call, Client, Connector


@dataclass
class Item:
    """An argument and a result."""

    name: str = ""
    number: int = 0


@dataclass
class Mixed:
    """Two named results: a number and an object."""

    count: int
    item: Item


@dataclass
class Lookup:
    """The results of ``GET /lookup``."""

    item: Item
    limit: int
    at: datetime
    wait: timedelta


@dataclass
class Kinds:
    """The results of ``POST /kinds``: types that JSON does not have."""

    at: datetime
    wait: timedelta
    raw: bytes
    names: list[str] = field(default_factory=list)
    ages: dict[str, int] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    other: Item | None = None


@dataclass
class Kept:
    """The results of ``PUT /keep/{key}``."""

    key: str
    item: Item


@dataclass
class Stored:
    """A whole body and a status."""

    http_response_body: Item
    http_status_code: int = 200


def serve_functions(connector: Connector) -> None:
    """Add the functions to a service."""

    @connector.endpoint("POST", "/one", result="item")
    async def one(item: Item) -> Item:
        return item

    @connector.endpoint("POST", "/join", result="item")
    async def join(first: Item, second: Item) -> Item:
        return Item(first.name + second.name, first.number + second.number)

    @connector.endpoint("POST", "/mixed")
    async def mixed(count: int, item: Item) -> Mixed:
        return Mixed(count, item)

    @connector.endpoint("GET", "/lookup")
    async def lookup(item: Item, limit: int, at: datetime, wait: timedelta) -> Lookup:
        return Lookup(item, limit, at, wait)

    @connector.endpoint("POST", "/kinds")
    async def kinds(
        at: datetime,
        wait: timedelta,
        raw: bytes,
        names: list[str],
        ages: dict[str, int],
        items: list[Item],
        other: Item | None,
    ) -> Kinds:
        return Kinds(at, wait, raw, names, ages, items, other)

    @connector.endpoint("PUT", "/keep/{key}")
    async def keep(key: str, item: Item) -> Kept:
        return Kept(key, item)

    @connector.endpoint("PUT", "/store/{key}")
    async def store(key: str, http_request_body: Item, dry: bool = False) -> Stored:
        stored = Item(key + http_request_body.name, http_request_body.number)
        return Stored(stored, 202 if dry else 201)

    @connector.endpoint("GET", "/double/{n}", result="result")
    async def double(n: int) -> int:
        return 2 * n

    @connector.endpoint("GET", "/names", result="http_response_body")
    async def names() -> list[str]:
        return ["a", "b"]

    @connector.endpoint("GET", "/list", result="l")
    async def numbers(l: list[int]) -> list[int]:  # noqa: E741 - a name with one letter
        return l


def calls(host: str) -> dict[str, Call[..., Any]]:
    """Return the typed calls of the functions by name.

    Args:
        host: The host that serves them.
    """
    client = Client(host)

    async def one(item: Item) -> Item: ...
    async def join(first: Item, second: Item) -> Item: ...
    async def mixed(count: int, item: Item) -> Mixed: ...
    async def lookup(item: Item, limit: int, at: datetime, wait: timedelta) -> Lookup: ...
    async def kinds(
        at: datetime,
        wait: timedelta,
        raw: bytes,
        names: list[str],
        ages: dict[str, int],
        items: list[Item],
        other: Item | None,
    ) -> Kinds: ...
    async def keep(key: str, item: Item) -> Kept: ...
    async def store(key: str, http_request_body: Item, dry: bool = False) -> Stored: ...
    async def double(n: int) -> int: ...
    async def names() -> list[str]: ...
    async def numbers(l: list[int]) -> list[int]: ...  # noqa: E741 - a name with one letter

    return {
        "one": client.call("POST", "/one", result="item")(one),
        "join": client.call("POST", "/join", result="item")(join),
        "mixed": client.call("POST", "/mixed")(mixed),
        "lookup": client.call("GET", "/lookup")(lookup),
        "kinds": client.call("POST", "/kinds")(kinds),
        "keep": client.call("PUT", "/keep/{key}")(keep),
        "store": client.call("PUT", "/store/{key}")(store),
        "double": client.call("GET", "/double/{n}", result="result")(double),
        "names": client.call("GET", "/names", result="http_response_body")(names),
        "list": client.call("GET", "/list", result="l")(numbers),
    }


#: The name of the single result of each function that has one.
RESULTS = {"one": "item", "join": "item", "double": "result", "names": "httpResponseBody"} | {
    "list": "l"
}
