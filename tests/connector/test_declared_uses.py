"""``Connector(host, uses=[…])``: an undeclared request is refused in tests, else logged once."""

from __future__ import annotations

import logging

import pytest

from subtrie.connector import BusError, Client, Connector, Event
from subtrie.connector._uses import MOST_LOGGED

stock = Client("stock.shop")
PLACED: Event[dict] = Event("orders.shop", "/on-placed")


@stock.call("GET", "/items/{id}")
async def item(id: int) -> dict: ...


async def _services(deployment: str, uses: list) -> tuple[Connector, Connector]:
    given = {"plane": "uses", "nats": "", "deployment": deployment}
    orders = Connector("orders.shop", uses=uses, configurator="optional", **given)
    other = Connector("stock.shop", configurator="optional", **given)

    @other.endpoint("GET", "/items/{id}")
    async def one(id: int) -> dict:
        return {"id": id}

    @other.endpoint("GET", "/secret")
    async def secret() -> str:
        return "s"

    await other.startup()
    await orders.startup()
    return orders, other


async def _stop(*connectors: Connector) -> None:
    for each in connectors:
        await each.shutdown()


@pytest.mark.requirement("A29")
@pytest.mark.parametrize(
    "uses",
    [[stock, PLACED], [item, PLACED], [("GET", "https://stock.shop/items/{id}"), PLACED],
     [("ANY", "//stock.shop/items/{id...}"), PLACED]],
)  # fmt: skip
async def test_a_test_refuses_an_undeclared_call(uses) -> None:
    orders, other = await _services("TESTING", uses)
    try:
        assert await item(orders, 7) == {"id": 7}
        assert await orders.trigger(PLACED, {}) == []
        assert await item.at(instance=other.id)(orders, 8) == {"id": 8}
        for method, url in (
            ("GET", "https://stock.shop/secret"), ("GET", "https://stock.shop:444/items/7"),
            ("GET", "https://a.shop/items/7"),
        ):  # fmt: skip
            with pytest.raises(BusError) as refused:
                await orders.request(method, url)
            assert refused.value.reason == "undeclared-use"
            assert "uses=" in str(refused.value)
            with pytest.raises(BusError):
                orders.publish(method, url)
        [_ async for _ in orders.publish("GET", "https://all:888/ping")]
        # A service without a list calls what it wants.
        assert (await other.request("GET", "https://stock.shop/secret")).status == 200
    finally:
        await _stop(orders, other)


@pytest.mark.requirement("A29")
async def test_another_deployment_logs_it_once(caplog) -> None:
    orders, other = await _services("LOCAL", [item])
    try:
        with caplog.at_level(logging.WARNING, logger="subtrie.connector"):
            for _ in range(3):
                assert (await orders.request("GET", "https://stock.shop/secret")).status == 200
            assert await item(orders, 7) == {"id": 7}
        told = [each.getMessage() for each in caplog.records if "uses=" in each.getMessage()]
        assert len(told) == 1
        assert told[0].startswith(f"{orders.host}: ")
        assert "https://stock.shop/secret" in told[0] or "https://stock.shop:443/secret" in told[0]
    finally:
        await _stop(orders, other)


@pytest.mark.parametrize("wrong", ["GET", 7, ("GET",), None])
def test_a_wrong_element_is_refused_where_the_connector_is_made(wrong) -> None:
    with pytest.raises(TypeError, match="uses holds Client, Call and Event"):
        Connector("orders.shop", plane="uses", nats="", uses=[wrong])


async def test_stubs_that_are_declared_after_the_connector_count() -> None:
    late = Client("stock.shop")
    orders, other = await _services("TESTING", [late])
    await _stop(orders)

    @late.call("GET", "/items/{id}")
    async def one(id: int) -> dict: ...

    orders = Connector("orders.shop", plane="uses", nats="", deployment="TESTING", uses=[late])
    try:
        await orders.startup()
        assert await one(orders, 7) == {"id": 7}
    finally:
        await _stop(orders, other)


async def test_undeclared_uses_are_logged_once_each_up_to_a_hundred(caplog) -> None:
    orders, other = await _services("LOCAL", [item])
    try:
        with caplog.at_level(logging.WARNING, logger="subtrie.connector"):
            for method, url in (
                ("GET", "https://stock.shop/secret"), ("GET", "https://stock.shop/other"),
                ("POST", "https://stock.shop/secret"), ("GET", "https://stock.shop:444/secret"),
                ("GET", "https://all:888/ping"), ("GET", "https://stock.shop:888/ping"),
                *(("GET", f"https://a{number}.shop/x") for number in range(110)),
            ):  # fmt: skip
                [_ async for _ in orders.publish(method, url, timeout=0.001)]
        told = [each for each in caplog.records if "uses=" in each.getMessage()]
        assert len(told) == MOST_LOGGED == 100
        assert {each.service for each in told} == {"orders.shop"}
        for record, use in zip(told, (
            "GET https://stock.shop:443/secret", "POST https://stock.shop:443/secret",
            "GET https://stock.shop:444/secret", "GET https://a0.shop:443/x",
        ), strict=False):  # fmt: skip
            assert use in record.getMessage(), "/other is as /secret"
    finally:
        await _stop(orders, other)


def test_a_wrong_element_is_shown_in_short() -> None:
    with pytest.raises(TypeError) as refused:
        Connector("orders.shop", plane="uses", nats="", uses=["x" * 200])
    assert str(refused.value).endswith(f"; not '{'x' * 79}")
