"""``bus`` with configuration values and a clock: what a test gives ends with its block."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json

import pytest

from patience import until
from subtrie import BusError
from subtrie.connector import Connector, HTTPError, configurator
from subtrie.testing import actor_token

SERVICE = Connector("inventory.example", nats="nats://nowhere.invalid:1")
threshold = SERVICE.config("threshold", default=2, parse=int)
runs: list[tuple[str, float]] = []


@SERVICE.endpoint("GET", "/me", requires="sub == 'ann'")
async def me() -> str:
    return "ann"


@SERVICE.every(60)
async def count() -> None:
    runs.append(("count", threshold.get()))


@SERVICE.every(90, at_once=True)
def audit() -> None:
    runs.append(("audit", threshold.get()))
    if threshold.get() < 0:
        raise LookupError("no stock")


@pytest.fixture(autouse=True)
def _no_runs() -> None:
    runs.clear()


async def test_a_test_gives_configuration_values_which_end_with_it(bus, tmp_path):
    """L20: the file of the working directory won, and a value stayed for the next test."""
    (tmp_path / "config.yaml").write_text("inventory.example:\n  threshold: 3\n")
    async with bus(SERVICE):
        assert threshold.get() == 3
    assert threshold.get() == 2
    for text in ("100", "7"):
        async with bus(SERVICE, config={"inventory.example": {"threshold": text}}):
            assert threshold.get() == int(text)
        assert threshold.get() == 2
    threshold.take("5")
    async with bus(SERVICE):
        threshold.take("6")
    assert threshold.get() == 5
    threshold.take(None)


@pytest.mark.parametrize(
    ("config", "error", "said"),
    [
        ({"inventry.example": {}}, ValueError,
         "config= names 'inventry.example'; bus() runs inventory.example"),
        ({"inventory.example": {"thresholds": "1"}}, BusError,
         "inventory.example: config 'thresholds': the service has no configuration "
         "value of this name; use a name that it declares; it has threshold"),
        ({"inventory.example": {"threshold": 1}}, TypeError,
         "inventory.example: config 'threshold' takes text, not int"),
        ({"inventory.example": {"threshold": "x"}}, BusError,
         "inventory.example: config=: config 'threshold' cannot be parsed: "),
    ],
    ids=["host", "name", "type", "value"],
)  # fmt: skip
async def test_a_wrong_value_of_a_test_is_one_error(bus, config, error, said):
    with pytest.raises(error) as caught:
        async with bus(SERVICE, config=config):
            pass
    assert str(caught.value).startswith(said)
    assert (threshold.get(), SERVICE.running) == (2, False)
    async with bus(SERVICE):  # nothing is left of it
        pass


async def test_the_clock_of_a_test_runs_the_tickers_that_are_due(bus):
    """A test of a ticker had to wait for it."""
    async with bus(SERVICE, clock=1000) as clock:
        await asyncio.sleep(0)
        assert (runs, clock()) == ([], 1000)
        await clock.advance(0)
        assert runs == [("audit", 2)]
        await clock.advance(59.5)
        assert len(runs) == 1
        await clock.advance(0.5)
        assert runs[1:] == [("count", 2)]
        await clock.advance(120)  # until 1180: both, each at its time
        assert [name for name, _ in runs[2:]] == ["audit", "count", "count", "audit"]
        assert clock() == 1180
        with pytest.raises(ValueError, match="0 seconds or more, not -1"):
            await clock.advance(-1)
    before = len(runs)
    await clock.advance(1000)  # the service is down
    assert len(runs) == before
    assert SERVICE._runtime.clock is None


async def test_a_ticker_that_fails_fails_the_test_that_runs_it(bus, caplog):
    async with bus(SERVICE, clock=0, config={"inventory.example": {"threshold": "-1"}}) as clock:
        with pytest.raises(LookupError, match="no stock"):
            await clock.advance(0)
        await clock.advance(60)  # the others go on
    assert [name for name, _ in runs] == ["audit", "count"]
    (record,) = [each for each in caplog.records if "audit failed" in each.getMessage()]
    assert record.service == "inventory.example"


async def test_actor_tokens_expire_by_the_clock_of_the_test(bus, connector):
    web = connector("web.example")
    headers = {"Microbus-Actor": actor_token({"sub": "ann", "exp": 1030})}
    url = "https://inventory.example/me"
    async with bus(SERVICE, web, clock=1000) as clock:
        assert (await web.request("GET", url, headers=headers)).body == b"ann"
        await clock.advance(30)
        with pytest.raises(HTTPError, match="401: the actor token is refused: expired"):
            await web.request("GET", url, headers=headers)


def test_the_plane_of_a_test_is_its_own(plane, request, connector, monkeypatch):
    monkeypatch.setenv("MICROBUS_DEPLOYMENT", "PROD")
    assert plane == hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:16]
    made = connector("a.example")
    assert (made.plane, made.deployment, made._transport.broker) == (plane, "TESTING", "")
    assert connector("a.example", deployment="LAB", plane="other").plane == "other"


@pytest.mark.parametrize("claims", [{}, {"sub": "é?~"}, {"a": [1, {"b": None}]}, {"x": "y" * 100}])
def test_a_token_of_a_test_is_an_unsigned_jwt(claims):
    head, body, signature = actor_token(claims).split(".")
    read = [base64.urlsafe_b64decode(each + "=" * (-len(each) % 4)) for each in (head, body)]
    assert [json.loads(each) for each in read] == [{"alg": "none", "typ": "JWT"}, claims]
    assert signature == ""
    assert not {"=", "+", "/"} & set(head + body)
    assert b" " not in read[1]


async def test_a_clock_moves_by_what_is_asked_only(bus, connector):
    made, seen = connector("a.example"), []
    made.every(10)(lambda: seen.append(clock()))
    async with bus(made, clock=5.5) as clock:
        for seconds, now, runs in (
            (9.5, 15, []),
            (0.5, 15.5, [15.5]),
            (30, 45.5, [25.5, 35.5, 45.5]),
        ):
            seen.clear()
            await clock.advance(seconds)
            assert (clock(), seen) == (now, runs)
        for wrong in (-0.1, float("inf"), float("nan")):
            with pytest.raises(ValueError, match="0 seconds or more"):
                await clock.advance(wrong)
    async with bus(made) as clock:
        assert clock is None


async def test_a_configurator_tells_services_to_refresh_every_20_minutes(bus, connector):
    core, told = configurator(), []
    shop = connector("shop.example")
    shop.endpoint("ANY", "//all:888/config-refresh", queue=None)(lambda: told.append(clock()))
    async with bus(core, shop, clock=0) as clock:
        for seconds, times in ((1199, [0]), (1, [0, 1200]), (1200, [0, 1200, 2400])):
            await clock.advance(seconds)
            await until(lambda times=times: len(told) >= len(times))
            assert told == times


async def test_a_ticker_may_move_the_clock_further(bus, connector):
    made, ran = connector("a.example"), []

    @made.every(10)
    async def tick() -> None:
        ran.append(clock())
        if len(ran) == 1:
            await clock.advance(7)

    async with bus(made, clock=0) as clock:
        await clock.advance(12)
        assert (ran, clock()) == ([10], 17)
        await clock.advance(3)
        assert (ran, clock()) == ([10, 20], 20)


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("with_broker", [True, False])
async def test_services_of_a_test_keep_their_short_circuit_if_there_is_a_broker(
    bus, broker, short, with_broker
):
    shop, web = (
        Connector(host, nats="nats://127.0.0.1:1", short_circuit=short)
        for host in ("shop.example", "web.example")
    )
    shop.endpoint("GET", "/")(lambda request: request.attested)
    async with bus(shop, web, nats=broker.url if with_broker else ""):
        within = (await web.request("GET", "https://shop.example/")).json()
    assert within is (short or not with_broker)
    assert shop._transport.short_circuit is short
