"""The behaviour rules between a server and the other end of one connection."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise

from .._core import engine
from .._core.errors import PatternError, SubjectError
from ._exchange import (
    DELAY,
    TOLERANCE,
    Connections,
    Rule,
    Step,
    Verdict,
    broken,
    is_route,
    kept,
    opposite,
)
from ._server_error import ServerError
from .cluster import is_verbose, needs_tls

#: What a verbose client is answered.
_ACKNOWLEDGED = frozenset({"CONNECT", "PUB", "HPUB", "SUB", "UNSUB"})
_PUBLISHED = frozenset({"PUB", "HPUB"})
_DELIVERED = frozenset({"MSG", "HMSG"})
#: The connections on which a delivery names a subscription by its identifier.
_WITH_SIDS = frozenset({"client", "server_to_client", "route_legacy"})
_CREDENTIALS = ("auth_token", "user", "pass", "jwt", "nkey", "sig")


def rules(within: int, idle: int, authorization: int) -> list[Rule]:
    """Return each rule with its id and the function that checks it; times are in nanoseconds."""
    return [
        ("S4-028", "who must authenticate sends credentials", _authenticates),
        ("S4-029", "where TLS is required nothing is sent without it", _uses_tls),
        ("S4-030", "a payload above max_payload is refused", _payloads),
        ("S4-033", "a server sends INFO first", _info_first),
        ("S4-041", "with pedantic a subject that is not valid is refused", _pedantic),
        ("S4-042", "CONNECT and INFO agree whether TLS is required", _agree_on_tls),
        ("S4-049", "CONNECT follows INFO", _connect_after_info),
        ("S4-077", "after UNSUB, or its number of messages, none is delivered", _unsubscribed),
        ("S4-083", "a delivery names a subscription to its subject", _sids),
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
        ("S4-098", "an error that closes the connection is the last operation", _closed),
        (
            "S4-102",
            "who does not authenticate in time is refused",
            lambda connections: _in_time(connections, authorization),
        ),
        ("S4-107", "a subscription to a subject that is not valid is refused", _subscribed),
    ]


def _sent(steps: list[Step], direction: str, *names: str) -> Iterator[Step]:
    return (step for step in steps if step.direction == direction and step.op.op in names)


def _info(steps: list[Step]) -> Step | None:
    return next(_sent(steps, "s2c", "INFO"), None)


def _connect(steps: list[Step]) -> Step | None:
    return next(_sent(steps, "c2s", "CONNECT"), None)


def _is_error(step: Step, error: ServerError) -> bool:
    return step.op.op == "-ERR" and ServerError.of(step.op.message) is error


def _authenticates(connections: Connections) -> Iterator[Verdict]:
    """Check that CONNECT has credentials; without any, a server may take a default user."""
    for steps in connections.values():
        info = _info(steps)
        connect = _connect(steps)
        if info is None or connect is None or not info.op.json.get("auth_required"):
            continue
        if any(connect.op.json.get(name) for name in _CREDENTIALS):
            yield kept(connect)
        elif any(_is_error(step, ServerError.AUTHORIZATION_VIOLATION) for step in steps):
            yield broken(connect)


def _uses_tls(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        info = _info(steps)
        if info is not None and needs_tls(info.op.json):
            readable = next((step for step in steps if step.direction == "c2s"), None)
            yield kept(info) if readable is None else broken(readable)


def _agree_on_tls(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        info = _info(steps)
        for connect in _sent(steps, "c2s", "CONNECT"):
            if info is None or "tls_required" not in connect.op.json:
                continue
            same = bool(connect.op.json["tls_required"]) == needs_tls(info.op.json)
            yield kept(connect) if same else broken(connect)


def _refused(
    steps: list[Step], is_wrong: Callable[[Step], bool], error: ServerError
) -> Iterator[Verdict]:
    """Check that each wrong operation of a client is answered by an error.

    The server answers in order: after the PONG to a later PING the error is missing.
    """
    waiting: deque[Step] = deque()
    pings: deque[int] = deque()
    count = 0
    for step in steps:
        if step.direction == "c2s":
            if step.op.op == "PING":
                pings.append(count)
            elif is_wrong(step):
                waiting.append(step)
                count += 1
        elif _is_error(step, error) and waiting:
            waiting.popleft()
            yield kept(step)
        elif step.op.op == "PONG" and pings:
            answered = pings.popleft()
            while waiting and count - len(waiting) < answered:
                yield broken(waiting.popleft())


def _payloads(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        info = _info(steps)
        limit = None if info is None else info.op.json.get("max_payload")
        if isinstance(limit, int):
            yield from _refused(steps, _is_larger(limit), ServerError.MAXIMUM_PAYLOAD)


def _is_larger(limit: int) -> Callable[[Step], bool]:
    return lambda step: step.op.op in _PUBLISHED and step.op.size > limit


def _pedantic(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        connect = _connect(steps)
        if connect is not None and connect.op.json.get("pedantic"):
            yield from _refused(
                steps, _publishes_to_no_subject, ServerError.INVALID_PUBLISH_SUBJECT
            )


def _publishes_to_no_subject(step: Step) -> bool:
    return step.op.op in _PUBLISHED and not _is_subject(step.op.subject)


def _is_subject(text: str) -> bool:
    try:
        engine.check_subject(text, "server")
    except SubjectError:
        return False
    return True


def _subscribed(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        if not is_route(steps):
            yield from _refused(steps, _subscribes_to_no_pattern, ServerError.INVALID_SUBJECT)


def _subscribes_to_no_pattern(step: Step) -> bool:
    if step.op.op != "SUB":
        return False
    try:
        engine.check_pattern(step.op.subject, "server")
    except PatternError:
        return True
    return False


class _Subscription:
    """A subscription of one connection: its pattern, its deliveries and its end.

    Attributes:
        pattern: The pattern.
        delivered: The number of messages that were delivered.
        limit: The number after which it ends, or None.
        ended: The step of its UNSUB, or None.
        pings: The number of PINGs before its UNSUB.
    """

    __slots__ = ("delivered", "ended", "limit", "pattern", "pings")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.delivered = 0
        self.limit: int | None = None
        self.ended: Step | None = None
        self.pings = 0


def _deliveries(steps: list[Step]) -> Iterator[tuple[Step, _Subscription | None, int]]:
    """Yield each delivery with its subscription, and the PONGs to the subscriber before it.

    At the end the UNSUB of each subscription follows, with all PONGs. Either end of a legacy route
    may subscribe, so a subscription belongs to a direction.
    """
    if steps[0].op.conn not in _WITH_SIDS:
        return
    subscriptions: dict[tuple[str, str], _Subscription] = {}
    pings = {"c2s": 0, "s2c": 0}
    pongs = {"c2s": 0, "s2c": 0}
    for step in steps:
        name, way, op = step.op.op, step.direction, step.op
        if name == "PING":
            pings[way] += 1
        elif name == "PONG":
            pongs[opposite(way)] += 1
        elif name == "SUB":
            subscriptions[way, op.rsid or op.sid] = _Subscription(op.subject)
        elif name == "UNSUB":
            ended = subscriptions.get((way, op.rsid or op.sid))
            if ended is not None:
                ended.limit, ended.ended, ended.pings = op.max or 0, step, pings[way]
        elif name in _DELIVERED:
            receiver = opposite(way)
            subscription = subscriptions.get((receiver, op.sid))
            if subscription is not None:
                subscription.delivered += 1
            yield step, subscription, pongs[receiver]
    for (way, _), subscription in subscriptions.items():
        if subscription.ended is not None:
            yield subscription.ended, subscription, pongs[way]


def _unsubscribed(connections: Connections) -> Iterator[Verdict]:
    """Check deliveries after UNSUB: the server has read it once it answers a later PING."""
    for steps in connections.values():
        for step, subscription, pongs in _deliveries(steps):
            if subscription is None or subscription.ended is None or subscription.limit is None:
                continue
            if step.op.op == "UNSUB":
                if not subscription.limit and pongs > subscription.pings:
                    yield kept(step)
            elif subscription.delivered <= subscription.limit:
                if subscription.delivered == subscription.limit:
                    yield kept(step)
            elif pongs > subscription.pings or step.since(subscription.ended) > TOLERANCE:
                yield broken(step)


def _sids(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        if _connect(steps) is None:
            continue  # the capture may begin after the subscription
        for step, subscription, _ in _deliveries(steps):
            if step.op.op in _DELIVERED:
                right = subscription is not None and _is_to(subscription.pattern, step.op.subject)
                yield kept(step) if right else broken(step)


def _is_to(pattern: str, subject: str) -> bool:
    try:
        return bool(engine.matches(pattern, subject))
    except ValueError:  # a pattern or subject that is not valid has rules of its own
        return True


def _info_first(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        first = next((step for step in steps if step.direction == "s2c"), None)
        if first is not None:
            yield kept(first) if first.op.op == "INFO" else broken(first)


def _connect_after_info(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        informed = False
        for step in steps:
            informed |= step.direction == "s2c" and step.op.op == "INFO"
            if step.direction == "c2s" and step.op.op == "CONNECT":
                yield kept(step) if informed else broken(step)


def _pings(steps: list[Step]) -> Iterator[tuple[Step, Step | None]]:
    """Yield each PING with the PONG that answers it, or None."""
    waiting: dict[str, deque[Step]] = {"c2s": deque(), "s2c": deque()}
    for step in steps:
        if step.op.op == "PING":
            waiting[step.direction].append(step)
        elif step.op.op == "PONG":
            pings = waiting[opposite(step.direction)]
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
                    verbose = is_verbose(step.op.json)
                if verbose and step.op.op in _ACKNOWLEDGED:
                    waiting.append(step)
            elif step.op.op == "+OK":
                yield kept(waiting.popleft()) if waiting else broken(step)
            elif step.op.op == "-ERR" and waiting:
                waiting.popleft()
        for step in waiting:
            yield broken(step)


def _closed(connections: Connections) -> Iterator[Verdict]:
    for steps in connections.values():
        if is_route(steps):
            continue
        closing: Step | None = None
        for step in (step for step in steps if step.direction == "s2c"):
            if step.op.op == "-ERR":
                error = ServerError.of(step.op.message)
                if error is not ServerError.UNKNOWN and error.closes:
                    closing = step
            elif closing is not None:
                yield broken(step)
                closing = None
        if closing is not None:
            yield kept(closing)


def _in_time(connections: Connections, limit: int) -> Iterator[Verdict]:
    """Check that a client which sends no CONNECT is refused after the time limit, not before."""
    for steps in connections.values():
        info = _info(steps)
        if info is None or info.time is None or not info.op.json.get("auth_required"):
            continue
        for step in steps:
            if step.op.op == "CONNECT":
                break
            if _is_error(step, ServerError.AUTHORIZATION_TIMEOUT):
                yield kept(step) if step.since(info) >= limit - DELAY else broken(step)
                break
            if step.since(info) > limit + TOLERANCE:
                yield broken(step)
                break
