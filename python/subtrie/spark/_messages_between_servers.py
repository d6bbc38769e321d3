"""Messages that a server sent to others, followed into the logs of those.

Of one subject, reply and size, the messages that left a server and those that arrived at one are
paired in order. A message that no client of its server received is *undelivered* if all its copies
arrived in given logs and no client there received one; if one did, it was delivered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_SUMS = ("published", "refused", "taken", "undelivered", "forwarded", "ambiguous", "bytes")


def followed(hops: pa.Table, arrivals: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Pair messages that left with messages that arrived.

    Args:
        hops: Facts of the kind ``hop``.
        arrivals: Facts of the kind ``arrival``.

    Returns:
        What to add to the facts of the kind ``publish``, and further facts ``undelivered``.
    """
    import pyarrow as pa

    from ._facts import columns_of
    from ._schema import arrow_schema, arrow_type

    received: dict[Any, list[bool]] = {}
    for row in sorted(arrivals.to_pylist(), key=_order):
        received.setdefault(_group(row), []).append(row["taken"] > 0)
    turn: dict[Any, int] = {}
    changed: list[dict[str, Any]] = []
    for row in sorted(hops.to_pylist(), key=_order):
        group = _group(row)
        first = turn.get(group, 0)
        turn[group] = first + row["forwarded"]
        copies = received.get(group, [])[first : turn[group]]
        complete = len(copies) == row["forwarded"]
        if row["taken"] or not (any(copies) or complete):
            continue
        lost = not any(copies)
        sums = dict.fromkeys(_SUMS, 0) | {"forwarded": -1, "taken": int(not lost)}
        times = {"first_undelivered": row["time"], "last_undelivered": row["time"]}
        changed.append({**row, **sums, "undelivered": int(lost), **(times if lost else {})})
    names = columns_of("publish")
    kinds = {
        name: arrow_type("timestamp" if name == "window" or name.startswith(("first", "last"))
                         else "bigint" if name in _SUMS else "string")
        for name in names
    }  # fmt: skip
    columns = [pa.array([row.get(name) for row in changed], kinds[name]) for name in names]
    lost_columns = (("server", "string"), ("subject", "string"), ("position", "bigint"))
    lost_rows = [row for row in changed if row["undelivered"]]
    more = pa.table(
        [
            pa.array([row[name] for row in lost_rows], arrow_type(kind))
            for name, kind in lost_columns
        ],
        schema=arrow_schema(lost_columns),
    )
    return pa.table(columns, names=list(names)), more


def _group(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["subject"], row["reply"], row["size"])


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["server"], row["position"])
