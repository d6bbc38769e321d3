"""Typed calls: which argument travels where, and what an absent one is."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from subtrie import BusError
from subtrie.connector import Client, HTTPError, Request, Response

HOST = "shop.example"


@dataclass
class Order:
    item: str
    pieces: int = 1


@dataclass
class Address:
    street: str
    number: int
    more: Order
    tags: list[str] = field(default_factory=list)


class Colour(enum.Enum):
    RED = "red"


@pytest.fixture
def pair(make):
    return make(HOST), make("web.example")


async def test_several_body_arguments_travel_as_one_object_by_name(pair):
    shop, web = pair
    seen = []
    shop.middleware(lambda request, call_next: seen.append(request.body) or call_next(request))

    @shop.endpoint("POST", "/ship/{id}")
    async def ship(id: int, order: Order, to: Address, fast: bool = False) -> dict[str, Any]:
        return {"id": id, "item": order.item, "to": to.number, "fast": fast}

    client = Client(HOST)

    @client.call("POST", "/ship/{id}")
    async def send(id: int, order: Order, to: Address, fast: bool = False) -> dict[str, Any]:
        raise NotImplementedError

    async with shop, web:
        to = Address("Mill Lane", 7, Order("tea"))
        result = await send(web, 3, Order("tea"), to, fast=True)
        assert result == {"id": 3, "item": "tea", "to": 7, "fast": True}
    assert sorted(json.loads(seen[0])) == ["order", "to"]


async def test_one_body_argument_is_the_body(pair):
    shop, web = pair

    @shop.endpoint("POST", "/order")
    async def place(request: Request, order: Order) -> Any:
        return [order.item, request.json()]

    client = Client(HOST)

    @client.call("POST", "/order")
    async def send(order: Order) -> Any:
        raise NotImplementedError

    async with shop, web:
        assert await send(web, Order("tea")) == ["tea", {"item": "tea", "pieces": 1}]


async def test_an_absent_body_argument_is_the_zero_of_its_type(pair):
    shop, web = pair

    @shop.endpoint("POST", "/both")
    async def both(order: Order, to: Address, extra: dict | None, note: list[dict]) -> Any:
        assert isinstance(to.more, Order)
        return [order.item, order.pieces, to.street, to.number, to.more.item, to.tags, extra, note]

    @shop.endpoint("POST", "/scalars")
    async def scalars(n: int, text: str, on: bool, ratio: float, names: list[str], any) -> Any:
        return [n, text, on, ratio, names, any]

    @shop.endpoint("POST", "/whole")
    async def whole(order: Order) -> Any:
        return [order.item, order.pieces]

    @shop.endpoint("POST", "/default")
    async def default(order: Order, other: Order = Order("mine")) -> Any:  # noqa: B008
        return [order.item, other.item]

    async with shop, web:
        zeros = ["", 1, "", 0, "", [], None, []]
        for body in ({"json": {}}, {}):
            response = await web.request("POST", f"https://{HOST}/both", **body)
            assert response.json() == zeros
        response = await web.request("POST", f"https://{HOST}/scalars", json={"n": 5})
        assert response.json() == [5, "", False, 0.0, [], None]
        assert (await web.request("POST", f"https://{HOST}/whole")).json() == ["", 1]
        assert (await web.request("POST", f"https://{HOST}/default")).json() == ["", "mine"]


async def test_an_absent_argument_of_query_or_path_is_a_400_that_names_it(pair):
    shop, web = pair

    @shop.endpoint("ANY", "/query")
    async def query(n: int) -> Any:
        return n

    @shop.endpoint("POST", "/beside")
    async def beside(order: Order, n: int) -> Any:
        return n

    @shop.endpoint("POST", "/path/{id}")
    async def path(id: int) -> Any:
        return id

    @shop.endpoint("POST", "/colour")
    async def colour(colour: Colour) -> Any:
        return colour

    async with shop, web:
        for method, url, body, named in (
            ("GET", "/query", {}, "'n' is missing"),
            ("POST", "/query", {}, "'n' is missing"),
            ("POST", "/beside", {"json": {"item": "tea"}}, "'n' is missing"),
            ("POST", "/path/", {}, "'id' is not a valid int"),
            ("POST", "/colour", {"json": {"x": 1}}, "'colour' is missing"),
        ):
            with pytest.raises(HTTPError, match=named) as caught:
                await web.request(method, f"https://{HOST}{url}", **body)
            assert caught.value.status == 400


async def test_a_body_that_is_not_an_object_is_a_400(pair):
    shop, web = pair

    @shop.endpoint("POST", "/both")
    async def both(order: Order, other: Order) -> None:
        raise AssertionError

    async with shop, web:
        with pytest.raises(HTTPError, match="not a JSON object") as caught:
            await web.request("POST", f"https://{HOST}/both", json=[1])
        assert caught.value.status == 400


async def test_any_sends_post(pair):
    shop, web = pair

    @shop.endpoint("ANY", "/method")
    async def method(request: Request) -> str:
        return request.method

    client = Client(HOST)

    @client.call("ANY", "/method")
    async def ask() -> str:
        raise NotImplementedError

    async with shop, web:
        assert await ask(web) == await client.ask(web) == "POST"


async def test_a_call_has_a_time_budget(pair):
    shop, web = pair

    @shop.endpoint("GET", "/budget")
    async def budget(request: Request) -> float:
        return request.budget

    client = Client(HOST)

    @client.call("GET", "/budget")
    async def ask() -> float:
        """Return the budget."""
        raise NotImplementedError

    async with shop, web:
        assert await ask(web) > 15
        assert await ask.within(3.0)(web) <= 3.0
        assert await ask(web, timeout=2.0) <= 2.0
        assert await ask(web) > 15
    assert (ask.__name__, ask.__doc__) == ("ask", "Return the budget.")


async def test_bytes_beside_another_body_are_refused():
    client = Client(HOST)

    async def both(raw: bytes, order: Order) -> Response:
        raise NotImplementedError

    with pytest.raises(BusError) as caught:
        client.call("POST", "/x")(both)
    assert caught.value.reason == "stub"
