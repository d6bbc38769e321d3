"""The services of a synthetic world: routes, replicas, permissions, and who calls whom.

Everything is drawn from the seed. An ``Edge`` is one route that one service calls; it is known for
each whether the code contains the call, whether the permissions allow it, and whether it occurs in
the traffic.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .split_mix import SplitMix64

#: The plane of the legitimate traffic, and a second plane on the same broker.
HOME, OTHER = "prod", "staging"

_NAMES = ("orders", "stock", "mail", "billing", "ledger", "search", "users", "web-front", "audit2")
_DOMAINS = ("shop", "example", "core.internal")
_METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
_PORTS = (443, 443, 443, 444, 80, 666, 0)
# Parts of a path as the source names them, and as the subject encodes them.
_PARTS = (
    *(("items", "items"), ("Orders", "Orders"), ("by-day", "by-day"), ("v2", "v2")),
    *(("openapi.json", "openapi%2ejson"), ("a_b", "a%5fb"), ("total", "total"), ("x~y", "x%7ey")),
)
_LOCALITIES = ("", "", "us-west", "eu")


@dataclass(frozen=True)
class Route:
    """A route of a service. ``path`` has ``*`` for an argument and ``>`` for the rest."""

    port: int
    method: str  # or "ANY"
    source_path: tuple[str, ...]  # as in the code: "{a}", "{rest...}", "openapi.json"
    path: tuple[str, ...]  # as in the subject
    queue: bool = True  # False: every replica receives every message

    def pattern(self, plane: str, host: str, slot: str) -> str:
        """Return the subscription of this route."""
        trust = "danger" if self.port == 666 else "safe"
        port = "*" if self.port == 0 else str(self.port)
        method = "*" if self.method == "ANY" else self.method
        return ".".join((plane, trust, port, "*", flat(host), slot, method, *self.path))


@dataclass
class Service:
    """A service of the world.

    Attributes:
        host: Its host name.
        plane: The plane it belongs to.
        routes: What it serves.
        replicas: How many of it run at the start.
        locality: The locality of the replicas, or the empty string.
        login: ``user`` (the broker knows it), ``name`` (it only names itself) or ``none``.
        restricted: Whether the broker enforces permissions for it.
        publish_allow: Those permissions, as patterns.
        ruled: Whether it has permissions that the broker may or may not enforce; with
            ``publish_deny`` and ``subscribe_allow``, which it does not enforce.
        remote: Whether it runs on another broker, reached by a route.
    """

    host: str
    plane: str
    routes: list[Route]
    replicas: int
    locality: str
    login: str
    restricted: bool
    remote: bool = False
    publish_allow: list[str] = field(default_factory=list)
    ruled: bool = False
    publish_deny: list[str] = field(default_factory=list)
    subscribe_allow: list[str] = field(default_factory=list)


@dataclass
class Edge:
    """One route that one service calls."""

    source: Service
    destination: Service
    route: Route
    code: bool  # the source code contains the call
    rule: bool  # the permissions of the source allow it
    traffic: bool  # it is called


@dataclass
class World:
    """All services, and the edges between those of one plane."""

    seed: int
    services: list[Service]
    edges: list[Edge]
    plain: list[str]  # subjects outside the planes that clients subscribe to


def flat(host: str) -> str:
    """Return a host as a token of a subject."""
    return host.replace(".", "_")


def draw_world(seed: int) -> World:
    """Return the world of a seed."""
    dice = SplitMix64(seed)
    names = list(_NAMES)
    dice.shuffle(names)
    domain = dice.choice(_DOMAINS)
    services = [
        _draw_service(dice, f"{name}.{domain}", HOME, number)
        for number, name in enumerate(names[: 5 + dice.below(4)])
    ]
    services[-1].remote = True
    services += [
        _draw_service(dice, f"{name}.{domain}", OTHER, number)
        for number, name in enumerate(("stage-a", "stage-b"))
    ]
    edges = []
    for source in services:
        if source.remote:
            continue
        for destination in services:
            if destination.plane != source.plane:
                continue
            for route in destination.routes:
                if dice.chance(45):
                    edges.append(_draw_edge(dice, source, destination, route))
    for service in services:
        _permit(service, edges)
    plain = [f"metrics.{dice.letters(3)}.*", "orders.>", f"jobs.{dice.letters(4)}"]
    return World(seed, services, edges, plain)


def give_rules(world: World) -> None:
    """Give the services with a login rules: also those that the broker does not restrict.

    Those may not use the trust root, and not subscribe to the control of all services, but do.
    """
    for service in world.services:
        if service.login != "user":
            continue
        own, plane = flat(service.host), service.plane
        service.ruled = True
        service.subscribe_allow = [f"{plane}.safe.*.*.{own}.>", f"{plane}.reply._.*.{own}.*"]
        if any(route.port == 666 for route in service.routes):
            service.subscribe_allow.append(f"{plane}.danger.666.*.{own}.>")
        if service.restricted:
            service.subscribe_allow.append(f"{plane}.safe.888.*.all.>")
        else:
            service.publish_deny = [f"{plane}.danger.>"]


def _draw_service(dice: SplitMix64, host: str, plane: str, number: int) -> Service:
    routes: list[Route] = []
    used: set[tuple[str, ...]] = set()
    parts = list(_PARTS)
    dice.shuffle(parts)
    for name, token in parts[: 2 + dice.below(4)]:
        source_path, path = [name], [token]
        shape = dice.below(4)
        if shape == 1:
            source_path, path = [*source_path, "{a}"], [*path, "*"]
        elif shape == 2:
            source_path, path = [*source_path, "{a}", "lines", "{b}"], [*path, "*", "lines", "*"]
        elif shape == 3:
            source_path, path = [*source_path, "{rest...}"], [*path, ">"]
        method = "ANY" if dice.chance(15) else dice.choice(_METHODS)
        if tuple(path) in used:
            continue
        used.add(tuple(path))
        routes.append(
            Route(dice.choice(_PORTS), method, tuple(source_path), tuple(path), not dice.chance(15))
        )
    login = ("user", "user", "name", "user", "none")[number % 5]
    return Service(
        host=host,
        plane=plane,
        routes=routes,
        replicas=1 + dice.below(3),
        locality=dice.choice(_LOCALITIES),
        login=login,
        restricted=login == "user" and number % 2 == 0,
    )


def _draw_edge(dice: SplitMix64, source: Service, destination: Service, route: Route) -> Edge:
    """Draw an edge: most are in order, some are unused, refused or not in the code."""
    kind = dice.below(10)
    if kind == 0:
        return Edge(source, destination, route, code=True, rule=True, traffic=False)
    if kind == 1:
        return Edge(source, destination, route, code=True, rule=False, traffic=True)
    if kind == 2:
        return Edge(source, destination, route, code=False, rule=True, traffic=True)
    if kind == 3:
        return Edge(source, destination, route, code=False, rule=True, traffic=False)
    return Edge(source, destination, route, code=True, rule=True, traffic=True)


def _permit(service: Service, edges: list[Edge]) -> None:
    """Give a service the permissions of its edges, and those that every service needs."""
    own = flat(service.host)
    rules = {
        f"{service.plane}.safe.888.{own}.>",
        f"{service.plane}.reply._.{own}.>",
    }
    for edge in edges:
        if edge.source is service and edge.rule:
            tokens = edge.route.pattern(service.plane, edge.destination.host, "*").split(".")
            tokens[3] = own
            rules.add(".".join(tokens))
    service.publish_allow = sorted(rules)
