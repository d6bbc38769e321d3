"""The shop on connectors: in one process, as six processes over NATS, or mixed.

    python -m examples.shop.connected [--how one|six|mixed] [--customers 20]

The services are the same in all three; only where they run differs, and so does nothing they say.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subtrie.connector import Client, Connector, Event, HTTPError, Request, serve

from .broker import running

PLANE = "shop"
GOODS = ("anvil", "bell", "candle", "drum")
MOST_PIECES = 7
START_LIMIT = 30.0  # seconds

placed = Event("orders.shop", "/on-placed")
orders_api = Client("orders.shop")


@dataclass
class Order:
    """What a customer wants."""

    id: str
    thing: str
    pieces: int


@orders_api.call("POST", "/orders")
async def place(order: Order) -> Order:  # type: ignore[empty-body]
    """Places an order."""


def token(connector: Connector) -> None:
    """The trust root: mints for payments and for nobody else."""

    @connector.endpoint("POST", ":666/mint")
    async def mint(request: Request, order: str) -> str:
        if request.source != "payments.shop":
            raise HTTPError(f"{request.source} may not mint", status=403)
        return f"token-{order}"


def ledger(connector: Connector) -> None:
    """Keeps accounts, and a note of every order that was placed."""
    entries: dict[str, list[str]] = {"sales": [], "orders": []}

    @connector.endpoint("POST", "/accounts/{account}/{entry}")
    async def enter(account: str, entry: str) -> None:
        entries[account].append(entry)

    @connector.on(placed)
    async def note(order: Order) -> None:
        entries["orders"].append(order.id)

    @connector.endpoint("GET", "/accounts")
    async def show() -> dict[str, list[str]]:
        return {account: sorted(kept) for account, kept in entries.items()}


def payments(connector: Connector) -> None:
    """Charges with a token of the trust root, or says no."""

    @connector.endpoint("POST", "/charges")
    async def charge(order: Order) -> None:
        if order.pieces > MOST_PIECES:
            raise HTTPError("the card says no", status=402)
        await connector.request("POST", "https://token.shop:666/mint", json={"order": order.id})
        await connector.request("POST", f"https://ledger.shop/accounts/sales/{order.id}")


def inventory(connector: Connector) -> None:
    """What is in stock and what is reserved."""
    reserved: dict[str, int] = {}

    @connector.endpoint("GET", "/stock/{thing}")
    async def stock(thing: str) -> dict[str, Any]:
        if thing not in GOODS:
            raise HTTPError("we never had one", status=404)
        return {"thing": thing, "reserved": sum(reserved.values())}

    @connector.endpoint("PUT", "/reserved/{order}")
    async def reserve(order: str, pieces: int) -> None:
        reserved[order] = pieces

    @connector.endpoint("DELETE", "/reserved/{order}")
    async def release(order: str) -> None:
        reserved.pop(order, None)


def orders(connector: Connector) -> None:
    """Takes an order once its goods are reserved and paid for, and says so to all."""

    @connector.endpoint("POST", "/orders")
    async def take(order: Order) -> Order:
        goods = f"https://inventory.shop/reserved/{order.id}"
        await connector.request("PUT", goods, params={"pieces": order.pieces})
        try:
            await connector.request("POST", "https://payments.shop/charges", json=order)
        except HTTPError:
            await connector.request("DELETE", goods)
            raise
        await connector.trigger(placed, order)
        return order


def web(connector: Connector) -> None:
    """Where the customers come in; it only asks."""


SERVICES: dict[str, Callable[[Connector], None]] = {
    "token.shop": token,
    "ledger.shop": ledger,
    "payments.shop": payments,
    "inventory.shop": inventory,
    "orders.shop": orders,
    "web.shop": web,
}

#: Which services run in a process of their own.
ELSEWHERE: dict[str, list[list[str]]] = {
    "one": [],
    "six": [[host] for host in SERVICES if host != "web.shop"],
    "mixed": [["token.shop", "ledger.shop", "inventory.shop"]],
}


def made(host: str, url: str) -> Connector:
    """One service; ``url`` is empty where there is no broker."""
    connector = Connector(host, plane=PLANE, nats=url)
    SERVICES[host](connector)
    return connector


async def visit(connector: Connector, customers: int) -> dict[str, Any]:
    """Lets customers in; the summary is the same wherever the services run."""
    told: dict[str, Any] = {"placed": 0, "refused": 0, "unknown": 0}
    for customer in range(customers):
        thing = (*GOODS, "elephant")[customer % 5]
        try:
            await connector.request("GET", f"https://inventory.shop/stock/{thing}")
            await orders_api.place(connector, Order(f"order{customer}", thing, customer % 10))
            told["placed"] += 1
        except HTTPError as error:
            told["unknown" if error.status == 404 else "refused"] += 1
    accounts = (await connector.request("GET", "https://ledger.shop/accounts")).json()
    stock = (await connector.request("GET", "https://inventory.shop/stock/bell")).json()
    told |= {account: len(kept) for account, kept in accounts.items()}
    return told | {"reserved": stock["reserved"]}


async def everyone_is_there(connector: Connector) -> None:
    """Waits until all six answer to the control plane's ping."""
    async with asyncio.timeout(START_LIMIT):
        while True:
            pings = connector.publish("GET", "https://all:888/ping")
            if {answer.source async for answer in pings} >= set(SERVICES):
                return
            await asyncio.sleep(0.05)


async def open_shop(how: str, url: str, customers: int) -> dict[str, Any]:
    """Starts the services where they belong, lets customers in, closes."""
    elsewhere = ELSEWHERE[how]
    away = {host for hosts in elsewhere for host in hosts}
    processes = []
    try:
        for hosts in elsewhere:
            command = [sys.executable, "-m", "examples.shop.connected", "--serve", url, *hosts]
            folder = Path(__file__).resolve().parents[2]
            processes.append(await asyncio.create_subprocess_exec(*command, cwd=folder))
        async with AsyncExitStack() as here:
            for host in SERVICES:
                if host not in away:
                    front = await here.enter_async_context(made(host, url))
            await everyone_is_there(front)
            return await visit(front, customers)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            await process.wait()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--how", choices=list(ELSEWHERE), default="one")
    parser.add_argument("--customers", type=int, default=20)
    parser.add_argument("--serve", metavar="URL", help=argparse.SUPPRESS)
    parser.add_argument("hosts", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(*(made(host, given.serve) for host in given.hosts)))
        return
    if given.how == "one":
        told = asyncio.run(open_shop("one", "", given.customers))
    else:
        with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as broker:
            told = asyncio.run(open_shop(given.how, broker.url, given.customers))
    print(", ".join(f"{name} {count}" for name, count in told.items()))


if __name__ == "__main__":
    main()
