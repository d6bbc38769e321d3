"""A service and its traffic: the facts from which its rules are derived."""

from __future__ import annotations

import dataclasses
from typing import Self

from .._core import engine as _engine
from .._core.rule_engine import RuleEngine


@dataclasses.dataclass(frozen=True, slots=True)
class EndpointUse:
    """An endpoint that a service serves, calls, triggers or subscribes to.

    Attributes:
        host: the host of the endpoint; None if it cannot be determined.
        port: its port; 0 for any, None if it cannot be determined.
        method: its method; ``ANY`` for any, None if it cannot be determined.
        path: its path, which may hold ``{name}`` and ``{name...}``; None if it cannot be
            determined.
        file: the source file; None if it was not read from one.
        line: the line in it.
    """

    host: str | None
    port: int | None
    method: str | None
    path: str | None
    file: str | None = None
    line: int | None = None

    @classmethod
    def of_route(
        cls,
        host: str,
        method: str | None,
        route: str,
        file: str | None = None,
        line: int | None = None,
        *,
        engine: RuleEngine = _engine,
    ) -> Self:
        """Return the endpoint that a route of a service names.

        Args:
            host: the host of the service.
            method: the method; None if it cannot be determined.
            route: ``/p``, ``:N/p``, ``//host:N/p`` or ``https://host/p``.
            file: the source file.
            line: the line in it.
            engine: the engine that resolves the route.

        Raises:
            AddressError: not a valid route or host.

        Example:
            >>> EndpointUse.of_route("orders.shop", "GET", ":444/items").port
            444
        """
        target = engine.resolve_route(host=host, route=route)
        return cls(target.host, target.port, method, target.path, file, line)


@dataclasses.dataclass(frozen=True, slots=True)
class UnresolvedCall:
    """A call, endpoint, event or hook that cannot be determined statically.

    Attributes:
        kind: the list of ``Service`` it belongs to.
        message: what cannot be determined, and why.
        use: what is known of it, else None: ``--allow-dynamic`` grants this with wildcards. None if
            no rule could grant it.
        file: the source file.
        line: the line in it.
        inside: the functions and classes around it, as ``Orders.take``; empty at module level.
    """  # A29

    kind: str
    message: str
    use: EndpointUse | None
    file: str
    line: int
    inside: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Note:
    """A remark about the source that is not necessarily a mistake."""

    message: str
    file: str
    line: int


@dataclasses.dataclass(frozen=True, slots=True)
class RawSubject:
    """A declared subject outside every plane; ``verb`` is ``publish`` or ``subscribe``."""

    verb: str
    pattern: str
    file: str | None = None
    line: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """One service: its host name and its traffic.

    Attributes:
        host: its host name; empty for traffic that belongs to no service of the tree.
        endpoints: what it serves.
        calls: what it requests from others.
        events: what it triggers.
        hooks: the events and endpoints of other hosts that it subscribes to.
        dynamic: what cannot be determined statically.
        raw: declared subjects outside every plane.
        planes: the planes that its source names.
        notes: remarks for the reader.
        ids: the ids of its replicas; empty unless the source gives all of them.
    """

    host: str
    endpoints: tuple[EndpointUse, ...] = ()
    calls: tuple[EndpointUse, ...] = ()
    events: tuple[EndpointUse, ...] = ()
    hooks: tuple[EndpointUse, ...] = ()
    dynamic: tuple[UnresolvedCall, ...] = ()
    raw: tuple[RawSubject, ...] = ()
    planes: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    ids: tuple[str, ...] = ()
