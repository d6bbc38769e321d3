"""The three addresses a Microbus subject or pattern stands for, shared by both engines.

``str(address)`` encodes it again; ``address.replace(port=666)`` gives another one. An address holds
what was decoded or what the caller wrote; the rules are applied when it is encoded.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Self

from . import _engine
from ._errors import refusal


class Target(NamedTuple):
    """Where a URL or a route leads. Port 0 of a route is any port; ``path`` is decoded."""

    host: str
    port: int
    path: str


def trust_of(port: object) -> str:
    """``danger`` for port 666, ``safe`` for every other (S0-023, S0-024)."""
    return "danger" if str(port) == "666" else "safe"


def _replaced(address: Any, changes: dict[str, Any]) -> Any:
    """Trust follows the port, unless it is given too."""
    if "port" in changes:
        changes = {"trust": trust_of(changes["port"]), **changes}
    return dataclasses.replace(address, **changes)


def _check_trust(address: RequestAddress | SubscriptionAddress) -> None:
    if address.trust != trust_of(address.port):
        raise refusal("AddressError", "trust", address.trust, 0, "trust")


@dataclasses.dataclass(frozen=True, slots=True)
class RequestAddress:
    """A request from ``source`` to an endpoint of ``host`` (S0-004).

    ``slot`` is ``""`` for the bare position, else ``id-…`` or ``loc-…``; ``path`` begins with a
    slash and is plain text, not percent-encoded.
    """

    plane: str
    trust: str
    port: int
    source: str
    host: str
    slot: str
    method: str
    path: str

    def replace(self, **changes: Any) -> Self:
        """The same address but for ``changes``; ``trust`` follows ``port``."""
        address: Self = _replaced(self, changes)
        return address

    def __str__(self) -> str:
        """The subject. Raises ``AddressError`` where a part is wrong."""
        _check_trust(self)
        return str(
            _engine.encode_request(
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
    """A reply from ``source`` to the instance ``id`` of ``host`` that asked (S0-075, A1)."""

    plane: str
    source: str
    host: str
    id: str

    def replace(self, **changes: Any) -> Self:
        """The same address but for ``changes``."""
        return dataclasses.replace(self, **changes)

    def __str__(self) -> str:
        """The subject. Raises ``AddressError`` where a part is wrong."""
        return str(
            _engine.encode_reply(plane=self.plane, source=self.source, host=self.host, id=self.id)
        )


@dataclasses.dataclass(frozen=True, slots=True)
class SubscriptionAddress:
    """What a service subscribes to: requests from anyone to one of its endpoints.

    ``port`` is None for any port, ``method`` None for ANY. Arguments have lost their names:
    ``path`` holds ``{}`` for one part and ``{...}``, last, for the rest.
    """

    plane: str
    trust: str
    port: int | None
    host: str
    slot: str
    method: str | None
    path: str

    def replace(self, **changes: Any) -> Self:
        """The same address but for ``changes``; ``trust`` follows ``port``."""
        address: Self = _replaced(self, changes)
        return address

    def __str__(self) -> str:
        """The pattern. Raises ``AddressError`` where a part is wrong."""
        _check_trust(self)
        return str(
            _engine.encode_subscription(
                plane=self.plane,
                port=0 if self.port is None else self.port,
                host=self.host,
                method="ANY" if self.method is None else self.method,
                path=self.path,
                slot=self.slot,
            )
        )
