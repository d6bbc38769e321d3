"""The addresses of Microbus subjects and patterns, shared by both engines.

``str(address)`` encodes an address; ``address.replace(port=666)`` returns another one. An address
is validated when it is encoded, not when it is created.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Self

from . import engine
from .errors import SubtrieError, refusal
from .ports import DANGER


class Target(NamedTuple):
    """The host, port and decoded path of a URL or route; port 0 of a route is any port."""

    host: str
    port: int
    path: str


def trust_of(port: object) -> str:
    """Return the trust zone: ``danger`` for port 666, ``safe`` for every other port."""
    # S0-023, S0-024
    return "danger" if str(port) == str(DANGER) else "safe"


def is_host(name: str | None) -> bool:
    """Return whether a name can be the host of a service."""
    try:
        engine.check_identity_host(name or "")
    except SubtrieError:
        return False
    return True


def _replaced(address: Any, changes: dict[str, Any]) -> Any:
    """Return the changed address; the trust zone follows the port unless it is given too."""
    if "port" in changes:
        changes = {"trust": trust_of(changes["port"]), **changes}
    return dataclasses.replace(address, **changes)


def _html(address: RequestAddress | ReplyAddress | SubscriptionAddress) -> str:
    from .display import fields

    values = ((each.name, getattr(address, each.name)) for each in dataclasses.fields(address))
    shown = ((name, "any" if value is None else value) for name, value in values)
    return fields(f"{type(address).__name__} {address}", shown)


def _check_trust(address: RequestAddress | SubscriptionAddress) -> None:
    if address.trust != trust_of(address.port):
        raise refusal("AddressError", "trust", address.trust, 0, "trust")


@dataclasses.dataclass(frozen=True, slots=True)
class RequestAddress:
    """The address of a request from ``source`` to an endpoint of ``host``.

    Attributes:
        plane: The plane.
        trust: The trust zone, ``safe`` or ``danger``.
        port: The port.
        source: The identity of the sender.
        host: The host of the endpoint.
        slot: ``id-…``, ``loc-…`` or empty.
        method: The HTTP method.
        path: The path with a leading slash, not percent-encoded.
    """

    # S0-004

    plane: str
    trust: str
    port: int
    source: str
    host: str
    slot: str
    method: str
    path: str

    def replace(self, **changes: Any) -> Self:
        """Return a copy with changed fields; ``trust`` follows ``port``."""
        address: Self = _replaced(self, changes)
        return address

    def _repr_html_(self) -> str:
        return _html(self)

    def __str__(self) -> str:
        """Return the subject, or raise ``AddressError`` if a field is not valid."""
        _check_trust(self)
        return str(
            engine.encode_request(
                plane=self.plane,
                port=self.port,
                source=self.source,
                host=self.host,
                method=self.method,
                path=self.path,
                slot=self.slot,
            )
        )


@dataclasses.dataclass(frozen=True, slots=True)
class ReplyAddress:
    """The address of a reply from ``source`` to the instance ``id`` of ``host``.

    Attributes:
        plane: The plane.
        source: The identity of the service that replies.
        host: The host of the service that sent the request.
        id: The id of its instance, ``id-…``.
    """

    # S0-075, A1

    plane: str
    source: str
    host: str
    id: str

    def replace(self, **changes: Any) -> Self:
        """Return a copy with changed fields."""
        return dataclasses.replace(self, **changes)

    def _repr_html_(self) -> str:
        return _html(self)

    def __str__(self) -> str:
        """Return the subject, or raise ``AddressError`` if a field is not valid."""
        return str(
            engine.encode_reply(plane=self.plane, source=self.source, host=self.host, id=self.id)
        )


@dataclasses.dataclass(frozen=True, slots=True)
class SubscriptionAddress:
    """The address of a subscription to requests from any sender.

    Attributes:
        plane: The plane.
        trust: The trust zone, ``safe`` or ``danger``.
        port: The port, or None for any port.
        host: The host of the endpoint.
        slot: ``id-…``, ``loc-…`` or empty.
        method: The HTTP method, or None for any.
        path: The path; ``{}`` is one segment, ``{...}`` at the end one or more.
    """

    plane: str
    trust: str
    port: int | None
    host: str
    slot: str
    method: str | None
    path: str

    def replace(self, **changes: Any) -> Self:
        """Return a copy with changed fields; ``trust`` follows ``port``."""
        address: Self = _replaced(self, changes)
        return address

    def _repr_html_(self) -> str:
        return _html(self)

    def __str__(self) -> str:
        """Return the pattern, or raise ``AddressError`` if a field is not valid."""
        _check_trust(self)
        return str(
            engine.encode_subscription(
                plane=self.plane,
                port=0 if self.port is None else self.port,
                host=self.host,
                method="ANY" if self.method is None else self.method,
                path=self.path,
                slot=self.slot,
            )
        )
