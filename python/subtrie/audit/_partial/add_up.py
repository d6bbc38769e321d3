"""Rows of a table added up by key, and completed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._schema import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa


def add_up(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Sum the rows with equal keys: times by their least and greatest, numbers by their sum.

    Cost: that of the columns that vary. Keys with one value, and numbers that are all 0 or null,
    are neither compared nor added.
    """
    import pyarrow as pa

    def how(name: str) -> str:
        return "min" if name.startswith("first") else "max" if name.startswith("last") else "sum"

    values = [name for name in rows.column_names if name not in keys]
    constant = {name: value for name in rows.column_names if (value := _constant(rows[name]))}
    constant = {name: value for name, value in constant.items()
                if name in keys or not value.is_valid or value.as_py() == 0}  # fmt: skip
    by = [name for name in keys if name not in constant] or list(keys[:1])
    added = [name for name in values if name not in constant]
    found = rows.group_by(by).aggregate([(name, how(name)) for name in added])
    found = found.select([*by, *(f"{n}_{how(n)}" for n in added)]).rename_columns([*by, *added])
    return pa.table(
        {
            name: found[name] if name in by or name in added
            else pa.repeat(constant[name], found.num_rows)
            for name in (*keys, *values)
        }
    )  # fmt: skip


def _constant(column: pa.ChunkedArray) -> pa.Scalar | None:
    """Return the value of a column of numbers or times that are all equal, or all null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count or not len(column):
        return pa.scalar(None, column.type) if column.null_count == len(column) else None
    if not (pa.types.is_integer(column.type) or pa.types.is_timestamp(column.type)):
        return None
    ends = pc.min_max(column)
    return ends["min"] if ends["min"] == ends["max"] else None


def filled(table: pa.Table, names: Sequence[str], counted: Sequence[str]) -> pa.Table:
    """Return the columns in ``names``; a missing count is 0, any other missing value null."""
    import pyarrow as pa

    kinds: dict[str, Any] = {"window": "timestamp", "first": "timestamp", "last": "timestamp"}
    columns = {}
    for name in names:
        if name in table.column_names:
            columns[name] = table[name]
        elif name in counted:
            columns[name] = pa.repeat(pa.scalar(0, pa.int64()), table.num_rows)
        else:
            columns[name] = pa.nulls(table.num_rows, arrow_type(kinds.get(name, "string")))
    return pa.table(columns)
