"""Typed calls: which argument travels where, and what an absent one is."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from subtrie.connector import Client, HTTPError, Request

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
    assert sorted(json.loads(seen[0])) == ["fast", "order", "to"]


async def test_an_absent_body_argument_is_the_zero_of_its_type(pair):
    shop, web = pair

    @shop.endpoint("POST", "/both")
    async def both(order: Order, to: Address, extra: dict | None, note: list[dict]) -> Any:
        assert isinstance(order, Order)
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


async def test_a_body_that_is_not_an_object_is_a_400_with_the_shape(pair):
    shop, web = pair

    @shop.endpoint("POST", "/both")
    async def both(order: Order, other: Order) -> None:
        raise AssertionError

    async with shop, web:
        for body, told in (([1], "a list of 1"), (5, "5"), ("x", '"x"')):
            with pytest.raises(HTTPError, match=f'the body is {told}, .*"order": …') as caught:
                await web.request("POST", f"https://{HOST}/both", json=body)
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


async def test_a_call_without_a_connector_says_that_it_comes_first(pair):
    """The body was taken for the connector: ``missing a required argument: 'order'``."""
    client = Client(HOST)
    assert repr(client) == "<Client shop.example: no functions>"

    @client.call("POST", "/orders")
    async def place(order: Order) -> str:
        raise NotImplementedError

    assert repr(client) == "<Client shop.example: place>"
    told = r"first argument of place is the connector .* not Order: place\(connector, …\)"
    with pytest.raises(TypeError, match=told):
        await place(Order("tea"))
    with pytest.raises(TypeError, match=told):
        place.multicast(Order("tea"))


@pytest.mark.parametrize("given", [None, 3])
async def test_none_is_sent_in_a_query_if_the_default_is_another(pair, given):
    shop, web = pair
    shop.endpoint("GET", "/found")(lambda request: request.url_query)
    client = Client(HOST)

    @client.call("GET", "/found")
    async def found(*, limit: int | None = 10, after: int | None = None) -> str: ...

    async with shop, web:
        assert await found(web, limit=given, after=None) == f"limit={given or 'null'}"
        assert await found(web) == "limit=10"
