"""Queue groups among matching entries: one group per name, over all patterns."""

# A18

from __future__ import annotations

from typing import Any

from .._core.subscription import Groups
from ._tree import Entry, sorted_by_id


def group_values(hits: list[Entry]) -> Groups:
    """Return the values, those of queue groups by name, in the order of the entries."""
    plain: list[Any] = []
    queues: dict[str, list[Any]] = {}
    for row in hits:
        members = plain if row.queue is None else queues.setdefault(row.queue, [])
        members.append(row.value)
    return Groups(tuple(plain), {name: tuple(members) for name, members in queues.items()})


def select_members(hits: list[Entry]) -> list[Entry]:
    """Return all plain entries and one of each group, whose oldest member counts the turns."""
    # A19
    rows: list[Entry] = []
    queues: dict[str, list[Entry]] = {}
    for row in hits:
        members = rows if row.queue is None else queues.setdefault(row.queue, [])
        members.append(row)
    for members in queues.values():
        oldest = members[0]
        rows.append(members[oldest.turn % len(members)])
        oldest.turn += 1
    return sorted_by_id(rows)
