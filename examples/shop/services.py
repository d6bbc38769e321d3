"""The six services by host, and the processes in which they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from subtrie.connector import Connector

from .inventory import inventory
from .ledger import ledger
from .orders import orders
from .payments import payments
from .tokens import token
from .web import web

PLANE = "shop"

#: Seconds to wait for an acknowledgement: more than a connector measures, for busy machines.
ROUND_TRIP = 1.0

SERVICES: dict[str, Callable[..., Connector]] = {
    "token.shop": token,
    "ledger.shop": ledger,
    "payments.shop": payments,
    "inventory.shop": inventory,
    "orders.shop": orders,
    "web.shop": web,
}

#: Localities of the replicas; all other services have one replica without a locality.
LOCALITIES = {"inventory.shop": ("us-west-b-1", "us-east-a-1")}

#: The services in each process other than that of web, for each way to run the shop.
OTHER_PROCESSES: dict[str, tuple[tuple[str, ...], ...]] = {
    "one": (),
    "six": (
        ("token.shop",),
        ("ledger.shop",),
        ("payments.shop",),
        ("inventory.shop",),
        ("orders.shop",),
    ),
    "mixed": (("token.shop", "ledger.shop", "inventory.shop"),),
}


def replicas(
    host: str, *, plane: str = PLANE, nats: str | None = None, **more: Any
) -> list[Connector]:
    """Return the replicas of one service, not started; ``nats`` is empty for no broker."""
    where = {"plane": plane, "nats": nats, "round_trip": ROUND_TRIP, **more}
    return [
        SERVICES[host](**{"locality": locality, **where})
        for locality in LOCALITIES.get(host, ("",))
    ]
