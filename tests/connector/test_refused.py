"""Errors when the broker refuses: of the call at once, of the start, one line each."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import ssl
from pathlib import Path

import pytest

from subtrie import BusError
from subtrie.connector import AckTimeout, Connector, HTTPError
from subtrie.connector._broker import connection as broker_connection
from subtrie.connector._broker.errors import (
    explained,
    refuses_connection,
    refuses_credentials,
    user_and_rules,
    violation,
)

from .nats_server import NatsServer

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
                shop.request("GET", "https://stock.example/Order", timeout=600),
                shop.request("POST", "https://stock.example/level", timeout=600),
            ):
                with pytest.raises(HTTPError, match="the broker refuses to publish to") as caught:
                    await ask
                assert caught.value.status == 403
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


@pytest.mark.parametrize("deployment", ["LAB", "PROD"])
@pytest.mark.parametrize("way", ["request", "publish"])
async def test_a_refused_publish_of_a_service_is_not_a_403_of_its_caller(
    server, caplog, deployment, way
):
    shop = connector(server, "shop.example", "shop")
    shop._runtime.deployment = deployment

    @shop.endpoint("GET", "/order")
    async def order():
        url = "https://stock.example/Order"
        if way == "request":
            await shop.request("GET", url)
        async for _ in shop.publish("GET", url):
            pass

    async with shop, connector(server, "web.example", "all") as web:
        headers = {"Traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01"}
        with pytest.raises(HTTPError) as caught:
            await web.request("GET", "https://shop.example/order", headers=headers)
    assert (caught.value.status, caught.value.trace) == (500, "ab" * 16)
    sent = "p.safe.443.shop_example.stock_example._.GET.Order"
    if deployment == "PROD":
        assert caught.value.message == "internal server error"
    else:
        assert caught.value.message == f"the broker refuses to publish to {sent}"
    (line,) = [r for r in caplog.records if "shop.example: handling GET /order" in r.getMessage()]
    assert line.levelno == logging.ERROR
    assert f"403: the broker refuses to publish to {sent}" in line.getMessage()
    assert line.trace == caught.value.trace


@pytest.mark.parametrize("deployment", ["LAB", "PROD"])
async def test_an_ack_timeout_of_a_service_does_not_tell_its_caller_the_url_in_prod(
    server, deployment, caplog
):
    caplog.set_level(logging.INFO, "subtrie.connector")
    shop = connector(server, "shop.example", "all")
    shop._runtime.deployment = deployment

    @shop.endpoint("GET", "/order")
    async def order():
        await shop.request("GET", "https://secret.example/x")

    async with shop, connector(server, "web.example", "all") as web:
        with pytest.raises(HTTPError) as caught:
            await web.request("GET", "https://shop.example/order")
    assert caught.value.status == 404
    url = ": https://secret.example:443/x"
    assert caught.value.message == "ack timeout" + (url if deployment == "LAB" else "")
    assert [r for r in caplog.messages if f"failed: 404: ack timeout{url}" in r]


async def test_the_subject_of_an_error_is_the_one_that_was_sent(server):
    async with connector(server, "shop.example", "shop") as shop:
        with pytest.raises(HTTPError) as caught:
            await shop.request("POST", "https://stock.example/Level")
        sent = "p.safe.443.shop_example.stock_example._.POST.Level"
        assert caught.value.message == f"the broker refuses to publish to {sent}"


def test_the_command_that_explains_a_refused_publish_can_be_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rules = ("p.safe.443.a.b.*.GET.level",)
    file, subject = tmp_path / "my shop_nats.creds", "p.safe.443.a.b._.GET.$x"
    text = explained(subject, rules, file)
    assert text.endswith(f"; to see why: subtrie why -p 'my shop_nats.creds' '{subject}'")


async def test_refused_subscriptions_of_its_own_end_the_start(server, caplog):
    stock = connector(server, "stock.example", "shop")
    stock.endpoint("GET", "/level")(lambda: 7)
    with pytest.raises(BusError) as caught:
        await stock.startup()
    assert caught.value.reason == "subscription-refused"
    assert "are refused)" in str(caught.value)
    assert not stock.running
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == [], "one error tells all"


def test_creds_of_another_host_are_told():
    transport = Connector("stock.example", nats="nats://127.0.0.1:1")._transport
    transport._creds_file = Path("stock.example_nats.creds")
    for user, told in (
        ("orders.example", "; stock.example_nats.creds is of orders.example"),
        ("stock.example", ""),
        ("", ""),
    ):
        transport._user = user
        assert transport.whose_creds() == told


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
    assert ".GET.level" in str(caught.value)
    assert ("(2 are refused)" in str(caught.value)) == (number == 2)
    assert ("are refused)" in str(caught.value)) == (number > 1)


async def test_no_password_is_shown(server, tmp_path):
    with pytest.raises(ConnectionError) as caught:
        await Connector("x.example", nats="nats://admin:hunter2@127.0.0.1:1", plane="p").startup()
    assert "hunter2" not in str(caught.value)
    assert "127.0.0.1:1" in str(caught.value)


async def test_refused_credentials_are_told_at_once(server, monkeypatch):
    # It is not tried again: that would outlast the test.
    monkeypatch.setattr(broker_connection, "CONNECT_LIMIT", 600)
    with pytest.raises(ConnectionError, match=r"(?i)authorization violation") as caught:
        await Connector("x.example", nats=server.url, plane="p").startup()
    assert refuses_credentials(caught.value)
    assert refuses_connection(caught.value)


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
        assert ("there is no broker" in str(caught.value)) == alone
        assert ("Set MICROBUS_NATS" in caught.value.hint) == alone


def test_the_errors_of_the_broker_are_told_apart():
    texts = {
        "nats: permissions violation for publish to \"p.x.get\"": ("publish", "p.x.get", None),
        'nats: Permissions Violation for Subscription to "A.>" using queue "q"': (
            "subscribe", "A.>", "q",
        ),
        "nats: 'stale connection'": None,
    }  # fmt: skip
    for text, expected in texts.items():
        assert violation(text) == expected


def test_the_nearest_rule_is_named():
    rules = ("p.safe.443.a.b.*.GET.level", "p.reply._.a.>", "p.bad..rule")
    text = explained("p.safe.443.a.b._.GET.order", rules, None)
    assert "the creds hold 3 publish rules, the nearest is p.safe.443.a.b.*.GET.level" in text
    assert "subtrie why" not in text
    assert explained("x.y", None, None) == "the broker refuses to publish to x.y"
    assert user_and_rules("no creds") == ("", None)


@pytest.mark.parametrize(
    ("text", "refused"),
    [("Authorization Violation", True), ("'User Authentication Expired'", True),
     ("nats: account authentication expired", True), ("Stale Connection", False), ("", False)],
)  # fmt: skip
def test_refused_credentials_are_told_by_an_error_or_its_cause(text, refused):
    outer, middle = ConnectionError("no"), OSError("between")
    outer.__cause__, middle.__cause__ = middle, ValueError(text)
    for error in (outer, ValueError(text.upper()), ValueError(f"x {text} x")):
        assert refuses_credentials(error) is refuses_connection(error) is refused
    assert refuses_connection(ssl.SSLError("certificate"))
    assert not refuses_credentials(ssl.SSLError("certificate"))
    assert not refuses_connection(None)


@pytest.mark.parametrize(
    ("claims", "nats", "expected"),
    [({"name": "shop"}, {"pub": {"allow": ["a", 7, "b"]}}, ("shop", ("a", "b"))),
     ({"name": 7}, {"pub": {"allow": []}}, ("", ())), ({"name": "shop"}, {}, ("shop", None)),
     ({}, {"pub": None}, ("", None)), ({}, {"pub": {"allow": "a"}}, ("", None)),
     ({"name": "shop"}, {"type": "account"}, ("", None))],
)  # fmt: skip
def test_the_rules_of_creds(claims, nats, expected):
    claims = {"iss": "A", "sub": "U", "nats": {"type": "user", "version": 2, **nats}, **claims}
    parts = ({"typ": "JWT", "alg": "ed25519-nkey"}, claims)
    texts = (base64.urlsafe_b64encode(json.dumps(each).encode()).decode() for each in parts)
    token = ".".join(each.strip("=") for each in texts)
    creds = f"-----BEGIN NATS USER JWT-----\n{token}.AA\n------END NATS USER JWT------\n"
    assert user_and_rules(creds) == expected


@pytest.mark.parametrize(
    ("rules", "near"),
    [((), ""), (("a..b",), ""), (("z.z", "a.c"), ", the nearest is a.c")],
)  # fmt: skip
def test_the_command_names_the_file_as_it_is_typed(rules, near, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = f"refuses to publish to a b; the creds hold {len(rules)} publish rules{near}"
    told = told.replace("a b", "a.b")
    for file, shown in (
        (tmp_path / "x y.creds", "'x y.creds'"),
        (Path("/o/x.creds"), "/o/x.creds"),
    ):
        text = explained("a.b", rules, file)
        assert text.endswith(f"{told}; to see why: subtrie why -p {shown} a.b")
    assert explained("a.b", rules, None).endswith(told)
    assert explained("a.b", None, Path("x.creds")).endswith("refuses to publish to a.b")


async def test_a_start_does_not_fail_for_what_was_refused_to_an_earlier_one(server):
    shop = connector(server, "shop.example", "shop")
    shop.endpoint("GET", "/level")(lambda: 7)
    shop.endpoint("GET", "//stock.example/level")(lambda: 7)  # which it may not serve
    with pytest.raises(BusError, match="stock_example"):
        await shop.startup()
    await shop.endpoints[1].unsubscribe()
    async with shop:
        assert [each.host for each in shop.endpoints if each.active] == ["shop.example"]


async def test_a_subscription_that_is_refused_after_the_start_is_in_the_log(server, caplog):
    async with connector(server, "shop.example", "shop") as shop:
        caplog.clear()
        await shop.subscribe("GET", "//stock.example/level", lambda: 7)
    told = [each for each in caplog.records if "stock_example" in each.getMessage()]
    assert {each.levelno for each in told} == {logging.WARNING}
    assert all("shop.example: NATS error: " in each.getMessage() for each in told)
