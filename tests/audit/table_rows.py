"""Buckets of made rows, and the sums of rows in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from subtrie.audit import Questions
from subtrie.audit._partial.kinds import complete, kind_schema
from subtrie.audit._partial.partial import Partial
from subtrie.audit._partial.rates import both_rates
from subtrie.audit._tables.bucket import Bucket
from subtrie.audit._tables.context import context_of
from subtrie.audit._tables.pattern_index import open_index
from subtrie.audit._tables.traffic import rows_of

Row = dict[str, Any]


def table_of(kind: str, rows: Iterable[Row]) -> pa.Table:
    """Return rows of a kind; a missing value is null, a missing sum 0."""
    rows = list(rows)
    schema = kind_schema(kind)
    names = list(dict.fromkeys(name for row in rows for name in row))
    fields = pa.schema([schema.field(name) for name in names])
    return complete(kind, pa.Table.from_pylist(rows, fields))


def bucket_of(
    publish: Sequence[Row] = (),
    delivery: Sequence[Row] = (),
    *,
    planes: Sequence[str] = ("p1",),
    questions: Questions | None = None,
    **kinds: Sequence[Row],
) -> Bucket:
    """Return the bucket of all rows."""
    partial = Partial()
    for kind, rows in kinds.items():
        if rows:
            partial.add_list(kind, table_of(kind, rows))
    if publish:
        partial.add_publishes(table_of("publish", publish))
    if delivery:
        partial._sum("delivery", table_of("delivery", delivery))
    whole = context_of(partial.head(), planes, questions, None)
    files = dict(whole.files)
    return Bucket(partial, whole.context, lambda names: open_index(names, files.__getitem__))


def tables_of(bucket: Bucket, *wanted: str) -> dict[str, list[Row]]:
    """Return the rows of tables without their key."""
    return {
        name: [{n: v for n, v in row.items() if n != "key"} for row in table.to_pylist()]
        for name, table in rows_of(bucket, wanted or None)
    }


def sub(pattern: str, at: int, **more: Any) -> Row:
    """Return a line that subscribes a pattern at a position."""
    return {"server": "s", "conn": "7/client:9", "op": "SUB", "subject": pattern, "sid": f"{at}",
            "position": at, "reason": "in", **more}  # fmt: skip


def added(rows: Iterable[Row], keys: Sequence[str]) -> list[Row]:
    """Return the sums of the rows with equal keys."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in keys), []).append(row)

    def both(name: str, one: Any, other: Any) -> Any:
        if name.startswith("rate"):
            return both_rates(one, other)
        if None in (one, other):
            return other if one is None else one
        if name.startswith("first"):
            return min(one, other)
        return max(one, other) if name.startswith("last") else one + other

    sums = []
    for some in found.values():
        whole = dict(some[0])
        for row in some[1:]:
            whole |= {name: both(name, whole[name], row[name]) for name in row if name not in keys}
        sums.append(whole)
    return sums


def same(found: Iterable[Row], wanted: Iterable[Row]) -> None:
    """Check that rows are equal in any order, as are their names and rates."""

    def plain(value: Any) -> Any:
        if isinstance(value, datetime):
            return value.isoformat()
        # A sum of no rates is empty, or null.
        return list(value) or None if isinstance(value, tuple | list) else value

    def told(rows: Iterable[Row]) -> Iterator[str]:
        for row in rows:
            yield repr({name: plain(value) for name, value in sorted(row.items())})

    assert sorted(told(found)) == sorted(told(wanted))
