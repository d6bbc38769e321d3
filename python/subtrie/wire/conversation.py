"""Check the behaviour of both sides of a connection against the protocol's rules.

These are the rules that no single operation can violate, such as the order of operations and the
time for an answer. ``check`` reads both directions of one or more connections, and reports for each
rule whether it is kept, broken, or not seen. Rules about a cluster use all connections.
"""
# A72

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, pairwise
from operator import itemgetter
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from . import _streaming_rules, _subscription_rules
from ._exchange import Connections, Step, Verdict, broken, group_by_connection, kept
from ._server_error import ServerError

_SECOND = 1_000_000_000
_ACKNOWLEDGED = frozenset({"CONNECT", "PUB", "HPUB", "SUB", "UNSUB"})


class RuleFinding(NamedTuple):
    """The result of one rule.

    Attributes:
        row: The id of the rule.
        rule: The rule in words.
        verdict: ``kept``, ``broken`` or ``not seen``.
        conn: The connection of the first violation, else of the first step that kept the rule.
        offset: The offset of that operation in its stream.
        time: The time of that operation in nanoseconds, if known.
    """

    row: str
    rule: str
    verdict: str
    conn: int | str | None = None
    offset: int | None = None
    time: int | None = None

    def __str__(self) -> str:
        place = "" if self.conn is None else f" (connection {self.conn}, byte {self.offset})"
        return f"{self.row} {self.verdict}: {self.rule}{place}"


def check(
    operations: Iterable[Any],
    *,
    ping_within: float = 10.0,
    idle: float = 600.0,
    every_route: bool = False,
) -> list[RuleFinding]:
    """Check the operations of a capture against every rule.

    An unknown time breaks no rule. Cost: one pass per rule, so linear in the capture.

    Args:
        operations: Rows of ``read_operations``, or tuples of direction (``c2s``, ``s2c``) and
            operation, optionally followed by the time in nanoseconds and the connection.
        ping_within: The seconds within which a PING must be answered.
        idle: The seconds of silence after which a connection must be closed, and within which
            servers must PING each other.
        every_route: Whether the capture holds all routes of the cluster from their beginnings, so
            that a missing route breaks a rule.

    Returns:
        One finding per rule, in the order of the protocol pages.
    """
    connections = group_by_connection(operations)
    limits = (int(ping_within * _SECOND), int(idle * _SECOND))
    streaming = (*_streaming_rules.rules(), *_subscription_rules.rules())
    rules = [*_rules(*limits, every_route), *sorted(streaming, key=itemgetter(0))]
    return [_found(row, rule, judge(connections)) for row, rule, judge in rules]


def _found(row: str, rule: str, verdicts: Iterator[Verdict]) -> RuleFinding:
    """Return the first violation of a rule, else the first step that kept it."""
    first: Verdict | None = None
    for verdict in verdicts:
        if verdict.word == "broken":
            first = verdict
            break
        first = first or verdict
    if first is None:
        return RuleFinding(row, rule, "not seen")
    step = first.step
    return RuleFinding(row, rule, first.word, step.conn, step.op.offset, step.time)


_Rule = tuple[str, str, Callable[[Connections], Iterator[Verdict]]]


def _rules(within: int, idle: int, every_route: bool) -> list[_Rule]:
    """Return the rules of the client and cluster protocols."""
    return [
        ("S4-033", "a server sends INFO first", _info_first),
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
        ("S4-049", "CONNECT follows INFO", _connect_after_info),
        (
            "S4-090",
            "connected servers PING each other",
            lambda connections: _servers_ping(connections, idle),
        ),
        (
            "S4-091",
            "a connection without a PONG ends",
            lambda connections: _ends(connections, within),
        ),
        ("S4-092", "an idle connection is closed", lambda connections: _idle(connections, idle)),
        (
            "S4-093",
            "a PING is answered by a PONG in time",
            lambda connections: _pongs(connections, within),
        ),
        ("S4-096", "with verbose each operation is acknowledged by +OK", _acknowledged),
        ("S4-097", "servers turn verbose off", _servers_are_not_verbose),
    ]


def _is_route(steps: list[Step]) -> bool:
    return steps[0].op.conn in ("route", "route_legacy")


def _info_first(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        first = next((step for step in steps if step.direction == "s2c"), None)
        if first is not None:
            yield kept(first) if first.op.op == "INFO" else broken(first)


def _both_say_info(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        sent = [step for step in steps if step.direction == "c2s"]
        if not _is_route(steps) or not sent:
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
            if first is not None and _is_route(steps) and not first.op.json.get("ip"):
                found.setdefault(str(first.op.json.get("server_id")), first)
    return found


def _forwards(connections: Connections) -> Iterator[Step]:
    for steps in connections.values():
        for step in steps:
            if _is_route(steps) and step.op.op == "INFO" and step.op.json.get("ip"):
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
    ends = {conn: _ends_of_route(steps) for conn, steps in connections.items() if _is_route(steps)}
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
        if not _is_route(steps):
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
        receiver = first.get((step.conn, "s2c" if step.direction == "c2s" else "c2s"))
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


def _connect_after_info(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        informed = False
        for step in steps:
            informed |= step.direction == "s2c" and step.op.op == "INFO"
            if step.direction == "c2s" and step.op.op == "CONNECT":
                yield kept(step) if informed else broken(step)


def _servers_ping(connections: Connections, idle: int) -> Iterator[Verdict]:
    for steps in connections.values():
        if not _is_route(steps):
            continue
        last = steps[0]
        for step in steps:
            if step.op.op == "PING":
                yield kept(step)
                last = step
            elif step.since(last) > idle:
                yield broken(step)
                last = step


def _pings(steps: list[Step]) -> Iterator[tuple[Step, Step | None]]:
    """Yield each PING with the PONG that answers it, or None."""
    waiting: dict[str, deque[Step]] = {"c2s": deque(), "s2c": deque()}
    for step in steps:
        if step.op.op == "PING":
            waiting[step.direction].append(step)
        elif step.op.op == "PONG":
            pings = waiting["s2c" if step.direction == "c2s" else "c2s"]
            if pings:
                yield pings.popleft(), step
    for pings in waiting.values():
        for step in pings:
            yield step, None


def _pongs(connections: Connections, within: int) -> Iterator[Verdict]:
    for steps in connections.values():
        for ping, pong in _pings(steps):
            last = steps[-1] if pong is None else pong
            if last.since(ping) > within:
                yield broken(ping)
            elif pong is not None:
                yield kept(pong)


def _ends(connections: Connections, within: int) -> Iterator[Verdict]:
    for steps in connections.values():
        # After the time limit only the reason, or another PING, may follow.
        sent = {way: [s for s in steps if s.direction == way] for way in ("c2s", "s2c")}
        any_step = {way: _FirstAfter(found) for way, found in sent.items()}
        wrong_step = {
            way: _FirstAfter([s for s in found if s.op.op not in ("-ERR", "PING")])
            for way, found in sent.items()
        }
        for ping, pong in _pings(steps):
            if pong is not None or ping.time is None:
                continue
            wrong = wrong_step[ping.direction].after(ping.time + within)
            later = any_step[ping.direction].after(ping.time + within)
            if wrong is not None:
                yield broken(wrong)
            elif later is not None:
                yield kept(later)


class _FirstAfter:
    """Finds the first of some steps, in their order, that is later than a time."""

    def __init__(self, steps: list[Step]) -> None:
        self._times: list[int] = []
        self._steps: list[Step] = []
        for step in steps:  # only one that is later than all before it can be the first
            if step.time is not None and (not self._times or step.time > self._times[-1]):
                self._times.append(step.time)
                self._steps.append(step)

    def after(self, time: int) -> Step | None:
        place = bisect_right(self._times, time)
        return self._steps[place] if place < len(self._steps) else None


def _idle(connections: Connections, idle: int) -> Iterator[Verdict]:
    """Check that an idle connection is closed with an error, or not used any more."""
    for steps in connections.values():
        for step, following in pairwise(steps):
            if following.since(step) > idle and not _closes_idle(following):
                yield broken(following)
        if _closes_idle(steps[-1]):
            yield kept(steps[-1])


def _closes_idle(step: Step) -> bool:
    stale = ServerError.STALE_CONNECTION
    return step.op.op == "-ERR" and ServerError.of(step.op.message) is stale


def _acknowledged(connections: Connections) -> Iterator[Verdict]:
    """Check that each operation has an answer; +OK and -ERR come in the order of operations."""
    for steps in connections.values():
        verbose = False
        waiting: deque[Step] = deque()
        for step in steps:
            if step.direction == "c2s":
                if step.op.op == "CONNECT":
                    verbose = bool(step.op.json.get("verbose", True))  # A56
                if verbose and step.op.op in _ACKNOWLEDGED:
                    waiting.append(step)
            elif step.op.op == "+OK":
                yield kept(waiting.popleft()) if waiting else broken(step)
            elif step.op.op == "-ERR" and waiting:
                waiting.popleft()
        for step in waiting:
            yield broken(step)


def _servers_are_not_verbose(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        for step in steps:
            if _is_route(steps) and step.op.op == "CONNECT":
                yield broken(step) if step.op.json.get("verbose", True) else kept(step)


__all__ = ["RuleFinding", "check"]
