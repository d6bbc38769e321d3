"""The behaviour rules between servers: INFO, its forwarding, routes, keep-alive."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import combinations
from operator import itemgetter
from typing import Any
from urllib.parse import urlsplit

from ._exchange import Connections, Rule, Step, Verdict, broken, is_route, kept, opposite


def rules(idle: int, every_route: bool) -> list[Rule]:
    """Return each rule with its id and the function that checks it."""
    return [
        ("S4-034", "a connecting server sends INFO too", _both_say_info),
        (
            "S4-035",
            "a new server's INFO is forwarded with its ip",
            lambda connections: _forwarded(connections, every_route),
        ),
        (
            "S4-036",
            "a server connects to each announced server",
            lambda connections: _connected(connections, every_route),
        ),
        (
            "S4-037",
            "every server has a route to every other",
            lambda connections: _found_all(connections, every_route),
        ),
        (
            "S4-090",
            "connected servers PING each other",
            lambda connections: _servers_ping(connections, idle),
        ),
        ("S4-097", "servers turn verbose off", _servers_are_not_verbose),
    ]


def _both_say_info(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        sent = [step for step in steps if step.direction == "c2s"]
        if not is_route(steps) or not sent:
            continue
        info = next((step for step in sent if step.op.op == "INFO"), None)
        yield broken(sent[0]) if info is None else kept(info)


def _own_infos(connections: Connections) -> dict[str, Step]:
    """Return the INFO in which each server announced itself on a route."""
    found: dict[str, Step] = {}
    for steps in connections.values():
        for direction in ("c2s", "s2c"):
            infos = (s for s in steps if s.direction == direction and s.op.op == "INFO")
            first = next(infos, None)
            if first is not None and is_route(steps) and not first.op.json.get("ip"):
                found.setdefault(str(first.op.json.get("server_id")), first)
    return found


def _forwards(connections: Connections) -> Iterator[Step]:
    for steps in connections.values():
        for step in steps:
            if is_route(steps) and step.op.op == "INFO" and step.op.json.get("ip"):
                yield step


def _forwarded(connections: Connections, every_route: bool) -> Iterator[Verdict]:
    """Check that a forwarded INFO is of another server than its sender, and has its address."""
    first = _first_infos(connections, own=False)
    for step in _forwards(connections):
        own = first[step.conn, step.direction]
        same = own.op.json.get("server_id") == step.op.json.get("server_id")
        right = _is_route_address(str(step.op.json["ip"]))
        yield kept(step) if right and (not same or own is step) else broken(step)
    if every_route:
        yield from _not_forwarded(connections)


def _is_route_address(text: str) -> bool:
    """Return whether a text is ``nats-route://HOST:PORT/``."""
    try:
        parts = urlsplit(text)
        return parts.scheme == "nats-route" and bool(parts.hostname) and bool(parts.port)
    except ValueError:  # an invalid port or host
        return False


def _first_infos(connections: Connections, *, own: bool) -> dict[tuple[Any, str], Step]:
    """Return the first INFO of each connection and direction; with ``own``, of those without ip."""
    found: dict[tuple[Any, str], Step] = {}
    for conn, steps in connections.items():
        for step in steps:
            if step.op.op == "INFO" and not (own and step.op.json.get("ip")):
                found.setdefault((conn, step.direction), step)
    return found


def _not_forwarded(connections: Connections) -> Iterator[Verdict]:
    """Yield a violation for each newcomer of whom an earlier route of its acceptor is not told."""
    told = {(step.conn, step.op.json.get("server_id")) for step in _forwards(connections)}
    ends = {conn: _ends_of_route(steps) for conn, steps in connections.items() if is_route(steps)}
    routes = _routes_in_time(connections, ends)
    for name, first in _own_infos(connections).items():
        acceptors = [end for end in ends[first.conn] if end != name and end in routes]
        # Each pair that is looked at is told, or a route of the newcomer, or the violation.
        begun = first.time
        if begun is None:
            continue
        for acceptor in acceptors:
            times, conns = routes[acceptor]
            earlier = conns[: bisect_left(times, begun)]
            if any(name not in ends[conn] and (conn, name) not in told for conn in earlier):
                yield broken(first)


def _routes_in_time(
    connections: Connections, ends: dict[Any, set[str]]
) -> dict[str, tuple[list[int], list[Any]]]:
    """Return the beginnings and names of each server's routes, those with both ends, in order."""
    begun = [
        (time, place, conn)
        for place, (conn, servers) in enumerate(ends.items())
        if len(servers) == 2 and (time := connections[conn][0].time) is not None
    ]
    found: dict[str, tuple[list[int], list[Any]]] = {}
    for time, _, conn in sorted(begun, key=itemgetter(0, 1)):
        for server in ends[conn]:
            times, conns = found.setdefault(server, ([], []))
            times.append(time)
            conns.append(conn)
    return found


def _ends_of_route(steps: list[Step]) -> set[str]:
    """Return the ids of the servers that announced themselves on a route."""
    own = (step for step in steps if step.op.op == "INFO" and not step.op.json.get("ip"))
    return {str(step.op.json.get("server_id")) for step in own}


def _pairs(connections: Connections) -> dict[frozenset[str], Step]:
    """Return the two servers of each route, with the INFO in which the second announced itself."""
    found: dict[frozenset[str], Step] = {}
    for steps in connections.values():
        if not is_route(steps):
            continue
        ends: dict[str, str] = {}
        for step in steps:
            if step.op.op == "INFO" and not step.op.json.get("ip"):
                ends.setdefault(step.direction, str(step.op.json.get("server_id")))
                if len(ends) == 2:
                    found.setdefault(frozenset(ends.values()), step)
                    break
    return found


def _connected(connections: Connections, every_route: bool) -> Iterator[Verdict]:
    """Check the routes to announced servers; without all routes, none is known to be missing."""
    introduced, pairs = _own_infos(connections), _pairs(connections)
    first = _first_infos(connections, own=True)
    for step in _forwards(connections):
        name = str(step.op.json.get("server_id"))
        other = introduced.get(name)
        if other is not None and other.conn != step.conn and not every_route:
            yield kept(other)
        if not every_route:
            continue
        # The server that receives the INFO is the other end of the connection.
        receiver = first.get((step.conn, opposite(step.direction)))
        if receiver is None:
            continue
        met = pairs.get(frozenset({name, str(receiver.op.json.get("server_id"))}))
        yield broken(step) if met is None else kept(met)


def _found_all(connections: Connections, every_route: bool) -> Iterator[Verdict]:
    """Check that any two servers have a route, if all routes are captured."""
    if not every_route:
        yield from _connected(connections, False)
        return
    introduced, pairs = _own_infos(connections), _pairs(connections)
    if not any(True for _ in _forwards(connections)):
        return
    for one, other in combinations(sorted(introduced), 2):
        met = pairs.get(frozenset({one, other}))
        yield broken(introduced[other]) if met is None else kept(met)


def _servers_ping(connections: Connections, idle: int) -> Iterator[Verdict]:
    for steps in connections.values():
        if not is_route(steps):
            continue
        last = steps[0]
        for step in steps:
            if step.op.op == "PING":
                yield kept(step)
                last = step
            elif step.since(last) > idle:
                yield broken(step)
                last = step


def _servers_are_not_verbose(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        for step in steps:
            if is_route(steps) and step.op.op == "CONNECT":
                yield broken(step) if step.op.json.get("verbose", True) else kept(step)
