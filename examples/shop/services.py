"""The six services by their hosts, and where each of them runs."""

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

#: Seconds to an acknowledgement: more than a connector would measure, for machines that do a lot.
ROUND_TRIP = 1.0

SERVICES: dict[str, Callable[..., Connector]] = {
    "token.shop": token,
    "ledger.shop": ledger,
    "payments.shop": payments,
    "inventory.shop": inventory,
    "orders.shop": orders,
    "web.shop": web,
}

#: One replica for each; all other services have one, and stand nowhere.
LOCALITIES = {"inventory.shop": ("us-west-b-1", "us-east-a-1")}

#: Which services share a process other than that of web, for each way to run the shop.
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
    """The replicas of one service, not yet started; ``nats`` is empty where there is no broker."""
    where = {"plane": plane, "nats": nats, "round_trip": ROUND_TRIP, **more}
    return [
        SERVICES[host](**{"locality": locality, **where})
        for locality in LOCALITIES.get(host, ("",))
    ]
