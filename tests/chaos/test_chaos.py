"""A short run of the chaos, and the faults of the proxy one by one."""

from __future__ import annotations

import asyncio

import nats
import pytest

from connector.nats_server import NatsServer
from patience import settled

from .broker_cluster import BrokerCluster
from .fault_proxy import FaultProxy
from .world import HOST, OUTCOMES, Violation, World


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("NATS", "PLANE", "LOCALITY", "DEPLOYMENT", "SHORT_CIRCUIT"):
        monkeypatch.delenv(f"MICROBUS_{name}", raising=False)


def test_every_request_has_one_outcome_while_a_cluster_fails(tmp_path):
    async def run():
        async with BrokerCluster(tmp_path, 3, seed=7) as cluster:
            world = World(cluster, seed=7, requests=100_000, seconds=4)
            return await world.run()

    report = asyncio.run(run())
    assert report.requests > 50
    assert sum(report.outcomes.values()) == report.requests
    assert set(report.outcomes) <= set(OUTCOMES)
    assert report.outcomes["response"] > 10
    assert len(report.faults) >= 4


async def _greeted(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    line = await reader.readline()
    writer.close()
    return line


def test_info_is_broken_in_greetings_and_in_open_connections(server):
    async def run():
        proxy = await FaultProxy(server.port, 1).start()
        whole = await _greeted(proxy.port)
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        lines = [whole, await reader.readline()]
        proxy.break_info()
        lines.append(await reader.readline())
        writer.close()
        proxy.faults.broken_info = True
        lines.append(await _greeted(proxy.port))
        await proxy.stop()
        return lines, proxy.injected

    lines, injected = asyncio.run(run())
    assert all(line.startswith(b"INFO {") for line in lines)
    assert [b'"max_payload":1048576' in line for line in lines] == [True, True, False, False]
    assert injected["INFO broken"] == 2


def test_a_handler_runs_once_where_no_message_is_duplicated(tmp_path):
    async def run():
        async with BrokerCluster(tmp_path, 1, seed=3) as cluster:
            world = World(cluster, seed=3, requests=100_000, seconds=2, duplicates=False)
            return await world.run()

    report = asyncio.run(run())
    assert report.handled_twice == 0
    assert report.outcomes["response"] > 10


class Wrong(World):
    """Responses that are another request's, or a request that has ended before it began."""

    def __init__(self, *args, broken, **options):
        self._broken = broken
        super().__init__(*args, **options)
        if broken == "ended":
            self._ended[3] = 1

    def _replica(self, plane):
        if self._broken == "ended":
            return super()._replica(plane)
        shop = self._make(HOST, plane)
        shop.endpoint("POST", "/{caller}/{n}")(lambda caller, n: {"n": "1", "to": caller})
        return shop


@pytest.mark.parametrize("broken", ["response", "ended"])
def test_a_broken_promise_is_found(tmp_path, broken):
    async def run():
        async with BrokerCluster(tmp_path, 1, seed=1) as cluster:
            await Wrong(cluster, broken=broken, seed=1, requests=20, seconds=3).run()

    with pytest.raises(Violation):
        asyncio.run(run())


async def _delivered(port: int, count: int) -> list[bytes]:
    """Send so many messages through a proxy to a subscription; return what arrives."""
    client = await nats.connect(f"nats://127.0.0.1:{port}", allow_reconnect=False)
    got: list[bytes] = []

    async def heard(message) -> None:
        got.append(message.data)

    await client.subscribe("a", cb=heard)
    await settled(client)
    for number in range(count):
        await client.publish("a", b"%d" % number)
        await settled(client)
    await asyncio.sleep(0.2)
    await client.close()
    return got


@pytest.fixture
def server(tmp_path):
    server = NatsServer(tmp_path / "nats").start()
    yield server
    server.stop()


def _through(server, faults, seed=1):
    async def run():
        proxy = await FaultProxy(server.port, seed).start()
        for name, value in faults.items():
            setattr(proxy.faults, name, value)
        try:
            return await _delivered(proxy.port, 20), proxy.injected
        finally:
            await proxy.stop()

    return asyncio.run(run())


def test_the_proxy_changes_nothing_without_faults(server):
    got, injected = _through(server, {})
    assert got == [b"%d" % number for number in range(20)]
    assert injected == {}


def test_messages_are_duplicated(server):
    got, injected = _through(server, {"duplicate": 0.5})
    assert len(got) > 20
    assert set(got) == {b"%d" % number for number in range(20)}
    assert injected["messages duplicated"] >= len(got) - 20


def test_messages_change_their_order_and_none_is_lost(server):
    got, injected = _through(server, {"reorder": 0.5})
    assert sorted(got, key=int) == [b"%d" % number for number in range(20)]
    assert injected["messages reordered"] > 0


def test_a_half_open_connection_is_silent_and_stays(server):
    async def run():
        proxy = await FaultProxy(server.port, 1).start()
        client = await nats.connect(f"nats://127.0.0.1:{proxy.port}", allow_reconnect=False)
        proxy.faults.frozen = True
        flushing = asyncio.create_task(client.flush(timeout=5))
        await asyncio.sleep(0.2)
        still = (flushing.done(), client.is_connected)
        proxy.faults.frozen = False
        await flushing
        proxy.cut()
        await asyncio.sleep(0.2)
        closed = client.is_closed
        await proxy.stop()
        return still, closed

    assert asyncio.run(run()) == ((False, True), True)
