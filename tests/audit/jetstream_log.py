"""A trace log of a real nats-server whose clients use JetStream, with three planted faults.

Programs of nats-py publish into streams, fetch, receive, acknowledge, keep keys and objects, ask
and answer. Each has a user of its own. The faults, most messages first: ``web`` publishes a
misspelt subject that no stream stores; ``web`` may not publish to ``payments.>``; ``ship``
publishes what no client subscribes.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import nats
import nats.micro
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, StreamConfig

from patience import settled, until
from servers import monitor, serving
from subtrie.acl._load.snapshots import json_at

PAGE = "/jsz?accounts=1&streams=1&consumers=1&config=1"
MISSPELT, REFUSED, UNHEARD = "order.eu.paid", "payments.7.refund", "trucks.left"
#: How often each is published.
FAULTS = {MISSPELT: 30, REFUSED: 20, UNHEARD: 10}
CREATED, PAID, ASKED = 60, 40, 25

_CONFIG = """
logtime_utc: true
debug: true
trace: true
http: "127.0.0.1:-1"
jetstream {{ store_dir: {store} }}
authorization {{ users: [
  {{ user: admin, password: admin }}
  {{ user: web, password: web, permissions: {{ publish: {{ deny: "payments.>" }} }} }}
  {{ user: ship, password: ship }}
  {{ user: bill, password: bill }}
  {{ user: conf, password: conf }}
  {{ user: quotes, password: quotes }}
] }}
"""


def jetstream_log(folder: Path, created: int = CREATED) -> tuple[Path, Path]:
    """Write the log and the page ``/jsz`` of a server to a folder; return both files.

    Args:
        folder: The folder.
        created: How many orders are created; about 10 KB of the log each.
    """
    config = _CONFIG.format(store=json.dumps(str(folder / "store")))
    with serving(folder, config) as url:
        asyncio.run(_programs(url, created))
        page = folder / "jsz.json"
        page.write_text(json.dumps(json_at(monitor(folder) + PAGE)))
    return folder / "server.log", page


async def _programs(url: str, created: int) -> None:
    clients = {}
    for name in ("admin", "web", "ship", "bill", "conf", "quotes"):
        clients[name] = await nats.connect(
            url,
            user=name,
            password=name,
            name=f"{name}-1",
            inbox_prefix=f"_INBOX.{name}".encode() if name == "bill" else b"_INBOX",
            error_cb=_quiet,
        )
    await _streams(clients["admin"])
    await _answering(clients["quotes"])
    await _pushed(clients["bill"], clients["web"], created)
    await _pulled(clients["ship"], created + PAID)
    await _keys(clients["conf"], clients["quotes"])
    await _objects(clients["conf"])
    await _asking(clients["web"])
    await _faults(clients["web"], clients["ship"])
    for client in clients.values():
        await client.close()


async def _quiet(error: Exception) -> None:
    """Errors that the broker tells are what the log is about."""


async def _streams(admin: Client) -> None:
    stream = admin.jetstream()
    subjects = ["orders.*.created", "orders.*.paid"]
    await stream.add_stream(StreamConfig(name="ORDERS", subjects=subjects))
    await stream.add_consumer("ORDERS", ConsumerConfig(name="shipper", durable_name="shipper"))
    await stream.create_key_value(bucket="cfg")
    await stream.create_object_store("files")


async def _answering(quotes: Client) -> None:
    service = await nats.micro.add_service(quotes, name="quotes", version="1.0.0")
    group = service.add_group(name="quote")

    async def answer(request: Any) -> None:
        await request.respond(b"42")

    await group.add_endpoint(name="eu", handler=answer)
    await settled(quotes)


async def _pushed(bill: Client, web: Client, created: int) -> None:
    """``bill`` receives what ``web`` stores, from a push consumer."""
    received = 0

    async def take(message: Any) -> None:
        nonlocal received
        await message.ack()
        received += 1

    await bill.jetstream().subscribe("orders.*.paid", durable="biller", cb=take, manual_ack=True)
    stream = web.jetstream()
    for number in range(created):
        await stream.publish(f"orders.{'eu' if number % 2 else 'us'}.created", b"{}")
    for _ in range(PAID):
        await stream.publish("orders.eu.paid", b"{}")
    await until(lambda: received == PAID)
    await settled(bill)


async def _pulled(ship: Client, left: int) -> None:
    bound = await ship.jetstream().pull_subscribe_bind(consumer="shipper", stream="ORDERS")
    while left:
        for message in await bound.fetch(min(left, 25), timeout=60):
            await message.ack_sync()
            left -= 1


async def _keys(conf: Client, reader: Client) -> None:
    stream: JetStreamContext = conf.jetstream()
    bucket = await stream.key_value("cfg")
    watcher = await (await reader.jetstream().key_value("cfg")).watchall()
    for number in range(15):
        await bucket.put(f"limit.{number}", b"1")
    seen = 0
    while seen < 15:
        update = await watcher.updates(timeout=60)
        seen += update is not None
    await bucket.get("limit.3")
    await bucket.delete("limit.4")
    while await watcher.updates(timeout=60) is None:  # the deletion
        pass
    await watcher.stop()


async def _objects(conf: Client) -> None:
    store = await conf.jetstream().object_store("files")
    await store.put("report", b"x" * 300_000)
    assert len((await store.get("report")).data or b"") == 300_000


async def _asking(web: Client) -> None:
    for _ in range(ASKED):
        await web.request("quote.eu", b"{}", timeout=60)
    await web.request("$SRV.PING.quotes", b"", timeout=60)


async def _faults(web: Client, ship: Client) -> None:
    for subject, count in FAULTS.items():
        client = ship if subject == UNHEARD else web
        for _ in range(count):
            await client.publish(subject, b"{}")
        await settled(client)
