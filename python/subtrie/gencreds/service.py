"""What a service does on the bus: the facts from which its rules follow."""

from __future__ import annotations

import dataclasses
from typing import Self

from .. import microbus


@dataclasses.dataclass(frozen=True, slots=True)
class Use:
    """An endpoint served, called, triggered or heard.

    ``host``, ``port``, ``method`` and ``path`` are None where nobody can tell them: then a wildcard
    stands there. Port 0 and method ``ANY`` are any. ``path`` may hold ``{name}`` and ``{name...}``.
    ``file`` and ``line`` say where it stands in the source.
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
    ) -> Self:
        """Of a route of the service ``host``: ``/p``, ``:N/p``, ``//host:N/p``, ``https://host/p``.

        Raises ``AddressError``.
        """
        target = microbus.resolve_route(host=host, route=route)
        return cls(target.host, target.port, method, target.path, file, line)


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """One service: its host name and what it does.

    ``endpoints`` are what it serves, ``calls`` what it asks of others, ``events`` what it triggers,
    ``hooks`` what it hears of other hosts.
    """

    host: str
    endpoints: tuple[Use, ...] = ()
    calls: tuple[Use, ...] = ()
    events: tuple[Use, ...] = ()
    hooks: tuple[Use, ...] = ()
