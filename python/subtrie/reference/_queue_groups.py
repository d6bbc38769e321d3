"""Queue groups among the rows that match a subject: one group a name, over all patterns (A18)."""

from __future__ import annotations

from typing import Any

from .._subscription import Groups
from ._tree import Row, by_id


def grouped(hits: list[Row]) -> Groups:
    """The values: plain ones, and by queue name. The rows stand in order of insertion."""
    plain: list[Any] = []
    queues: dict[str, list[Any]] = {}
    for row in hits:
        members = plain if row.queue is None else queues.setdefault(row.queue, [])
        members.append(row.value)
    return Groups(tuple(plain), {name: tuple(members) for name, members in queues.items()})


def chosen(hits: list[Row]) -> list[Row]:
    """All plain rows and one of each group, whose oldest member counts the turns (A19)."""
    rows: list[Row] = []
    queues: dict[str, list[Row]] = {}
    for row in hits:
        members = rows if row.queue is None else queues.setdefault(row.queue, [])
        members.append(row)
    for members in queues.values():
        oldest = members[0]
        rows.append(members[oldest.turn % len(members)])
        oldest.turn += 1
    return by_id(rows)
