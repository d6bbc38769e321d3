"""Events: what a service publishes to everyone who subscribes."""

from __future__ import annotations

from typing import Generic, TypeVar

from .. import microbus
from .._core.ports import EVENTS

Payload = TypeVar("Payload")


class Event(Generic[Payload]):
    """An event of a service: ``POST`` on port 417 of its host.

    ``Event[Placed]("shop.example", "/on-placed")`` has a payload of the type ``Placed``.

    Args:
        host: The host name of the service that publishes it.
        route: The path of the event.

    Raises:
        AddressError: The host or the path is not valid.
    """

    def __init__(self, host: str, route: str) -> None:
        self.host = microbus.check_identity_host(host)
        self.path = microbus.check_route_path(route)
        self.route = f"//{self.host}:{EVENTS}{self.path}"
        self.url = f"https://{self.host}:{EVENTS}{self.path}"

    def __repr__(self) -> str:
        return f"Event({self.host!r}, {self.path!r})"
