"""Startup, shutdown and settings."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path

import pytest

import subtrie
from subtrie import AddressError, BusError, Dispatcher, InvalidInput, microbus
from subtrie.connector import Connector, HTTPError, _settings
from subtrie.connector._broker.shared import open_connections
from subtrie.connector._credentials import load_credentials

HOST = "shop.example"


@pytest.mark.requirement("S0-077", "S0-078", "S0-079")
async def test_the_startup_hook_can_send_requests(make, plane):
    stock, shop = make("stock.example"), make(HOST)
    stock.endpoint("GET", "/level")(lambda: "7")
    order = []
    shop.endpoint("GET", "/x")(lambda: None)

    @shop.on_startup
    async def ask():
        order.append((await shop.request("GET", "https://stock.example/level")).body)
        assert not shop.endpoints[0].active, "nobody asks us before we are ready"
        (replies,) = shop._lifecycle.replies
        assert replies.pattern == f"{plane}.reply._.*.shop_example.{shop.id}"
        assert replies.queue == shop.id

    @shop.on_shutdown
    def leave():
        order.append("left")

    async with stock, shop:
        assert order == [b"7"]
    assert order == [b"7", "left"]


async def test_a_failing_startup_closes_everything(make):
    before = len(Dispatcher.shared())
    shop = make(HOST)
    shop.endpoint("GET", "/x")(lambda: None)

    @shop.on_startup
    async def fail():
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        await shop.startup()
    assert len(Dispatcher.shared()) == before
    assert open_connections() == 0
    with pytest.raises(RuntimeError):
        await shop.startup()  # it may be tried again


async def test_shutdown_waits_for_running_handlers(make):
    shop, web = make(HOST), make("web.example")
    begun = asyncio.Event()

    @shop.endpoint("GET", "/slow")
    async def slow():
        begun.set()
        await asyncio.sleep(0.2)
        return "done"

    async with web:
        await shop.startup()
        asking = asyncio.create_task(web.request("GET", f"https://{HOST}/slow"))
        await begun.wait()
        await shop.shutdown()
        assert (await asking).body == b"done"
        await shop.shutdown()  # nothing to do twice
    assert open_connections() == 0


async def test_a_handler_that_does_not_finish_is_cancelled_and_answered(make):
    shop, web = make(HOST), make("web.example")
    begun = asyncio.Event()

    @shop.endpoint("GET", "/stuck")
    async def stuck():
        begun.set()
        await asyncio.sleep(60)

    async with web:
        await shop.startup()
        asking = asyncio.create_task(web.request("GET", f"https://{HOST}/stuck"))
        await begun.wait()
        await shop.shutdown(timeout=0.05)
        with pytest.raises(HTTPError) as ended:
            await asking
        assert ended.value.status == 503


async def test_shutdown_unsubscribes_everything(make):
    before = len(Dispatcher.shared())
    shop = make(HOST, locality="us-west")
    shop.endpoint("GET", "/x")(lambda: None)
    async with shop:
        pass
    assert len(Dispatcher.shared()) == before


@pytest.mark.requirement("S0-038")
async def test_subscriptions_do_not_depend_on_callers(make):
    shop = make(HOST)
    shop.endpoint("GET", "/x")(lambda: None)
    async with shop:
        callers = [make(f"caller{n}.example") for n in range(3)]
        places = [place.pattern for place in shop.endpoints[0].registrations]
        for caller in callers:
            async with caller:
                await caller.request("GET", f"https://{HOST}/x")
        assert [place.pattern for place in shop.endpoints[0].registrations] == places
        assert all(pattern.split(".")[3] == "*" for pattern in places)


@pytest.mark.requirement("S0-018", "S0-020", "S0-021", "S0-022")
def test_the_sources_of_the_plane(monkeypatch, plane):
    assert Connector(HOST).plane == plane, "derived from the id of this test"
    monkeypatch.setenv("MICROBUS_PLANE", "fromenv")
    assert Connector(HOST).plane == "fromenv"
    given = Connector(HOST, plane="given")
    assert given.plane == "given"
    with given.moved("moved"):  # of a connector that is made already
        assert given.plane == "moved"
    assert given.plane == "given"
    monkeypatch.delenv("MICROBUS_PLANE")
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    assert Connector(HOST).plane == "microbus"
    Path("env.yaml").write_text("# flat\nMICROBUS_PLANE: fromfile\nOTHER: 'x'\n")
    assert Connector(HOST).plane == "fromfile"
    Path("env.local.yaml").write_text('MICROBUS_PLANE: "local"  # wins\n')
    assert Connector(HOST).plane == "local"


#: Two tests that give no plane, run at a time by two processes, on one broker.
TWO_TESTS = """
import asyncio, os
from pathlib import Path
import pytest
from subtrie.connector import Connector

@pytest.mark.parametrize("name", ["one", "two"])
def test_alone(name):
    async def main():
        options = {"nats": os.environ["BROKER"], "short_circuit": False}
        shop, web = Connector("shop.example", **options), Connector("web.example", **options)
        shop.endpoint("GET", "/x")(lambda: name)
        shop.endpoint("GET", "/all", queue=None)(lambda: name)
        async with shop, web, asyncio.timeout(60):
            Path(name).touch()
            while not (Path("one").exists() and Path("two").exists()):
                await asyncio.sleep(0.01)
            for _ in range(50):
                answer = await web.request("GET", "https://shop.example/x")
                assert answer.body == name.encode()
            heard = [a.body async for a in web.publish("GET", "https://shop.example/all")]
            assert heard == [name.encode()]
            Path(f"{name}-done").touch()
            while not (Path("one-done").exists() and Path("two-done").exists()):
                await asyncio.sleep(0.01)
    asyncio.run(main())
"""


@pytest.mark.requirement("S0-020")
async def test_two_tests_at_a_time_do_not_receive_each_others_messages(broker, tmp_path):
    (tmp_path / "test_two.py").write_text(TWO_TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    package = str(Path(subtrie.__file__).parents[1])
    environment = {**os.environ, "BROKER": broker.url, "PYTHONPATH": package}
    running = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
            f"test_two.py::test_alone[{name}]",
            cwd=tmp_path, env=environment, stdout=asyncio.subprocess.PIPE,
        )
        for name in ("one", "two")
    ]  # fmt: skip
    for each in running:
        told, _ = await each.communicate()
        assert each.returncode == 0, told.decode()
        assert b"1 passed" in told


def test_hosts_ids_planes_and_localities_are_checked_at_once():
    for host in ("Shop.example", "a_b", "", "all", "x.all", "id-1.b", "a..b"):
        with pytest.raises(AddressError):
            Connector(host)
    for options in ({"plane": "a.b"}, {"id": "x"}, {"id": "id-*"}, {"locality": "US west"}):
        with pytest.raises(AddressError):
            Connector(HOST, **options)
    with pytest.raises(ValueError, match="deployment"):
        Connector(HOST, deployment="HOME")
    assert Connector(HOST, locality="1.b.west.us").locality == "us-west-b-1"


def test_variables_choose_transports_and_deployment(monkeypatch):
    assert _settings.broker(None, True) == ""
    assert _settings.broker(None, False) == "nats://127.0.0.1:4222"
    assert _settings.deployment(None) == "TESTING"
    for value, expected in (("0", False), ("FALSE", False), ("1", True), ("", True)):
        monkeypatch.setenv("MICROBUS_SHORT_CIRCUIT", value)
        assert _settings.short_circuit(None) is expected
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    assert _settings.deployment(None) == "LOCAL"
    monkeypatch.setenv("MICROBUS_NATS", "nats://127.0.0.1:4222")
    assert _settings.deployment(None) == "LOCAL"
    monkeypatch.setenv("MICROBUS_NATS", "nats://bus.example:4222")
    assert _settings.deployment(None) == "PROD"
    monkeypatch.setenv("MICROBUS_DEPLOYMENT", "lab")
    assert _settings.deployment(None) == "LAB"
    monkeypatch.setenv("MICROBUS_LOCALITY", "us-west")
    assert Connector(HOST).locality == "us-west"


@pytest.mark.parametrize("name", ["nats-py", "Native", "other"])
def test_there_is_one_client_of_nats(monkeypatch, name):
    said = f"transport must be 'native', not '{name}': connectors have one client"
    with pytest.raises(ValueError, match=said):
        Connector(HOST, transport=name)
    monkeypatch.setenv("SUBTRIE_TRANSPORT", name)
    with pytest.raises(ValueError, match=said):
        Connector(HOST)
    monkeypatch.setenv("SUBTRIE_TRANSPORT", "native")
    assert not Connector(HOST, transport="native").running


@pytest.mark.parametrize("url", ["ws://bus:80", "nats://a:1, WSS://user:hunter2@b:2"])
def test_a_websocket_is_refused_where_the_connector_is_made(url):
    with pytest.raises(InvalidInput, match="begin it with nats:// or tls://") as caught:
        Connector(HOST, nats=url)
    assert caught.value.reason == "broker-scheme"
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.requirement("S0-122", "S0-123")
def test_the_services_own_creds_file_comes_before_the_shared_one(tmp_path):
    url = "nats://h:1"
    none = load_credentials(url, HOST)
    shared = tmp_path / "nats.creds"
    shared.write_text("shared")
    shared.chmod(0o600)
    assert load_credentials(url, HOST).creds == "shared"
    own = tmp_path / f"{HOST}_nats.creds"
    own.write_text("own")
    own.chmod(0o600)
    assert load_credentials(url, HOST).creds == "own"
    assert load_credentials(url, "web.example").creds == "shared"
    digests = {
        none.digest,
        load_credentials(url, HOST).digest,
        load_credentials(url, "web.example").digest,
    }
    assert len(digests) == 3
    shared.write_text("own")
    assert load_credentials(url, HOST).digest == load_credentials(url, "web.example").digest, (
        "content counts"
    )
    assert "own" not in repr(load_credentials(url, HOST))


@pytest.mark.requirement("A30")
def test_secrets_that_others_may_read_are_refused(tmp_path):
    file = tmp_path / "nats.creds"
    file.write_text("secret")
    file.chmod(0o640)
    with pytest.raises(BusError) as refused:
        load_credentials("nats://h:1", HOST)
    assert refused.value.reason == "readable-creds"
    assert load_credentials("nats://h:1", HOST, allow_readable=True).creds == "secret"
    file.unlink()
    folder = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    folder.mkdir()
    (folder / "x").write_text("secret")
    for name in ("nats.creds", "ca.pem", "cert.pem", "key.pem", f"{HOST}_nats.creds"):
        link = tmp_path / name
        link.symlink_to(folder / "x")
        with pytest.raises(BusError) as refused:
            load_credentials("nats://h:1", HOST, allow_readable=True)
        assert refused.value.reason == "creds-link"
        link.unlink()


@pytest.mark.requirement("S0-124", "A31")
async def test_one_connection_for_each_distinct_credentials(make_nats, tmp_path):
    one, two, three = make_nats("a.example"), make_nats("b.example"), make_nats("c.example")
    file = tmp_path / "c.example_nats.creds"
    async with one, two:
        assert open_connections() == 1
        file.write_text("not asked for by this server\n")
        file.chmod(0o600)
        assert (
            load_credentials(one._transport.broker, "c.example").digest
            != load_credentials(one._transport.broker, "a.example").digest
        )
        file.unlink()
        async with three:
            assert open_connections() == 1
    assert open_connections() == 0


def test_the_default_plane_is_the_fixtures(plane):
    assert microbus.default_plane() == plane


@pytest.mark.requirement("A26")
def test_the_fixtures_give_connectors_on_the_plane_of_the_test(connector, plane):
    made = connector("shop.example", version=2)
    assert (made.plane, made.version, made.deployment) == (plane, 2, "TESTING")


async def test_startup_and_hooks_have_a_time_limit(make, monkeypatch):
    shop = make(HOST)
    stopped = []

    async def forever():
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(1)

    shop.on_startup(forever)
    monkeypatch.setenv("MICROBUS_STARTUP_TIME_BUDGET", "200ms")
    with pytest.raises(TimeoutError):
        await shop.startup()
    assert (stopped, shop.running) == ([1], False)
    shop._lifecycle.on_startup.clear()
    shop.on_shutdown(forever)
    monkeypatch.setenv("MICROBUS_STARTUP_TIME_BUDGET", "20s")
    monkeypatch.setenv("MICROBUS_SHUTDOWN_TIME_BUDGET", "100ms")
    await shop.startup()
    with pytest.raises(TimeoutError):
        await shop.shutdown()
    assert (stopped, shop.running) == ([1, 1], False)
    assert open_connections() == 0


async def test_without_a_setting_a_hook_has_24_seconds_at_shutdown(make_memory, monkeypatch):
    shop, loop, seen = make_memory(HOST), asyncio.get_running_loop(), []
    now = loop.time()

    @shop.on_shutdown
    async def slow():
        nonlocal now
        for seconds in (23.5, 0.75):
            now += seconds
            for _ in range(3):
                await asyncio.sleep(0)
            seen.append(seconds)

    await shop.startup()
    monkeypatch.delenv("MICROBUS_SHUTDOWN_TIME_BUDGET", raising=False)
    monkeypatch.setattr(loop, "time", lambda: now)
    with pytest.raises(TimeoutError):
        await shop.shutdown()
    assert seen == [23.5]


async def test_debug_logging_and_a_warning_about_deprecated_variables(
    make_nats, monkeypatch, caplog
):
    log = logging.getLogger("subtrie.connector")
    before = log.level
    monkeypatch.setenv("MICROBUS_LOG_DEBUG", "1")
    monkeypatch.setenv("MICROBUS_NATS_TOKEN", "not asked for by this server")
    try:
        async with make_nats(HOST):
            assert log.level == logging.DEBUG
    finally:
        log.setLevel(before)
    assert "deprecated" in caplog.text
    assert "not asked for" not in caplog.text


def test_the_given_broker_decides_the_deployment(monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    assert Connector(HOST, nats="nats://bus.example:4222").deployment == "PROD"
    assert Connector(HOST, nats="nats://localhost:4222").deployment == "LOCAL"
