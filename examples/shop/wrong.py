"""Traffic that is wrong on purpose, so that the audit has something to find.

It goes around ``Service.request`` and writes subjects by hand, as a broken or hostile client would.
"""

from __future__ import annotations

from subtrie import microbus

from .message import question
from .service import Service


async def pretend(service: Service, victim: str) -> None:
    """Asks the trust root for a token in another service's name. Nothing stops it but a rule."""
    subject = microbus.encode_request(
        plane=service.plane,
        port=666,
        source=victim,
        host="token.shop",
        method="POST",
        path="/mint",
    )
    service.tally.sent[victim, "token.shop", 666, "POST"] += 1
    service.tally.spoofed[service.host, victim, subject] += 1
    ask = question("POST", "https://token.shop:666/mint", id="forged", body={"for": "me"})
    await service.bus.publish(subject, bytes(ask))


async def mumble(service: Service) -> None:
    """Publishes what wears the plane's name and is no address: it decodes to nothing."""
    plane, source = service.plane, microbus.flatten_host(service.host)
    spelled_twice = source.replace("_", "%2e")  # would be a second spelling of the same identity
    for subject in (
        f"{plane}.safe.443.{source}.inventory_shop._.get.stock.bell",
        f"{plane}.safe.443.{spelled_twice}.inventory_shop._.GET.stock.bell",
        f"{plane}.safe.0443.{source}.inventory_shop._.GET.stock.bell",
        f"{plane}.safe.443.{source}",
    ):
        service.tally.malformed[subject] += 1
        await service.bus.publish(subject, b"")


async def chatter(service: Service) -> None:
    """Publishes what belongs to no plane at all."""
    for subject in ("cron.hourly", "_INBOX.nobody.1"):
        service.tally.foreign[subject] += 1
        await service.bus.publish(subject, b"")
