"""Sources of configuration values, and the start without a configurator."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from patience import until
from subtrie import BusError
from subtrie.connector import Connector, configurator
from subtrie.connector._config import REFRESH_PAUSE, parse_config, read_config_files, value_of

TEXT = """\
# of all services
---
all:
  Region: eu   # a comment
  Empty:
Shop.Example:
  Limit: 7
  URL: https://db.example:5432/x?a=b#c
  "Quoted": "a # b"
  'Single': 'c: d'
example:
  Limit: 8
  Shelf: lower
stray: text
  Under: stray
list:
  - not read
  Deep: {a: b}
"""


def test_a_file_of_two_levels_is_read(caplog):
    values = parse_config(TEXT, "there/config.yaml")
    assert values["all"] == {"Region": "eu", "Empty": ""}
    assert values["shop.example"] == {
        "Limit": "7", "URL": "https://db.example:5432/x?a=b#c", "Quoted": "a # b",
        "Single": "c: d",
    }  # fmt: skip
    assert values["list"] == {}
    lines = [record.getMessage().partition(" ")[0] for record in caplog.records]
    assert lines == ["there/config.yaml:17", "there/config.yaml:18"]


@pytest.mark.parametrize(
    "text",
    ["x # y", "x  # y # z", "#x", "# x", "x#y", "x##y", "x #", "x#", "nats://u:p#q@h # y",
     "x'y # z", '"x" # y', '"x # y"',
     "'x # y'", "\"x' # y\"", '"it\'s" # y', '"" # y', "' x ' # y"],
)  # fmt: skip
def test_a_comment_of_config_yaml_begins_where_yaml_says(text):
    line = f"all:  # z\n  A: {text}\n"
    assert parse_config(line)["all"]["A"] == yaml.load(line, yaml.BaseLoader)["all"]["A"]


@pytest.mark.parametrize(
    ("host", "name", "value"),
    [
        ("shop.example", "Limit", "7"),
        ("stock.example", "Limit", "8"),
        ("shop.example", "Shelf", "lower"),
        ("shop.example", "Region", "eu"),
        ("shop.other", "Limit", None),
        ("shop.example", "limit", None),
    ],
)
def test_the_most_specific_domain_wins(host, name, value):
    assert value_of(parse_config(TEXT), host, name) == value


def declared(connector):
    return [
        connector.config("Limit", default=1, parse=int),
        connector.config("Shelf", default="upper"),
    ]


def test_files_of_one_domain_add_up_and_the_nearest_wins(tmp_path):
    below = tmp_path / "below"
    below.mkdir()
    files = [tmp_path / "config.yaml", tmp_path / "config.local.yaml",
             below / "config.yaml", below / "config.local.yaml"]  # fmt: skip
    for number, file in enumerate(files):
        lines = "".join(f"  {name}: {number}\n" for name in "ABCD"[number:])
        file.write_text(f"Shop.Example:\n{lines}own{number}:\n  A: {number}\n")
    values = read_config_files(below)
    assert values.pop("shop.example") == {"A": "0", "B": "1", "C": "2", "D": "3"}
    assert values == {f"own{number}": {"A": str(number)} for number in range(4)}
    assert read_config_files(tmp_path)["shop.example"] == {"A": "0", "B": "1", "C": "1", "D": "1"}


@pytest.mark.parametrize("follows", [False, True])
async def test_one_who_asks_and_goes_leaves_the_reading_to_the_others(
    make_memory, monkeypatch, follows
):
    shop, readings, go = make_memory("shop.example"), [], asyncio.Event()
    async with shop:
        configuration = shop._configuration

        async def read():
            readings.append("begun")
            await go.wait()
            readings.append("done")
            return True, {}, []

        configuration._read = read
        asking = [asyncio.ensure_future(configuration.refresh()) for _ in range(2)]
        await until(lambda: readings)
        if follows:
            asking += [asyncio.ensure_future(configuration.refresh()) for _ in range(2)]
            await asyncio.sleep(0)
        pause, sleep = [], asyncio.sleep
        monkeypatch.setattr(asyncio, "sleep", lambda seconds: (pause.append(seconds), sleep(0))[1])
        asking[-2].cancel()
        await asyncio.wait(asking[-2:-1])
        assert [each.cancelled() for each in asking[-2:]] == [True, False]
        go.set()
        await asyncio.gather(asking[0 if follows else 1], asking[-1])
        monkeypatch.undo()
    assert readings == ["begun", "done"] * 2, "the second one who asks shares the next reading"
    assert pause.count(REFRESH_PAUSE) == 1, "the connector has other pauses, too"


async def test_readings_of_the_values_end_with_the_service(make, caplog):
    shop, core = make("shop.example"), make("configurator.core")
    limit, _ = declared(shop)
    asked, never = [], asyncio.Event()

    @core.endpoint("POST", ":888/values")
    async def told():
        asked.append(1)
        if len(asked) > 1:
            await never.wait()
        return {"values": {"Limit": f"{len(asked)}"}}

    async with core:
        await shop.startup()
        configuration = shop._configuration
        asking = [asyncio.ensure_future(configuration.refresh()) for _ in range(2)]
        await until(lambda: len(asked) == 2)
        readings = configuration._refreshing, configuration._following
        await shop.shutdown()
        await asyncio.wait((*readings, *asking))
        assert [each.cancelled() for each in readings] == [True, True]
        assert [each.cancelled() for each in asking] == [True, True]
        never.set()
    assert (len(asked), limit.get()) == (2, 1)
    assert "the configuration cannot be read" not in caplog.text


@pytest.mark.parametrize("fails", [False, True])
async def test_values_of_a_test_are_given_back_at_its_end(make_memory, fails):
    shop = make_memory("shop.example", config={"Shelf": "own"})
    limit, shelf = declared(shop)
    configuration = shop._configuration
    limit.value = 7
    for given in ({"Limit": "8"}, {"Shelf": "theirs"}, {"Limit": "9", "Shelf": "theirs"}, {}):
        with contextlib.suppress(KeyError), configuration.replaced(given):
            assert configuration._local() == {"Shelf": "own"} | given
            limit.value, shelf.value = 10, "changed"
            if fails:
                raise KeyError
        assert configuration._local() == {"Shelf": "own"}
        assert (limit.get(), shelf.get()) == (7, "upper")


async def test_sources_in_their_order(make_memory, tmp_path, monkeypatch):
    (tmp_path / "config.yaml").write_text("all:\n  Limit: 2\n  Shelf: file\n")
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    shop = make_memory("shop.example")
    limit, shelf = declared(shop)
    async with shop:
        assert (limit.get(), shelf.get()) == (2, "file")
        (tmp_path / "below" / "config.local.yaml").write_text("shop.example:\n  Limit: 3\n")
        await shop.request("POST", "https://shop.example:888/config-refresh")
        assert limit.get() == 3
        monkeypatch.setenv("SHOP_EXAMPLE_LIMIT", "4")
        await shop.request("POST", "https://shop.example:888/config-refresh")
        assert limit.get() == 4
        async with configurator(
            {"shop.example": {"Limit": "5"}}, plane=shop.plane, nats="", deployment="TESTING"
        ):
            for _ in range(100):
                await asyncio.sleep(0.02)
                if limit.get() == 5:
                    break
            assert (limit.get(), shelf.get()) == (5, "file")
    given = make_memory("shop.example", config={"Limit": "6"})
    (limit, _) = declared(given)
    async with given:
        assert limit.get() == 6


async def test_an_empty_variable_is_a_value(make_memory, tmp_path, monkeypatch):
    (tmp_path / "config.yaml").write_text("all:\n  Shelf: file\n")
    monkeypatch.setenv("SHOP_EXAMPLE_SHELF", "")
    shop = make_memory("shop.example")
    _, shelf = declared(shop)
    async with shop:
        assert shelf.get() == ""


@pytest.mark.requirement("S0-122", "A77")
async def test_the_configurator_never_overrides_the_constructor(make, monkeypatch):
    monkeypatch.setenv("SHOP_EXAMPLE_LIMIT", "4")
    shop = make("shop.example", config={"Limit": "6"})
    limit, shelf = declared(shop)
    values = {"Limit": "5", "Shelf": "theirs"}
    core, asked = make("configurator.core"), []

    @core.endpoint("POST", ":888/values")
    async def told(request):
        asked.append(request.source)
        return {"values": values}

    async with core, shop:
        assert (limit.get(), shelf.get()) == (6, "theirs")
        values["Shelf"] = "newer"
        await shop.request("POST", "https://shop.example:888/config-refresh")
        assert (limit.get(), shelf.get()) == (6, "newer")
    assert asked == ["shop.example"] * 2


async def test_a_configurator_that_is_gone_leaves_the_values_that_it_told(make, monkeypatch):
    shop, core = make("shop.example"), make("configurator.core")
    limit, shelf = declared(shop)
    core.endpoint("POST", ":888/values")(lambda: {"values": {"Limit": "7"}})
    async with core:
        await shop.startup()
        assert (limit.get(), shelf.get()) == (7, "upper")
    monkeypatch.setenv("SHOP_EXAMPLE_SHELF", "variable")
    await shop.request("POST", "https://shop.example:888/config-refresh")
    assert (limit.get(), shelf.get()) == (7, "variable")
    await shop.shutdown()


async def test_a_configurator_that_tells_a_part_leaves_the_defaults_of_the_rest(make_nats, caplog):
    values, shop = {"Limit": "5", "Shelf": "lower"}, make_nats("shop.example", deployment="LAB")
    limit, shelf = declared(shop)
    core = make_nats("configurator.core", deployment="LAB")
    core.endpoint("POST", ":888/values")(lambda: {"values": values})
    async with core, shop:
        assert (limit.get(), shelf.get()) == (5, "lower")
        del values["Shelf"]
        await shop.request("POST", "https://shop.example:888/config-refresh")
        assert (limit.get(), shelf.get()) == (5, "upper"), "what is no longer told"
        await shop.shutdown()
        async with shop:
            assert (limit.get(), shelf.get()) == (5, "upper")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_without_a_configurator_a_service_on_a_broker_does_not_start(
    make_nats, caplog, tmp_path, monkeypatch
):
    shop = make_nats("shop.example", deployment="LAB")
    declared(shop)
    with pytest.raises(BusError, match="'Limit, Shelf'") as caught:
        await shop.startup()
    assert caught.value.reason == "configurator"
    assert not shop.running
    optional = make_nats("shop.example", deployment="LAB", configurator="optional")
    limit, _ = declared(optional)
    async with optional:
        assert limit.get() == 1
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "no configurator; the defaults of Limit, Shelf" in warnings[0]
    monkeypatch.setenv("SHOP_EXAMPLE_LIMIT", "4")
    (tmp_path / "config.yaml").write_text("all:\n  Shelf: file\n")
    async with shop:
        assert shop.running
    async with make_nats("stock.example", deployment="LAB") as stock:  # nothing is declared
        assert stock.running


SOURCES = {
    "variable": "SHOP_EXAMPLE_LIMIT",
    "file": r"config\.yaml:3",
    "constructor": "config=",
    "configurator": r"configurator\.core",
}


@pytest.mark.parametrize("source", SOURCES)
async def test_a_service_does_not_start_on_the_default_if_a_value_cannot_be_parsed(
    make_memory, tmp_path, monkeypatch, source
):
    core = configurator(
        {"all": {"Limit": "fifty"}} if source == "configurator" else {},
        plane=make_memory("x.example").plane, nats="", deployment="TESTING",
    )  # fmt: skip
    if source == "variable":
        monkeypatch.setenv("SHOP_EXAMPLE_LIMIT", "fifty")
    if source == "file":
        (tmp_path / "config.yaml").write_text("# limits\nall:\n  Limit: fifty\n")
    shop = make_memory(
        "shop.example", config={"Limit": "fifty"} if source == "constructor" else None
    )
    declared(shop)
    why = rf"^shop\.example: .*{SOURCES[source]}: config 'Limit' cannot be parsed: .*'fifty'"
    async with contextlib.AsyncExitStack() as stack:
        if source == "configurator":
            await stack.enter_async_context(core)
        with pytest.raises(BusError, match=why) as caught:
            await shop.startup()
    assert caught.value.reason == "config-value"
    assert not shop.running


async def test_a_value_that_cannot_be_parsed_later_keeps_the_old_one_and_names_its_source(
    make_memory, monkeypatch, caplog
):
    monkeypatch.setenv("SHOP_EXAMPLE_LIMIT", "4")
    shop = make_memory("shop.example")
    limit, _ = declared(shop)
    async with shop:
        monkeypatch.setenv("SHOP_EXAMPLE_LIMIT", "fifty")
        await shop.request("POST", "https://shop.example:888/config-refresh")
        assert limit.get() == 4
    (line,) = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert line.startswith("shop.example: SHOP_EXAMPLE_LIMIT: config 'Limit' cannot be parsed")


async def test_without_a_broker_or_in_tests_it_starts(make_memory, make_nats):
    for shop in (make_memory("shop.example", deployment="LAB"), make_nats("shop.example")):
        limit, _ = declared(shop)
        async with shop:
            assert limit.get() == 1


async def test_in_tests_it_starts_if_a_variable_says_so(make_nats, monkeypatch):
    monkeypatch.setenv("MICROBUS_DEPLOYMENT", "testing")
    shop = make_nats("shop.example", deployment=None)
    limit, _ = declared(shop)
    async with shop:
        assert (shop.deployment, limit.get()) == ("TESTING", 1)


def test_the_configurator_is_required_or_optional():
    with pytest.raises(ValueError, match="'required' or 'optional'"):
        Connector("shop.example", nats="", configurator="never")


def test_the_configurator_is_checked_before_anything_is_made():
    with pytest.raises(ValueError, match="'required' or 'optional'"):  # not what a server refuses
        Connector("shop.example", nats="", configurator="never", max_at_work=0)


async def test_replicas_of_the_configurator_share_the_latest_values(make):
    options = {"plane": make("x.example").plane, "deployment": "TESTING"}
    probe = make("probe.example")
    transport = {"nats": probe._transport.broker, "short_circuit": probe._transport.short_circuit}
    core = configurator({"all": {"Limit": "1"}}, **options, **transport)
    other = make("configurator.core")
    shop = make("shop.example")
    limit, _ = declared(shop)
    async with core, other, shop:
        assert limit.get() == 1
        url = "https://configurator.core:888/sync-repo"
        for hours, sent, expected in ((-1, "8", 1), (1, "9", 9), (0.5, "10", 9)):
            at = datetime.now(UTC) + timedelta(hours=hours)
            body = {"timestamp": at.isoformat(), "values": {"all": {"Limit": sent}}}
            async for _ in other.publish("POST", url, json=body):
                pass
            await shop.request("POST", "https://shop.example:888/config-refresh")
            assert limit.get() == expected
        foreign = {"timestamp": "2099-01-01T00:00:00Z", "values": {"all": {"Limit": "66"}}}
        async for _ in shop.publish("POST", url, json=foreign):
            pass
        await shop.request("POST", "https://shop.example:888/config-refresh")
        assert limit.get() == 9


async def test_a_value_without_a_source_names_its_variable_and_a_near_name(
    make_nats, tmp_path, monkeypatch, caplog
):
    """L29: neither was told, and a bad line of the file was told twice."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text("stock.example:\n  thresholds: 3\n- bad\n")
    shop = make_nats("stock.example", deployment="LAB")
    shop.config("threshold", default=2)
    with pytest.raises(BusError, match="no other source") as caught:
        await shop.startup()
    told = str(caught.value)
    assert "the variable of threshold is STOCK_EXAMPLE_THRESHOLD" in told
    assert "config.yaml:2 has thresholds" in told
    assert sum("config.yaml:3 is not read" in r.getMessage() for r in caplog.records) == 1


NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("timestamp", "values", "taken"),
    [
        ("2026-01-02T00:00:01Z", {"all": {"Limit": "9"}}, True),
        ("2026-01-02T00:00:01", {"all": {"Limit": 9}}, True),
        ("2026-01-02T01:00:01+01:00", {"shop.example": {"Limit": "9"}}, True),
        ("2026-01-02T00:00:00Z", {"all": {"Limit": "9"}}, False),
        ("2026-01-02T00:59:59+01:00", {"all": {"Limit": "9"}}, False),
        ("2026-01-03T00:00:00Z", {}, True), ("yesterday", {}, None), (7, {}, None),
        ("2026-01-03T00:00:00Z", [], None), ("2026-01-03T00:00:00Z", {"all": 7}, None),
        ("2026-01-03T00:00:00Z", None, None),
    ],
)  # fmt: skip
async def test_only_later_values_of_a_replica_are_taken(
    make_memory, monkeypatch, timestamp, values, taken
):
    monkeypatch.setattr("subtrie.connector._system.now", NOW.timestamp)
    other, shop = make_memory("configurator.core"), make_memory("shop.example")
    core = configurator({"ALL": {"Limit": "1"}}, plane=other.plane, deployment="TESTING", nats="")
    assert core.version == 254
    async with core, shop, other:
        body = {"timestamp": timestamp, "values": values}
        url = "https://configurator.core:888/sync-repo"
        answers = [each async for each in other.publish("POST", url, json=body)]
        (status,) = {each.status for each in answers if each.id == core.id}
        assert status == (400 if taken is None else 200)
        if taken is None:
            (error,) = [each.error for each in answers if each.id == core.id]
            assert error.message == "expected a timestamp (RFC 3339) and values"
        url = "https://configurator.core:888/values"
        told = (await shop.request("POST", url, json={"names": ["Limit", "Other"]})).json()
    left = {"Limit": "9"} if values else {}
    assert told == {"values": left if taken else {"Limit": "1"}}


@pytest.mark.parametrize("missing", ["timestamp", "values", None])
async def test_a_replica_that_says_less_is_refused(make_memory, missing):
    other = make_memory("configurator.core")
    core = configurator(plane=other.plane, deployment="TESTING", nats="")
    body = {"timestamp": "2026-01-03T00:00:00Z", "values": {}}
    body.pop(missing, None)
    async with core, other:
        url = "https://configurator.core:888/sync-repo"
        answers = [each async for each in other.publish("POST", url, json=body if missing else [])]
        assert [each.status for each in answers if each.id == core.id] == [400]


async def test_replicas_of_the_configurator_have_the_values_that_were_read_last(
    make_memory, monkeypatch
):
    now = [NOW.timestamp()]
    monkeypatch.setattr("subtrie.connector._system.now", lambda: now[0])
    shop, other = make_memory("shop.example"), make_memory("configurator.core")
    options = {"plane": shop.plane, "deployment": "TESTING", "nats": ""}
    one, two = (configurator({"all": {"Limit": text}}, **options) for text in ("one", "two"))

    async def told() -> list[str]:
        urls = [f"https://{core.id}.configurator.core:888/values" for core in (one, two)]
        answers = [await shop.request("POST", url, json={"names": ["Limit"]}) for url in urls]
        return [each.json()["values"]["Limit"] for each in answers]

    async def sync(replica: Connector, seconds: float) -> None:
        at = NOW + timedelta(seconds=seconds)
        body = {"timestamp": at.isoformat(), "values": {"all": {"Limit": f"at {seconds}"}}}
        url = "https://configurator.core:888/sync-repo"
        answers = [each async for each in replica.publish("POST", url, json=body)]
        assert {each.id for each in answers} >= {one.id, two.id}

    async with shop, other, one:
        now[0] += 2
        async with two:
            while await told() != ["two", "two"]:  # the second one tells at its start
                await asyncio.sleep(0)
            await sync(other, 2)
            assert await told() == ["two", "two"], "they are not later than what was read"
            await sync(one, 3)
            assert await told() == ["two", "at 3"], "its own are not those of a replica"
            await sync(other, 4)
            assert await told() == ["at 4", "at 4"]


async def test_values_given_to_the_configurator_are_added_to_those_of_its_file(
    make_memory, tmp_path
):
    (tmp_path / "config.yaml").write_text("all:\n  Limit: 3\n  Shelf: file\n")
    shop = make_memory("shop.example")
    options = {"plane": shop.plane, "deployment": "TESTING", "nats": ""}
    core = configurator({"ALL": {"Limit": "1"}}, **options, version=7)
    assert core.version == 7
    (ticker,) = core._lifecycle.tickers
    assert (ticker._seconds, ticker._first) == (1200.0, 0.0)
    async with core, shop:
        url = "https://configurator.core:888/values"
        told = await shop.request("POST", url, json={"names": ["Limit", "Shelf"]})
    assert told.json() == {"values": {"Limit": "1", "Shelf": "file"}}


async def test_every_service_refreshes_when_the_configurator_says_so(make_memory):
    shop, web = make_memory("shop.example"), make_memory("web.example")
    values = {"Shop.Example": {"Limit": "5"}}
    core = configurator(values, plane=shop.plane, deployment="TESTING", nats="")
    limit, _ = declared(shop)
    async with shop, web:
        assert limit.get() == 1
        async with core:
            await until(lambda: limit.get() == 5)  # told at its start
            for text in ("6", "7"):
                values["Shop.Example"]["Limit"] = text
                core._lifecycle.on_startup[0]()  # it reads the values anew
                answer = await web.request("POST", "https://configurator.core:444/refresh")
                assert (answer.json(), limit.get()) == ({}, int(text))
