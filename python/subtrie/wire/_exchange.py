"""Operations of both directions in their order: what rules about behaviour are held against."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ._operation_reader import Broken, Row

_DIRECTIONS = {"in": "c2s", "out": "s2c", "c2s": "c2s", "s2c": "s2c"}


class Step(NamedTuple):
    """One operation, where and when it passed. ``time``: nanoseconds, or None."""

    conn: int | str | None
    direction: str
    time: int | None
    op: Any

    def since(self, earlier: Step) -> int:
        """Nanoseconds since an earlier step; 0 where a time is not known."""
        if self.time is None or earlier.time is None:
            return 0
        return self.time - earlier.time


class Verdict(NamedTuple):
    """One occasion on which a rule was ``kept`` or ``broken``."""

    word: str
    step: Step


def kept(step: Step) -> Verdict:
    """The rule held here."""
    return Verdict("kept", step)


def broken(step: Step) -> Verdict:
    """The rule did not hold here."""
    return Verdict("broken", step)


#: The steps of each connection, in order.
Talks = dict[Any, list[Step]]


def talks_of(operations: Iterable[Any]) -> Talks:
    """Sorts rows by connection. A row without its operation (from a log) says too little."""
    talks: Talks = {}
    for item in operations:
        if isinstance(item, Broken):
            continue
        if isinstance(item, Row):
            conn, direction, time, op = item.conn, item.direction, item.time, item.op
        else:
            direction, op, time, conn = (*item, None, None)[:4]
        if op is None or direction is None:
            continue
        if direction not in _DIRECTIONS:
            raise ValueError(f"direction must be 'c2s' or 's2c', not {direction!r}")
        at = time if isinstance(time, int) else None
        talks.setdefault(conn, []).append(Step(conn, _DIRECTIONS[direction], at, op))
    return talks
