"""What a service does on the bus: the facts from which its rules follow."""

from __future__ import annotations

import dataclasses
from typing import Self

from .. import _engine
from .._rule_engine import RuleEngine


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
        *,
        engine: RuleEngine = _engine,
    ) -> Self:
        """Of a route of the service ``host``: ``/p``, ``:N/p``, ``//host:N/p``, ``https://host/p``.

        ``engine`` is the module that answers. Raises ``AddressError``.
        """
        target = engine.resolve_route(host=host, route=route)
        return cls(target.host, target.port, method, target.path, file, line)


@dataclasses.dataclass(frozen=True, slots=True)
class Dynamic:
    """What looks like traffic, and of which the source does not tell enough (A29).

    ``kind`` is the list of ``Service`` it would belong to, ``use`` what is known of it, all else
    None: the wildcard that ``--allow-dynamic`` grants. ``use`` is None where no rule would do.
    """

    kind: str
    message: str
    use: Use | None
    file: str
    line: int
    #: The functions and classes around it, as in ``Orders.take``; empty in a module's body.
    inside: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Note:
    """Something that a person should know, and that is no mistake for sure."""

    message: str
    file: str
    line: int


@dataclasses.dataclass(frozen=True, slots=True)
class Raw:
    """A subject of no plane that a declaration names: published, or subscribed to."""

    verb: str
    pattern: str
    file: str | None = None
    line: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """One service: its host name and what it does.

    ``endpoints`` are what it serves, ``calls`` what it asks of others, ``events`` what it triggers,
    ``hooks`` what it hears of other hosts, ``dynamic`` what a scan could not tell. ``planes`` are
    those that its source names, ``raw`` the subjects of no plane that are declared, ``ids`` those
    of its replicas where the source tells them all. ``host`` is empty where a scan found
    traffic and no service.
    """

    host: str
    endpoints: tuple[Use, ...] = ()
    calls: tuple[Use, ...] = ()
    events: tuple[Use, ...] = ()
    hooks: tuple[Use, ...] = ()
    dynamic: tuple[Dynamic, ...] = ()
    raw: tuple[Raw, ...] = ()
    planes: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    ids: tuple[str, ...] = ()
