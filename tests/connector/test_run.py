"""A program that runs connectors: how it starts and ends, and what it says of a failure."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Iterator

import pytest

from patience import PATIENCE, until
from subtrie.connector import Connector, run, serve
from subtrie.connector._run import log_to_stderr, missing_creds


def connectors(*hosts: str) -> list[Connector]:
    return [Connector(host, plane="p", nats="", deployment="TESTING") for host in hosts]


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


async def test_a_program_that_is_stopped_while_it_starts_says_nothing_of_a_broker(caplog):
    (shop,) = connectors("shop.example")

    @shop.on_startup
    async def stop() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    await asyncio.wait_for(serve(shop), PATIENCE)
    assert not shop.running
    assert "no broker" not in caplog.text


async def test_a_service_that_cannot_start_ends_the_start_of_the_others():
    slow, bad = connectors("slow.example", "bad.example")
    ended = []

    @slow.on_startup
    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(50):  # what it began, it ends before the program does
                await asyncio.sleep(0)
            ended.append("slow")

    @bad.on_startup
    async def fail() -> None:
        raise ConnectionError("bad.example: no stock")

    with pytest.raises(ConnectionError, match="no stock"):
        await asyncio.wait_for(serve(slow, bad), PATIENCE)
    assert (ended, slow.running, bad.running) == (["slow"], False, False)


def test_a_start_that_takes_too_long_is_one_line(caplog):
    (shop,) = connectors("shop.example")

    @shop.on_startup
    async def wait() -> None:
        raise TimeoutError("the database did not answer")

    with pytest.raises(SystemExit) as ended:
        run(shop)
    assert ended.value.code == 1
    told = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert told == ["shop.example: the database did not answer"]


@pytest.mark.parametrize(("text", "seconds"), [(None, 120.0), ("5s", 5.0)])
async def test_every_service_has_the_time_of_the_program_to_start(monkeypatch, text, seconds):
    monkeypatch.delenv("MICROBUS_STARTUP_TIME_BUDGET", raising=False)
    if text is not None:
        monkeypatch.setenv("MICROBUS_STARTUP_TIME_BUDGET", text)
    waits = []

    class Recorded(Connector):
        async def startup(self, *, wait: float | None = None) -> None:
            waits.append(wait)
            os.kill(os.getpid(), signal.SIGTERM)

    hosts = ("configurator.core", "shop.example")
    await serve(*(Recorded(host, plane="p", nats="", deployment="TESTING") for host in hosts))
    assert waits[0] == seconds
    assert set(waits) == {seconds}


@contextlib.contextmanager
def without_logging() -> Iterator[logging.Logger]:
    """The logger of connectors in a program that has not set up logging."""
    loggers = [logging.getLogger(name) for name in ("", "subtrie", "subtrie.connector", "nats")]
    before = [(each, each.handlers, each.level) for each in loggers]
    for each in loggers:
        each.handlers = []
        each.setLevel(logging.NOTSET)
    try:
        yield loggers[2]
    finally:
        for each, handlers, level in before:
            each.handlers = handlers
            each.setLevel(level)


def test_records_are_written_where_the_program_has_not_set_up_logging():
    record = logging.makeLogRecord({"name": "subtrie.connector", "msg": "up", "levelname": "INFO"})
    with without_logging():
        log_to_stderr()
        (handler,) = logging.getLogger().handlers
        assert handler.format(record).endswith(" INFO subtrie.connector: up")
        assert logging.getLogger().level == logging.INFO
        assert logging.getLogger("nats").level == logging.CRITICAL


def test_the_logging_of_the_program_is_left_alone():
    with without_logging() as logger:
        logger.addHandler(logging.NullHandler())
        log_to_stderr()
        assert logging.getLogger().handlers == []
        assert logging.getLogger("nats").level != logging.CRITICAL
