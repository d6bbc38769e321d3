"""Events: what a service publishes to everyone who subscribes."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from .. import microbus
from .._core.ports import EVENTS
from ._message import Response
from ._results import Result

Payload = TypeVar("Payload")


class Event(Generic[Payload]):
    """An event of a service: ``POST`` on port 417 of its host.

    ``Event[Placed]("shop.example", "/on-placed")`` has a payload of the type ``Placed``.

    Args:
        host: The host name of the service that publishes it.
        route: The path of the event.
        answer: The type of what each subscriber answers; ``Response`` by default.
        result: The name of the single result of an answer, as in ``{"allow": …}``; empty if it has
            none.

    Raises:
        AddressError: The host or the path is not valid.
        BusError: The type cannot be converted.
    """

    def __init__(self, host: str, route: str, *, answer: Any = Response, result: str = "") -> None:
        self.host = microbus.check_identity_host(host)
        self.path = microbus.check_route_path(route)
        self.route = f"//{self.host}:{EVENTS}{self.path}"
        self.url = f"https://{self.host}:{EVENTS}{self.path}"
        self.result = result
        self.answer = Result(answer, result)

    def __repr__(self) -> str:
        return f"Event({self.host!r}, {self.path!r})"
