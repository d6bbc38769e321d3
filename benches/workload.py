"""Microbus-shaped patterns and subjects, the same for the same seed.

``services`` hosts serve ``routes`` routes each; each route is subscribed at its own slots: ``_``,
and where ``slots`` is 6 two replicas and three localities too. Sources are always ``*``; some ports
and methods are ``*``; a quarter of the deeper paths hold an argument; 6 % end in ``>``.

Subjects come in three orders: ``zipf`` over the routes, ``uniform``, and ``hot``: 1,000 different
ones repeated. One in ten is heard by nobody. Every subject is a new ``str``, as from a socket.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

_VERBS = ("GET", "POST", "PUT", "DELETE", "PATCH")
_NOUNS = ("orders", "items", "users", "carts", "prices", "stock", "events", "labels")
_SLOTS = ("_", "id-{a}", "id-{b}", "loc-eu", "loc-eu-west", "loc-eu-west-1")


@dataclass(frozen=True)
class Route:
    """One endpoint of one service."""

    port: str
    host: str
    method: str
    path: tuple[str, ...]
    slots: tuple[str, ...]


class Workload:
    """A fleet, its subscriptions, and what is sent to it."""

    def __init__(
        self, services: int = 50, routes: int = 20, slots: int = 6, seed: int = 20261121
    ) -> None:
        self._draw = random.Random(seed)
        self.routes = [
            self._route(service, route, slots)
            for service in range(services)
            for route in range(routes)
        ]
        self.patterns = [
            f"microbus.safe.{route.port}.*.{route.host}.{slot}.{route.method}.{'.'.join(route.path)}"
            for route in self.routes
            for slot in route.slots
        ]

    def _route(self, service: int, number: int, slots: int) -> Route:
        draw = self._draw
        path = [
            "v1",
            draw.choice(_NOUNS),
            *(f"p{draw.randrange(40)}" for _ in range(draw.randrange(3))),
        ]
        path.append(f"r{number}")
        if len(path) > 3 and draw.random() < 0.25:
            path[2] = "*"
        if draw.random() < 0.06:
            path.append(">")
        names = {"a": f"{draw.randrange(16**8):08x}", "b": f"{draw.randrange(16**8):08x}"}
        return Route(
            port="*" if draw.random() < 0.1 else draw.choice(["443", "443", "443", "417", "888"]),
            host=f"com_example_team{service % 7}_service{service}",
            method="*" if draw.random() < 0.1 else draw.choice(_VERBS),
            path=tuple(path),
            slots=tuple(slot.format(**names) for slot in _SLOTS[:slots]),
        )

    def _subject(self, route: Route) -> str:
        draw = self._draw
        path = list(route.path)
        if path[-1] == ">":
            path[-1:] = (f"deep{draw.randrange(9)}" for _ in range(draw.randint(1, 3)))
        path = [f"arg{draw.randrange(10**6)}" if token == "*" else token for token in path]
        if draw.random() < 0.1:
            path[-1] = "nowhere"
        port = "443" if route.port == "*" else route.port
        method = draw.choice(_VERBS) if route.method == "*" else route.method
        source = f"com_example_web{draw.randrange(20)}"
        slot = draw.choice(route.slots)
        return f"microbus.safe.{port}.{source}.{route.host}.{slot}.{method}.{'.'.join(path)}"

    def subjects(self, count: int, order: str) -> list[str]:
        """``count`` subjects in the order ``hot``, ``zipf`` or ``uniform``."""
        if order == "hot":
            base = self.subjects(min(count, 1000), "uniform")
            return [fresh(base[n % len(base)]) for n in range(count)]
        weights = [1 / (n + 1) for n in range(len(self.routes))] if order == "zipf" else None
        return [self._subject(r) for r in self._draw.choices(self.routes, weights, k=count)]


def fresh(text: str) -> str:
    """The same text as a new object that has no hash yet."""
    return text.encode().decode()
