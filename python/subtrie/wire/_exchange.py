"""Operations of both directions in order, grouped by connection, for the behaviour rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ._operation_reader import OperationRow, StreamError

SECOND = 1_000_000_000
#: The tolerance for agreed times, for a busy machine and different clocks, in nanoseconds.
TOLERANCE = 2 * SECOND
#: The time by which a capture may see the first operation later than it was sent, in nanoseconds.
DELAY = SECOND // 20

_DIRECTIONS = {"in": "c2s", "out": "s2c", "c2s": "c2s", "s2c": "s2c"}


class Step(NamedTuple):
    """One operation with its connection, direction and time (in nanoseconds, or None)."""

    conn: int | str | None
    direction: str
    time: int | None
    op: Any

    def since(self, earlier: Step) -> int:
        """Return the nanoseconds since an earlier step, or 0 if a time is unknown."""
        if self.time is None or earlier.time is None:
            return 0
        return self.time - earlier.time


class Verdict(NamedTuple):
    """One step at which a rule was ``kept`` or ``broken``."""

    word: str
    step: Step


def kept(step: Step) -> Verdict:
    """Return the verdict that the rule is kept at this step."""
    return Verdict("kept", step)


def broken(step: Step) -> Verdict:
    """Return the verdict that the rule is broken at this step."""
    return Verdict("broken", step)


#: The steps of each connection, in order.
Connections = dict[Any, list[Step]]
#: A rule: its id, its words, and the function that judges a capture by it.
Rule = tuple[str, str, Callable[[Connections], Iterator[Verdict]]]


def opposite(direction: str) -> str:
    """Return the other direction."""
    return "s2c" if direction == "c2s" else "c2s"


def is_route(steps: list[Step]) -> bool:
    """Return whether a connection joins two servers of a cluster."""
    return steps[0].op.conn in ("route", "route_legacy")


def group_by_connection(operations: Iterable[Any]) -> Connections:
    """Group rows by connection, without those that have no operation (rows of a log)."""
    connections: Connections = {}
    for item in operations:
        if isinstance(item, StreamError):
            continue
        if isinstance(item, OperationRow):
            conn, direction, time, op = item.conn, item.direction, item.time, item.op
        else:
            direction, op, time, conn = (*item, None, None)[:4]
        if op is None or direction is None:
            continue
        if direction not in _DIRECTIONS:
            raise ValueError(f"direction must be 'c2s' or 's2c', not {direction!r}")
        at = time if isinstance(time, int) else None
        connections.setdefault(conn, []).append(Step(conn, _DIRECTIONS[direction], at, op))
    return connections
