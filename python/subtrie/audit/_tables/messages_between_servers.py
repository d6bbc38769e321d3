"""Messages that a server sent to others, followed into the logs of those.

Of one subject, reply and size, each message that left a server is paired with as many messages
that arrived at others, at most one at each: the earliest that are left. Both are taken by their
times, as each server has a log of its own; clocks that differ by more than the time between two
such messages can exchange them. A message that no client of its server received is *undelivered*
if all its copies arrived in given logs and no client there received one; if one did, it was
delivered.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from .fact_kinds import SUMS, fact_schema

if TYPE_CHECKING:
    import pyarrow as pa


def followed(hops: pa.Table, arrivals: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Pair messages that left with messages that arrived.

    Args:
        hops: Facts of the kind ``hop``.
        arrivals: Facts of the kind ``arrival``.

    Returns:
        What to add to the facts of the kind ``publish``, and further facts ``undelivered``.
    """
    import pyarrow as pa

    arrived: dict[Any, dict[str, deque[dict[str, Any]]]] = {}
    for row in sorted(arrivals.to_pylist(), key=_order):
        at = arrived.setdefault(_group(row), {}).setdefault(row["server"], deque())
        at.append(row)
    changed: list[dict[str, Any]] = []
    for row in sorted(hops.to_pylist(), key=_order):
        elsewhere = [
            waiting
            for server, waiting in arrived.get(_group(row), {}).items()
            if server != row["server"] and waiting
        ]
        earliest = sorted(elsewhere, key=lambda waiting: _order(waiting[0]))[: row["forwarded"]]
        copies = [waiting.popleft()["taken"] > 0 for waiting in earliest]
        complete = len(copies) == row["forwarded"]
        if row["taken"] or not (any(copies) or complete):
            continue
        lost = not any(copies)
        sums = dict.fromkeys(SUMS, 0) | {"forwarded": -1, "taken": int(not lost)}
        times = {"first_undelivered": row["time"], "last_undelivered": row["time"]}
        changed.append({**row, **sums, "undelivered": int(lost), **(times if lost else {})})
    lost_rows = [row for row in changed if row["undelivered"]]
    return (
        pa.Table.from_pylist(changed, fact_schema("publish")),
        pa.Table.from_pylist(lost_rows, fact_schema("undelivered")),
    )


def _group(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["subject"], row["reply"], row["size"])


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["time"] is not None, row["time"], row["server"], row["position"])
