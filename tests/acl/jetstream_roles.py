"""Programs of nats-py, one for each role that ``subtrie acl need`` knows.

A program is given a connection whose permissions are those of its role, and finishes if it could do
all that the role is for. ``prepared`` makes the streams beforehand, with a connection that may do
everything, and ``answering`` is the other side of ``request`` and ``service``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import nats
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DeliverPolicy, StreamConfig
from nats.js.errors import NotFoundError
from nats.js.kv import KeyValue

from patience import settled, until

#: So many and so long messages that the broker asks an ordered consumer for flow control.
MANY, LONG = 80, b"x" * 65_536


async def prepared(root: Client) -> None:
    """Makes what the programs use: streams, consumers, buckets of keys and of objects."""
    stream = root.jetstream()
    for name in ("ORDERS", "MADE"):
        with suppress(NotFoundError):
            await stream.delete_stream(name)
    await stream.add_stream(StreamConfig(name="ORDERS", subjects=["orders.>"]))
    await stream.publish("orders.eu.1", b"one")
    await stream.add_consumer("ORDERS", ConsumerConfig(name="shipper", durable_name="shipper"))
    pushed = ConsumerConfig(name="pushed", durable_name="pushed", deliver_subject="deliver.pushed")
    await stream.add_consumer("ORDERS", pushed)
    try:
        bucket = await stream.key_value("cfg")
    except NotFoundError:
        bucket = await _once(stream)
    await bucket.put("a.b", b"1")


async def _once(stream: JetStreamContext) -> KeyValue:
    """Makes what no program spoils."""
    await stream.add_stream(StreamConfig(name="BULK", subjects=["bulk.*"]))
    await asyncio.gather(*(stream.publish("bulk.x", LONG) for _ in range(MANY)))
    wide = await stream.create_key_value(bucket="wide")
    await asyncio.gather(*(wide.put(f"k.{number}", LONG) for number in range(MANY)))
    fast = await stream.create_key_value(bucket="fast", direct=True)
    await fast.put("a.b", b"1")
    objects = await stream.create_object_store("files")
    await objects.put("report", LONG * MANY)
    await objects.put("note", b"y")
    return await stream.create_key_value(bucket="cfg", direct=False)


async def answering(root: Client) -> None:
    """Answers requests to ``quote.eu``."""

    async def answer(message: Any) -> None:
        await message.respond(b"42")

    await root.subscribe("quote.*", cb=answer)
    await settled(root)


async def publish(client: Client) -> None:
    """Stores a message."""
    await client.jetstream().publish("orders.us.1", b"two")


async def pull(client: Client) -> None:
    """Fetches from a consumer that exists, and acknowledges."""
    bound = await client.jetstream().pull_subscribe_bind(consumer="shipper", stream="ORDERS")
    [message] = await bound.fetch(1)
    await message.ack()


async def pull_ephemeral(client: Client) -> None:
    """Fetches from a consumer of its own."""
    made = await client.jetstream().pull_subscribe("orders.>", stream="ORDERS")
    [message] = await made.fetch(1)
    await message.ack()


async def push(client: Client) -> None:
    """Receives from a push consumer that exists, and acknowledges."""
    config = ConsumerConfig(deliver_subject="deliver.pushed")
    bound = await client.jetstream().subscribe_bind("ORDERS", config, "pushed")
    message = await bound.next_msg(timeout=60)
    await message.ack()


async def push_ephemeral(client: Client) -> None:
    """Receives from a push consumer of its own."""
    made = await client.jetstream().subscribe("orders.>", stream="ORDERS")
    message = await made.next_msg(timeout=60)
    await message.ack()


async def ordered(client: Client) -> None:
    """Reads a stream from its start, with flow control."""
    made = await client.jetstream().subscribe(
        "bulk.*", stream="BULK", ordered_consumer=True, deliver_policy=DeliverPolicy.ALL
    )
    for _ in range(MANY):
        await made.next_msg(timeout=60)


async def kv_read(client: Client) -> None:
    """Reads a key of a bucket without direct get."""
    bucket = await client.jetstream().key_value("cfg")
    assert (await bucket.get("a.b")).value == b"1"


async def kv_read_direct(client: Client) -> None:
    """Reads a key of a bucket with direct get."""
    bucket = await client.jetstream().key_value("fast")
    assert (await bucket.get("a.b")).value == b"1"


async def kv_write(client: Client) -> None:
    """Writes, deletes and purges keys."""
    bucket = await client.jetstream().key_value("cfg")
    await bucket.put("a.b", b"2")
    await bucket.delete("a.b")
    await bucket.purge("a.b")


async def kv_watch(client: Client) -> None:
    """Watches all keys until each is told."""
    bucket = await client.jetstream().key_value("wide")
    watcher = await bucket.watchall()
    for _ in range(MANY):
        assert await watcher.updates(timeout=60) is not None
    await watcher.stop()


async def object_get(client: Client) -> None:
    """Reads an object."""
    store = await client.jetstream().object_store("files")
    assert (await store.get("report")).data == LONG * MANY


async def object_put(client: Client) -> None:
    """Writes an object in place of another."""
    store = await client.jetstream().object_store("files")
    await store.put("note", b"z" * 1000)


async def request(client: Client) -> None:
    """Asks a service."""
    assert (await client.request("quote.eu", b"", timeout=60)).data == b"42"


async def service(client: Client) -> None:
    """Answers one request, which another connection sends when it sees the subscription."""
    answered = asyncio.Event()

    async def answer(message: Any) -> None:
        await message.respond(b"17")
        answered.set()

    await client.subscribe("price.>", queue="price", cb=answer)
    await settled(client)
    await answered.wait()


async def stream_admin(client: Client) -> None:
    """Makes, changes, empties and deletes a stream."""
    stream = client.jetstream()
    await stream.add_stream(name="MADE", subjects=["made.*"])
    await stream.update_stream(name="MADE", subjects=["made.>"])
    await stream.stream_info("MADE")
    await stream.purge_stream("MADE")
    await stream.delete_stream("MADE")


async def consumer_create(client: Client) -> None:
    """Makes a consumer that lasts."""
    config = ConsumerConfig(name="billing", durable_name="billing")
    await client.jetstream().add_consumer("ORDERS", config)


#: The arguments of ``acl need`` (role and target), and the program that they let pass.
ROLES: dict[tuple[str, str], Callable[[Client], Awaitable[None]]] = {
    ("publish", "ORDERS"): publish,
    ("pull", "ORDERS/shipper"): pull,
    ("pull", "ORDERS"): pull_ephemeral,
    ("push", "ORDERS/pushed"): push,
    ("push", "ORDERS"): push_ephemeral,
    ("ordered", "BULK"): ordered,
    ("kv-read", "cfg"): kv_read,
    ("kv-read", "fast"): kv_read_direct,
    ("kv-write", "cfg"): kv_write,
    ("kv-watch", "wide"): kv_watch,
    ("object-get", "files"): object_get,
    ("object-put", "files"): object_put,
    ("request", "quote.eu"): request,
    ("service", "price.>"): service,
    ("stream-admin", "MADE"): stream_admin,
    ("consumer-create", "ORDERS/billing"): consumer_create,
}


async def run(url: str, user: str, program: Callable[[Client], Awaitable[None]]) -> list[str]:
    """Runs a program as a user until it ends or is refused something; returns the refusals."""
    refused: list[str] = []
    stopped = asyncio.Event()

    async def note(error: Exception) -> None:
        refused.append(str(error))
        stopped.set()

    root = await nats.connect(url, user="root", password="open")
    client = await nats.connect(url, user=user, password="open", error_cb=note,
                                max_reconnect_attempts=0)  # fmt: skip
    client.jetstream()  # nothing is sent yet
    asking = asyncio.create_task(_asked(root)) if program is service else None
    task = asyncio.create_task(program(client))  # type: ignore[arg-type]
    waiting = asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if task.done() and not refused:
            task.result()
            await settled(client)
    finally:
        left = {each for each in (task, waiting, asking) if each is not None}
        # A client may miss that it is cancelled, so it is told until it ends.
        await until(lambda: not [each for each in left if not each.done() and each.cancel()])
        await asyncio.gather(*left, return_exceptions=True)
        await client.close()
        await root.close()
    return refused


async def _asked(root: Client) -> None:
    """Asks the service again and again until it answers: one that closes may take a request."""
    while True:
        with suppress(nats.errors.Error):
            await root.request("price.tea", b"", timeout=0.5)
            return
        await asyncio.sleep(0.01)
