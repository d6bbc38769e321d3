"""Errors when the broker refuses: of the call at once, of the start, one line each."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from subtrie import BusError
from subtrie.connector import AckTimeout, Connector, HTTPError
from subtrie.connector._broker_errors import (
    explained,
    is_authorization,
    publish_rules,
    refuses_connection,
    violation,
)

from .nats_server import NatsServer

pytestmark = pytest.mark.usefixtures("each_transport")

SENDS = ["p.safe.443.shop_example.stock_example.*.GET.level", "p.safe.888.shop_example.>"]
HEARS = ["p.safe.*.*.shop_example.>", "p.reply._.*.shop_example.*", "p.safe.888.*.all.>"]
RULES = {
    "publish": {"allow": [*SENDS, "p.reply._.shop_example.>"]},
    "subscribe": {"allow": HEARS},
}


@pytest.fixture
def server(tmp_path):
    users = [
        {"user": "shop", "password": "x", "permissions": RULES},
        {"user": "all", "password": "x"},
    ]
    made = NatsServer(tmp_path / "server", authorization={"users": users}).start()
    yield made
    made.stop()


def connector(server, host, user):
    url = server.url.replace("//", f"//{user}:x@")
    return Connector(host, nats=url, plane="p", short_circuit=False, deployment="TESTING")


async def test_a_refused_permission_fails_the_call_at_once(server):
    async with connector(server, "shop.example", "shop") as shop:
        stock = connector(server, "stock.example", "all")
        stock.endpoint("GET", "/level")(lambda: 7)
        async with stock:
            assert (await shop.request("GET", "https://stock.example/level")).json() == 7
            for ask in (
                shop.request("GET", "https://stock.example/Order"),
                shop.request("POST", "https://stock.example/level", timeout=5),
            ):
                begun = time.monotonic()
                with pytest.raises(HTTPError, match="the broker refuses to publish to") as caught:
                    await ask
                assert caught.value.status == 403
                assert time.monotonic() - begun < 3
            with pytest.raises(HTTPError) as caught:
                async for _ in shop.publish("POST", "https://stock.example/level"):
                    pass
            assert caught.value.status == 403


@pytest.mark.requirement("S4-099")
async def test_a_request_that_is_refused_leaves_those_around_it_alone(server, caplog):
    async with connector(server, "shop.example", "shop") as shop:
        stock = connector(server, "stock.example", "all")
        stock.endpoint("GET", "/level")(lambda: 7)
        async with stock:
            results = await asyncio.gather(
                *(shop.request(method, "https://stock.example/level")
                  for method in ("GET", "POST") * 20),
                return_exceptions=True,
            )  # fmt: skip
            assert [each.status for each in results] == [200, 403] * 20
            assert (await shop.request("GET", "https://stock.example/level")).json() == 7
    said = [record.getMessage() for record in caplog.records]
    assert not [each for each in said if "the connection to the broker is lost" in each]


async def test_refused_subscriptions_of_its_own_end_the_start(server):
    stock = connector(server, "stock.example", "shop")
    stock.endpoint("GET", "/level")(lambda: 7)
    with pytest.raises(BusError) as caught:
        await stock.startup()
    assert caught.value.reason == "subscription-refused"
    assert "are refused)" in str(caught.value)
    assert not stock.running


@pytest.mark.parametrize(("slots", "number"), [("_", 1), ("*", 2)])
async def test_the_error_of_the_start_says_how_many_subscriptions_are_refused(
    tmp_path, slots, number
):
    rules = {"subscribe": {"deny": [f"p.safe.443.*.stock_example.{slots}.GET.level"]}}
    users = [{"user": "stock", "password": "x", "permissions": rules}]
    server = NatsServer(tmp_path / "one", authorization={"users": users}).start()
    try:
        stock = connector(server, "stock.example", "stock")
        stock.endpoint("GET", "/level")(lambda: 7)
        with pytest.raises(BusError, match="refuse") as caught:
            await stock.startup()
    finally:
        server.stop()
    assert caught.value.reason == "subscription-refused"
    assert ("(2 are refused)" in str(caught.value)) == (number == 2)
    assert ("are refused)" in str(caught.value)) == (number > 1)


async def test_no_password_is_shown(server, tmp_path):
    with pytest.raises(ConnectionError) as caught:
        await Connector("x.example", nats="nats://admin:hunter2@127.0.0.1:1", plane="p").startup()
    assert "hunter2" not in str(caught.value)
    assert "127.0.0.1:1" in str(caught.value)


async def test_refused_credentials_are_told_at_once(server):
    begun = time.monotonic()
    with pytest.raises(ConnectionError, match=r"(?i)authorization violation") as caught:
        await Connector("x.example", nats=server.url, plane="p").startup()
    assert is_authorization(caught.value)
    assert refuses_connection(caught.value)
    assert time.monotonic() - begun < 4


async def test_a_lost_broker_is_one_warning_and_one_line_when_it_is_back(server, caplog):
    caplog.set_level(logging.INFO, "subtrie.connector")
    async with connector(server, "stock.example", "all") as stock:
        server.stop()
        await asyncio.sleep(1.5)
        server.start()
        for _ in range(200):
            await asyncio.sleep(0.05)
            if not stock._transport.disconnected():
                break
        await asyncio.sleep(0.2)
    warnings = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert warnings == ["stock.example: the connection to the broker is lost"]
    lines = [r.getMessage() for r in caplog.records]
    assert lines.count("stock.example: the broker is back") == 1


async def test_an_ack_timeout_says_what_to_look_at(make):
    async with make("web.example") as web:
        with pytest.raises(AckTimeout) as caught:
            await web.request("GET", "https://missing.example/")
        assert f"on the plane {web.plane}?" in caught.value.hint
        alone = web._transport.nats is None
        assert ("There is no broker" in caught.value.hint) == alone


def test_the_errors_of_the_broker_are_told_apart():
    texts = {
        "nats: permissions violation for publish to \"p.x.get\"": ("publish", "p.x.get", None),
        'nats: Permissions Violation for Subscription to "A.>" using queue "q"': (
            "subscribe", "a.>", "q",
        ),
        "nats: 'stale connection'": None,
    }  # fmt: skip
    for text, expected in texts.items():
        assert violation(Exception(text)) == expected


def test_the_nearest_rule_is_named():
    rules = ("p.safe.443.a.b.*.GET.level", "p.reply._.a.>", "p.bad..rule")
    text = explained("p.safe.443.a.b._.get.order", rules)
    assert "the creds hold 3 publish rules, the nearest is p.safe.443.a.b.*.GET.level" in text
    assert explained("x.y", None) == "the broker refuses to publish to x.y"
    assert publish_rules("no creds") is None
