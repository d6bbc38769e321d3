"""Did both sides behave as the protocol pages say? What no single operation can break (A72).

``check`` reads both directions of one or more connections and says of each rule whether it was
kept, broken, or had no occasion. Rules that need several connections take them all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from . import _streaming_rules as conversation_streaming
from ._exchange import Step, Talks, Verdict, broken, kept, talks_of
from ._server_error import ServerError

_SECOND = 1_000_000_000
_ACKNOWLEDGED = frozenset({"CONNECT", "PUB", "HPUB", "SUB", "UNSUB"})


class Finding(NamedTuple):
    """What became of one rule: ``verdict`` is ``kept``, ``broken`` or ``not seen``.

    ``row`` is the requirement; ``conn``, ``offset`` and ``time`` say where the first breach is, or
    the first occasion on which it was kept.
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
) -> list[Finding]:
    """Holds a capture against every rule; one finding for each, in the order of the pages.

    ``operations``: rows of ``sources.read``, or tuples of direction (``c2s``, ``s2c``) and
    operation, with a time in nanoseconds and a connection where they are known. ``ping_within``:
    seconds in which a PING is to be answered; ``idle``: seconds of silence after which a connection
    is to be cut, and in which servers PING each other at least once; ``every_route``: the capture
    holds all routes of the cluster from their beginnings, so that what is not there never was.
    Times that are not known break no rule. Cost: one pass for each rule.
    """
    talks = talks_of(operations)
    limits = (int(ping_within * _SECOND), int(idle * _SECOND))
    rules = [*_rules(*limits, every_route), *conversation_streaming.rules()]
    return [_found(row, rule, judge(talks)) for row, rule, judge in rules]


def _found(row: str, rule: str, verdicts: Iterator[Verdict]) -> Finding:
    first: Verdict | None = None
    for verdict in verdicts:
        if verdict.word == "broken":
            first = verdict
            break
        first = first or verdict
    if first is None:
        return Finding(row, rule, "not seen")
    step = first.step
    return Finding(row, rule, first.word, step.conn, step.op.offset, step.time)


_Rule = tuple[str, str, Callable[[Talks], Iterator[Verdict]]]


def _rules(within: int, idle: int, every_route: bool) -> list[_Rule]:
    return [
        ("S4-033", "a server says INFO first", _info_first),
        ("S4-034", "a connecting server says INFO too", _both_say_info),
        ("S4-035", "a new server's INFO is forwarded with its ip", _forwarded),
        (
            "S4-036",
            "a server that is heard of is connected to",
            lambda talks: _connected(talks, every_route),
        ),
        ("S4-037", "so every server is found", lambda talks: _found_all(talks, every_route)),
        ("S4-049", "CONNECT follows INFO", _connect_after_info),
        ("S4-090", "connected servers PING each other", lambda talks: _servers_ping(talks, idle)),
        ("S4-091", "without PONG the connection ends", lambda talks: _ends(talks, within)),
        ("S4-092", "an idle connection is cut", lambda talks: _idle(talks, idle)),
        ("S4-093", "a PING is answered by a PONG in time", lambda talks: _pongs(talks, within)),
        ("S4-096", "with verbose each operation is acknowledged by +OK", _acknowledged),
        ("S4-097", "servers turn verbose off", _servers_are_not_verbose),
    ]


def _is_route(steps: list[Step]) -> bool:
    return steps[0].op.conn in ("route", "route_legacy")


def _info_first(talks: Talks) -> Iterator[Verdict]:
    for steps in talks.values():
        first = next((step for step in steps if step.direction == "s2c"), None)
        if first is not None:
            yield kept(first) if first.op.op == "INFO" else broken(first)


def _both_say_info(talks: Talks) -> Iterator[Verdict]:
    for steps in talks.values():
        sent = [step for step in steps if step.direction == "c2s"]
        if not _is_route(steps) or not sent:
            continue
        said = next((step for step in sent if step.op.op == "INFO"), None)
        yield broken(sent[0]) if said is None else kept(said)


def _own_infos(talks: Talks) -> dict[str, Step]:
    """The INFO by which each server introduced itself on a route."""
    found: dict[str, Step] = {}
    for steps in talks.values():
        for direction in ("c2s", "s2c"):
            infos = (s for s in steps if s.direction == direction and s.op.op == "INFO")
            first = next(infos, None)
            if first is not None and _is_route(steps) and not first.op.json.get("ip"):
                found.setdefault(str(first.op.json.get("server_id")), first)
    return found


def _forwards(talks: Talks) -> Iterator[Step]:
    for steps in talks.values():
        for step in steps:
            if _is_route(steps) and step.op.op == "INFO" and step.op.json.get("ip"):
                yield step


def _forwarded(talks: Talks) -> Iterator[Verdict]:
    """A forwarded INFO is of another server than the one that sends it, and says where it is."""
    for step in _forwards(talks):
        own = next(
            s for s in talks[step.conn] if s.direction == step.direction and s.op.op == "INFO"
        )
        same = own.op.json.get("server_id") == step.op.json.get("server_id")
        right = str(step.op.json["ip"]).startswith("nats-route://")
        yield kept(step) if right and (not same or own is step) else broken(step)


def _pairs(talks: Talks) -> dict[frozenset[str], Step]:
    """The two servers of each route, with the INFO by which the second one introduced itself."""
    found: dict[frozenset[str], Step] = {}
    for steps in talks.values():
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


def _connected(talks: Talks, every_route: bool) -> Iterator[Verdict]:
    """Unless all routes are there, a connection that is not there breaks nothing."""
    introduced, pairs = _own_infos(talks), _pairs(talks)
    for step in _forwards(talks):
        name = str(step.op.json.get("server_id"))
        other = introduced.get(name)
        if other is not None and other.conn != step.conn and not every_route:
            yield kept(other)
        if not every_route:
            continue
        # Whoever hears of it is the other end of the connection.
        ends = [s for s in talks[step.conn] if s.op.op == "INFO" and not s.op.json.get("ip")]
        heard = next((s for s in ends if s.direction != step.direction), None)
        if heard is None:
            continue
        met = pairs.get(frozenset({name, str(heard.op.json.get("server_id"))}))
        yield broken(step) if met is None else kept(met)


def _found_all(talks: Talks, every_route: bool) -> Iterator[Verdict]:
    """With all routes there, any two servers have one between them."""
    if not every_route:
        yield from _connected(talks, False)
        return
    introduced, pairs = _own_infos(talks), _pairs(talks)
    if not any(True for _ in _forwards(talks)):
        return
    for one, other in combinations(sorted(introduced), 2):
        met = pairs.get(frozenset({one, other}))
        yield broken(introduced[other]) if met is None else kept(met)


def _connect_after_info(talks: Talks) -> Iterator[Verdict]:
    for steps in talks.values():
        informed = False
        for step in steps:
            informed |= step.direction == "s2c" and step.op.op == "INFO"
            if step.direction == "c2s" and step.op.op == "CONNECT":
                yield kept(step) if informed else broken(step)


def _servers_ping(talks: Talks, idle: int) -> Iterator[Verdict]:
    for steps in talks.values():
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
    """Each PING with the PONG that answers it, in order, or None."""
    waiting: dict[str, list[Step]] = {"c2s": [], "s2c": []}
    for step in steps:
        if step.op.op == "PING":
            waiting[step.direction].append(step)
        elif step.op.op == "PONG":
            asked = waiting["s2c" if step.direction == "c2s" else "c2s"]
            if asked:
                yield asked.pop(0), step
    for asked in waiting.values():
        for step in asked:
            yield step, None


def _pongs(talks: Talks, within: int) -> Iterator[Verdict]:
    for steps in talks.values():
        for ping, pong in _pings(steps):
            last = steps[-1] if pong is None else pong
            if last.since(ping) > within:
                yield broken(ping)
            elif pong is not None:
                yield kept(pong)


def _ends(talks: Talks, within: int) -> Iterator[Verdict]:
    for steps in talks.values():
        for ping, pong in _pings(steps):
            if pong is not None:
                continue
            # Whoever asked in vain says no more, but for the reason why.
            later = [s for s in steps if s.direction == ping.direction and s.since(ping) > within]
            wrong = [s for s in later if s.op.op not in ("-ERR", "PING")]
            if wrong:
                yield broken(wrong[0])
            elif later:
                yield kept(later[0])


def _idle(talks: Talks, idle: int) -> Iterator[Verdict]:
    """Cut by a server that says so, or at least not used any more."""
    for steps in talks.values():
        for step, following in pairwise(steps):
            if following.since(step) > idle and not _cuts(following):
                yield broken(following)
        if _cuts(steps[-1]):
            yield kept(steps[-1])


def _cuts(step: Step) -> bool:
    stale = ServerError.STALE_CONNECTION
    return step.op.op == "-ERR" and ServerError.of(step.op.message) is stale


def _acknowledged(talks: Talks) -> Iterator[Verdict]:
    """+OK and -ERR come in the order of what they answer."""
    for steps in talks.values():
        verbose = False
        waiting: list[Step] = []
        for step in steps:
            if step.direction == "c2s":
                if step.op.op == "CONNECT":
                    verbose = bool(step.op.json.get("verbose", True))  # A56
                if verbose and step.op.op in _ACKNOWLEDGED:
                    waiting.append(step)
            elif step.op.op == "+OK":
                yield kept(waiting.pop(0)) if waiting else broken(step)
            elif step.op.op == "-ERR" and waiting:
                waiting.pop(0)
        for step in waiting:
            yield broken(step)


def _servers_are_not_verbose(talks: Talks) -> Iterator[Verdict]:
    for steps in talks.values():
        for step in steps:
            if _is_route(steps) and step.op.op == "CONNECT":
                yield broken(step) if step.op.json.get("verbose", True) else kept(step)


__all__ = ["Finding", "check"]
