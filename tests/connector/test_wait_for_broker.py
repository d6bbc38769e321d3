"""A broker that is not up yet, and arguments that are refused before anything is sent."""

from __future__ import annotations

import asyncio
import logging

import pytest

from patience import PATIENCE
from subtrie import InvalidInput
from subtrie.connector import Connector
from subtrie.connector._broker import connection as broker_connection

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
