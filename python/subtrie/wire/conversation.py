"""Check the behaviour of both sides of a connection against the protocol's rules.

These are the rules that no single operation can violate, such as the order of operations and the
time for an answer. ``check`` reads both directions of one or more connections, and reports for each
rule whether it is kept, broken, or not seen. Rules about a cluster use all connections.
"""
# A72

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any, NamedTuple

from . import _cluster_rules, _connection_rules, _streaming_rules, _subscription_rules
from ._exchange import SECOND, Rule, Verdict, group_by_connection
from ._server_error import ServerError
from ._streaming_messages import StreamingExchange
from ._streaming_rules import StreamingRule


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
    authorization: float = ServerError.AUTHORIZATION_TIMEOUT.seconds,
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
        authorization: The seconds within which a client must send its CONNECT where the server
            requires authentication.
        every_route: Whether the capture holds all routes of the cluster from their beginnings, so
            that a missing route breaks a rule.

    Returns:
        One finding per rule, in the order of the protocol pages.
    """
    connections = group_by_connection(operations)
    exchange = StreamingExchange(connections)
    within, silent, authorized = (
        int(seconds * SECOND) for seconds in (ping_within, idle, authorization)
    )
    core = _rules(within, silent, authorized, every_route)
    return [
        *(_found(row, rule, judge(connections)) for row, rule, judge in core),
        *(_found(row, rule, judge(exchange)) for row, rule, judge in _streaming()),
    ]


def _rules(within: int, idle: int, authorization: int, every_route: bool) -> list[Rule]:
    """Return the rules of the client and cluster protocols."""
    found = [
        *_connection_rules.rules(within, idle, authorization),
        *_cluster_rules.rules(idle, every_route),
    ]
    return sorted(found, key=itemgetter(0))


def _streaming() -> list[StreamingRule]:
    """Return the rules of NATS Streaming."""
    return sorted((*_streaming_rules.rules(), *_subscription_rules.rules()), key=itemgetter(0))


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


__all__ = ["RuleFinding", "check"]
