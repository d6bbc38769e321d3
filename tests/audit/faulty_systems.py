"""Logs of real nats-servers with planted faults, each as an operator would have it.

``jetstream`` is one server with a stream, a work queue, keys and objects. Its faults: ``web``
publishes to a stream that is full; ``ship`` may not create consumers; no client subscribes what a
push consumer delivers to. ``leaf`` is a server with two accounts and a leaf node. Its faults: the
leaf node is down for a time; ``mon`` asks a service that does not exist; ``bill`` is a slow
consumer and is cut off. ``limits`` is one server with two streams. Its faults: ``web`` publishes
beside the stream that it means; ``quotes`` replies too late; ``upload`` publishes more than the
server allows; the filter of a consumer is misspelt.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client
from nats.errors import Error
from nats.js.api import ConsumerConfig, DiscardPolicy, RetentionPolicy, StreamConfig
from nats.js.errors import Error as JetStreamError

from patience import settled, until
from servers import free_port, serving

#: The messages that the full stream refused, the consumers that ``ship`` may not create, and the
#: messages that the consumer without a subscriber has not delivered.
FULL, BARRED, UNHEARD = 17, 4, 12
#: What was published while the leaf node was down, and what no service answers.
DOWN, ABSENT = 14, 6

#: What no stream stores, what is replied too late, and what is too large.
BESIDE, LATE, LARGE = 9, 4, 3

_LIMITS = """
logtime_utc: true
debug: true
trace: true
max_payload: 4096
jetstream {{ store_dir: {store} }}
authorization {{ users: [
  {{ user: admin, password: admin }}
  {{ user: web, password: web }}
  {{ user: bill, password: bill }}
  {{ user: report, password: report }}
  {{ user: quotes, password: quotes }}
  {{ user: upload, password: upload }}
] }}
"""
_JETSTREAM = """
logtime_utc: true
debug: true
trace: true
jetstream {{ store_dir: {store} }}
authorization {{ users: [
  {{ user: admin, password: admin }}
  {{ user: web, password: web }}
  {{ user: ship, password: ship,
     permissions: {{ publish: {{ deny: {barred} }} }} }}
  {{ user: worker, password: worker }}
  {{ user: conf, password: conf }}
] }}
"""
_HUB = """
server_name: hub
logtime_utc: true
debug: true
trace: true
write_deadline: "100ms"
max_payload: 65536
max_pending: 131072
leafnodes {{ listen: "127.0.0.1:{leaf}" }}
accounts {{
  SHOP {{
    users: [ {{ user: web, password: web }}, {{ user: bill, password: bill }}
             {{ user: edge, password: edge }} ]
    exports: [ {{ service: "quote.*" }} ]
  }}
  OPS {{
    users: [ {{ user: mon, password: mon }} ]
    imports: [ {{ service: {{ account: SHOP, subject: "quote.*" }} }} ]
  }}
}}
"""
_EDGE = """
server_name: edge
logtime_utc: true
debug: true
trace: true
leafnodes {{ reconnect: "100ms", remotes: [ {{ url: "nats://edge:edge@127.0.0.1:{leaf}" }} ] }}
"""


def jetstream(folder: Path) -> list[Path]:
    """Write the log of the server with streams to a folder; return it."""
    barred = ["$JS.API.CONSUMER.CREATE.>", "$JS.API.CONSUMER.DURABLE.CREATE.>"]
    store = str(folder / "store")
    config = _JETSTREAM.format(store=json.dumps(store), barred=json.dumps(barred))
    with serving(folder, config) as url:
        asyncio.run(_streams(url))
    return [folder / "server.log"]


def limits(folder: Path) -> list[Path]:
    """Write the log of the server with two streams to a folder; return it."""
    config = _LIMITS.format(store=json.dumps(str(folder / "store")))
    with serving(folder, config) as url:
        asyncio.run(_beyond_limits(url))
    return [folder / "server.log"]


def leaf(folder: Path) -> list[Path]:
    """Write the logs of the server with accounts and of its leaf node to a folder; return them."""
    with ExitStack() as stack:
        port = free_port()
        url = stack.enter_context(serving(folder / "hub", _HUB.format(leaf=port)))
        asyncio.run(_accounts(url, folder, port))
    return [folder / "hub" / "server.log", folder / "edge" / "server.log"]


@asynccontextmanager
async def _clients(url: str, *names: str) -> AsyncIterator[list[Client]]:
    """Connect a client of each user."""

    async def quiet(error: Exception) -> None:
        """Errors that the broker tells are what the log is about."""

    found = [
        await nats.connect(
            url, user=name, password=name, name=name, error_cb=quiet, allow_reconnect=False
        )
        for name in names
    ]
    try:
        yield found
    finally:
        for each in found:
            with contextlib.suppress(Error):
                await each.close()


async def _streams(url: str) -> None:
    async with _clients(url, "admin", "web", "ship", "worker", "conf") as clients:
        admin, web, ship, worker, conf = clients
        stream = admin.jetstream()
        await stream.add_stream(StreamConfig(name="ORDERS", subjects=["orders.>"]))
        jobs = StreamConfig(name="JOBS", subjects=["jobs.*"], retention=RetentionPolicy.WORK_QUEUE)
        await stream.add_stream(jobs)
        await stream.add_stream(
            StreamConfig(
                name="LIMITED", subjects=["limited.*"], max_msgs=8, discard=DiscardPolicy.NEW
            )
        )
        await stream.create_key_value(bucket="cfg")
        await stream.create_object_store("files")
        audits = ConsumerConfig(
            durable_name="auditor", deliver_subject="audits.orders", filter_subject="orders.eu"
        )
        await stream.add_consumer("ORDERS", audits)
        await stream.add_consumer("ORDERS", ConsumerConfig(durable_name="shipper"))

        for number in range(2 * UNHEARD):
            region = "eu" if number % 2 else "us"
            await web.jetstream().publish(f"orders.{region}", b"{}")
        pulled = await ship.jetstream().pull_subscribe_bind(consumer="shipper", stream="ORDERS")
        left = 2 * UNHEARD
        while left:
            for message in await pulled.fetch(left, timeout=60):
                await message.ack_sync()
                left -= 1

        queue = await worker.jetstream().pull_subscribe("jobs.*", durable="worker")
        for number in range(20):
            await web.jetstream().publish(f"jobs.{number}", b"{}")
        left = 20
        while left:
            for message in await queue.fetch(left, timeout=60):
                await message.ack_sync()
                left -= 1

        for number in range(8 + FULL):
            with contextlib.suppress(JetStreamError):
                await web.jetstream().publish(f"limited.{number % 3}", b"{}")
        reader = await worker.jetstream().pull_subscribe("limited.*", durable="reader")
        for message in await reader.fetch(8, timeout=60):
            await message.ack_sync()

        for _ in range(BARRED):
            with contextlib.suppress(Error, TimeoutError):
                await ship.jetstream(timeout=0.2).add_consumer(
                    "ORDERS", ConsumerConfig(durable_name="mine", filter_subject="orders.us")
                )
        await _buckets(conf, worker)


async def _buckets(conf: Client, reader: Client) -> None:
    """``conf`` keeps keys and objects, and ``reader`` reads them."""
    bucket = await conf.jetstream().key_value("cfg")
    watcher = await (await reader.jetstream().key_value("cfg")).watchall()
    for number in range(9):
        await bucket.put(f"limit.{number}", b"1")
    seen = 0
    while seen < 9:
        seen += await watcher.updates(timeout=60) is not None
    await watcher.stop()
    await bucket.get("limit.3")
    await bucket.delete("limit.4")
    store = await conf.jetstream().object_store("files")
    await store.put("report", b"x" * 200_000)
    await (await reader.jetstream().object_store("files")).get("report")
    await store.delete("report")


async def _accounts(url: str, folder: Path, port: int) -> None:
    async with _clients(url, "web", "bill", "mon") as (web, bill, mon):

        async def answer(message: Any) -> None:
            await message.respond(b"42")

        async def take(message: Any) -> None:
            """Receive, and do nothing."""

        await web.subscribe("quote.eu", cb=answer)
        await bill.subscribe("orders.*", cb=take)
        await settled(web)
        await settled(bill)
        for _ in range(5):
            await mon.request("quote.eu", b"", timeout=60)
        config = _EDGE.format(leaf=port)
        log, theirs = (folder / name / "server.log" for name in ("hub", "edge"))
        for run in (1, 2):
            with serving(folder / "edge", config) as edge:
                await until(lambda run=run: _count(theirs, r"<<- \[LS\+ orders") == run)
                async with _till(edge) as received:
                    await until(lambda run=run: _count(log, r"\[LS\+ cmd\.till") == run)
                    for _ in range(10):
                        await web.publish("cmd.till", b"open")
                        await web.publish("orders.eu", b"{}")
                    await settled(web)
                    await until(lambda received=received: len(received) == 10)
            await until(lambda run=run: _count(log, "Leafnode connection closed") == run)
            if run == 1:
                for _ in range(DOWN):
                    await web.publish("cmd.till", b"open")
                await settled(web)
        for _ in range(ABSENT):
            with contextlib.suppress(Error):
                await mon.request("stock.count", b"", timeout=60)
        await _slow(url, web)
        await until(lambda: _count(log, "Slow Consumer") > 0)


@asynccontextmanager
async def _till(url: str) -> AsyncIterator[list[Any]]:
    client = await nats.connect(url, name="till")
    received: list[Any] = []

    async def take(message: Any) -> None:
        received.append(message)

    await client.subscribe("cmd.till", cb=take)
    for _ in range(5):
        await client.publish("orders.us", b"{}")
    await settled(client)
    yield received
    await client.close()


async def _slow(url: str, web: Client) -> None:
    """A second ``bill`` subscribes, and reads nothing."""
    host, port = url.removeprefix("nats://").split(":")
    slow = socket.create_connection((host, int(port)))
    login = {"user": "bill", "pass": "bill", "name": "bill-slow", "lang": "go", "version": "1.50"}
    login["verbose"] = False
    slow.sendall(f"CONNECT {json.dumps(login)}\r\nSUB invoices.* 1\r\nPING\r\n".encode())
    await asyncio.sleep(0.2)
    for number in range(400):
        await web.publish("invoices.eu", b"x" * 60_000)
        if number % 20 == 19:
            await settled(web)
    slow.close()


def _count(log: Path, pattern: str) -> int:
    return len(re.findall(pattern, log.read_text()))


async def _beyond_limits(url: str) -> None:
    async with _clients(url, "admin", "web", "bill", "report", "quotes") as clients:
        admin, web, bill, report, quotes = clients
        stream = admin.jetstream()
        await stream.add_stream(StreamConfig(name="ORDERS", subjects=["orders.>"]))
        await stream.add_stream(StreamConfig(name="AUDIT", subjects=["audit.>"]))
        for name, filtered in (("biller", "orders.*.billed"), ("packer", "orders.*.created")):
            config = ConsumerConfig(durable_name=name, filter_subject=filtered)
            await stream.add_consumer("ORDERS", config)
        for _ in range(BESIDE):
            await web.jetstream().publish("orders.eu.paid", b"{}")
            await web.jetstream().publish("orders.eu.created", b"{}")
            await web.publish("audits.order", b"{}")
        pulled = await bill.jetstream().pull_subscribe_bind(consumer="packer", stream="ORDERS")
        left = BESIDE
        while left:
            for message in await pulled.fetch(left, timeout=60):
                await message.ack_sync()
                left -= 1
        waiting: list[Any] = []

        async def keep(message: Any) -> None:
            waiting.append(message)

        await quotes.subscribe("quote.eu", cb=keep)
        await settled(quotes)
        for number in range(LATE):
            inbox = report.new_inbox()
            asked = await report.subscribe(inbox)
            await report.publish("quote.eu", b"", reply=inbox)
            await settled(report)
            await until(lambda number=number: len(waiting) > number)
            await asked.unsubscribe()  # it waits no longer
            await settled(report)
            await waiting[number].respond(b"42")
            await settled(quotes)
    host, port = url.removeprefix("nats://").split(":")
    login = {"user": "upload", "pass": "upload", "name": "upload", "lang": "go", "version": "1.50"}
    login["verbose"] = False
    for _ in range(LARGE):
        with socket.create_connection((host, int(port))) as client:
            client.sendall(f"CONNECT {json.dumps(login)}\r\n".encode())
            client.sendall(b"PUB files.report 9000\r\n" + b"x" * 9_000 + b"\r\n")
            with contextlib.suppress(ConnectionError):
                while client.recv(65_536):  # the server closes the connection
                    pass
