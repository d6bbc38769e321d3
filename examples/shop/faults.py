"""Faulty traffic, so that the audit has something to find.

It bypasses the connectors and publishes hand-written subjects on connections of its own, as a
broken or hostile client would.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats
from nats.aio.client import Client

from subtrie import microbus

from .counters import Counters

FORGED = b"""POST https://token.shop:666/mint HTTP/1.1\r
Host: token.shop:666\r
Content-Length: 14\r
Content-Type: application/json\r
Microbus-From-Host: payments.shop\r
Microbus-From-Id: id-forger\r
Microbus-Msg-Id: forged00\r
Microbus-Op-Code: Req\r
\r
{"order":"me"}"""


@asynccontextmanager
async def connection(url: str, host: str) -> AsyncIterator[Client]:
    """Open a plain client under the name of a service."""
    client = await nats.connect(url, name=host)
    try:
        yield client
        await client.flush()
    finally:
        await client.close()


async def publish_spoofed(
    bus: Client, counters: Counters, *, plane: str, host: str, victim: str
) -> None:
    """Request a token from the trust root with another service as the source.

    Only the broker's permissions could prevent it. The token is minted; its response is sent to
    the other service.
    """
    subject = microbus.encode_request(
        plane=plane, port=666, source=victim, host="token.shop", method="POST", path="/mint"
    )
    reply_subject = microbus.encode_reply(
        plane=plane, source="token.shop", host=victim, id="id-forger"
    )
    counters.sent[victim, "token.shop", 666, "POST"] += 1
    counters.spoofed[host, victim, subject] += 1
    counters.undelivered[reply_subject] += 2  # the acknowledgement and the response
    await bus.publish(subject, FORGED)


async def publish_malformed(bus: Client, counters: Counters, *, plane: str, host: str) -> None:
    """Publish subjects on the plane that are not canonical addresses."""
    source = microbus.flatten_host(host)
    spelled_twice = source.replace("_", "%2e")  # would be a second spelling of the same identity
    for subject in (
        f"{plane}.safe.443.{source}.inventory_shop._.get.stock.bell",
        f"{plane}.safe.443.{spelled_twice}.inventory_shop._.GET.stock.bell",
        f"{plane}.safe.0443.{source}.inventory_shop._.GET.stock.bell",
        f"{plane}.safe.443.{source}",
    ):
        counters.malformed[subject] += 1
        await bus.publish(subject, b"")


async def publish_other_traffic(bus: Client, counters: Counters) -> None:
    """Publish subjects of no plane."""
    for subject in ("cron.hourly", "_INBOX.nobody.1"):
        counters.other_traffic[subject] += 1
        await bus.publish(subject, b"")
