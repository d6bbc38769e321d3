"""A broker that is not up yet, and arguments that are refused before anything is sent."""

from __future__ import annotations

import asyncio
import logging
import os
import signal

import pytest

from patience import PATIENCE, until
from subtrie import InvalidInput
from subtrie.connector import Connector, run, serve
from subtrie.connector._broker import connection as broker_connection
from subtrie.connector._run import missing_creds

from .nats_server import NatsServer

HOST, URL = "shop.example", "https://shop.example"


async def test_startup_waits_for_a_broker_that_is_not_up_yet(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(broker_connection, "CONNECT_LIMIT", 0.3)
    caplog.set_level(logging.INFO, "subtrie.connector")
    server = NatsServer(tmp_path).start()
    server.stop()
    shop = Connector(HOST, plane="wait1", nats=server.url, deployment="LOCAL")
    starting = asyncio.create_task(shop.startup())
    await asyncio.sleep(1.0)
    assert not starting.done()
    server.start()
    try:
        await asyncio.wait_for(starting, PATIENCE)
        assert shop.running
    finally:
        await shop.shutdown()
        server.stop()
    waiting = [r for r in caplog.records if "waiting for the broker" in r.message]
    assert len(waiting) == 1


async def test_the_wait_is_bounded_and_ends_with_a_clear_error(tmp_path, monkeypatch):
    server = NatsServer(tmp_path).start()
    server.stop()
    shop = Connector(HOST, plane="wait2", nats=server.url, deployment="LOCAL")
    for options in ({"wait": 0.6}, {}):
        monkeypatch.setenv("MICROBUS_STARTUP_TIME_BUDGET", "1s")
        with pytest.raises(ConnectionError, match=r"no connection to nats://.*; waited 0\.[69] s"):
            await shop.startup(**options)
        assert not shop.running


async def test_a_test_does_not_wait(tmp_path):
    server = NatsServer(tmp_path).start()
    server.stop()
    shop = Connector(HOST, plane="wait3", nats=server.url, deployment="TESTING")
    with pytest.raises(ConnectionError) as failed:
        await shop.startup()
    assert "waited" not in str(failed.value)


async def test_arguments_that_cannot_be_meant_are_refused(make_memory):
    for url in ("http://127.0.0.1:4222", "nats://a:1,https://b:1", "redis://user:secret@a"):
        with pytest.raises(InvalidInput) as refused:
            Connector(HOST, plane="p", nats=url)
        assert refused.value.reason == "broker-scheme"
        assert "secret" not in str(refused.value)
    for url in ("localhost:4222", "nats://a:1, nats://b:1", "TLS://a:1"):
        Connector(HOST, plane="p", nats=url)
    shop = make_memory(HOST)
    with pytest.raises(TypeError, match="takes an Event"):
        shop.on("https://shop.example:417/on-order")
    async with shop:
        with pytest.raises(InvalidInput) as refused:
            await shop.request("POST", f"{URL}/x", json={}, body=b"x")
        assert refused.value.reason == "json-and-body"
        for timeout in ("3", True, object()):
            with pytest.raises(InvalidInput) as refused:
                await shop.request("GET", f"{URL}/x", timeout=timeout)
            assert refused.value.reason == "timeout-type"


@pytest.mark.parametrize(
    ("text", "files", "told"),
    [("Authorization Violation", (), True), ("Authorization Violation", ("nats.creds",), False),
     ("Authorization Violation", ("b.example_nats.creds",), False),
     ("Authorization Violation", ("c.example_nats.creds",), True), ("connection lost", (), False)],
)  # fmt: skip
def test_the_creds_that_were_looked_for_are_told(text, files, told, tmp_path):
    for name in files:
        (tmp_path / name).touch()
    connectors = [Connector(host, plane="p", nats="") for host in ("a.example", "b.example")]
    names = "a.example_nats.creds, b.example_nats.creds, nats.creds"
    said = f"; no creds found: looked for {names} in {tmp_path}"
    assert missing_creds(ConnectionError(text), connectors) == (said if told else "")


@pytest.mark.parametrize("hosts", [("a.example",), ("a.example", "b.example")])
def test_a_program_that_cannot_start_says_why_in_one_line(hosts, caplog, monkeypatch):
    monkeypatch.setenv("MICROBUS_STARTUP_TIME_BUDGET", "300ms")
    url = "nats://127.0.0.1:9"
    with pytest.raises(SystemExit) as ended:
        run(*(Connector(host, plane="p", nats=url, deployment="LAB") for host in hosts))
    assert ended.value.code == 1
    (record,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert record.getMessage().startswith(f"{', '.join(hosts)}: no connection to {url}")


def test_the_error_of_one_service_names_it_alone(caplog):
    good, bad = (Connector(host, plane="p", nats="") for host in ("a.example", "b.example"))
    bad.config("Limit", parse=int, default="x")

    @bad.on_startup
    async def fail() -> None:
        raise ConnectionError("b.example: no stock")

    with pytest.raises(SystemExit):
        run(good, bad)
    (record,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert record.getMessage() == "b.example: no stock"
    assert not good.running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_program_stops_in_reverse_order(number):
    order: list[str] = []
    made = [Connector(host, plane="p", nats="", deployment="TESTING")
            for host in ("b.example", "configurator.core", "a.example")]  # fmt: skip
    for each in made:
        each.on_startup(lambda each=each: order.append(f"+{each.host}"))
        each.on_shutdown(lambda each=each: order.append(f"-{each.host}"))

    async def serve_until_told() -> None:
        serving = asyncio.create_task(serve(*made))
        await until(lambda: all(each.running for each in made))
        os.kill(os.getpid(), number)
        await serving

    asyncio.run(serve_until_told())
    assert order[0] == "+configurator.core"
    assert order[3:] == ["-a.example", "-configurator.core", "-b.example"]
