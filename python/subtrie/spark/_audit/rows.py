"""Sums of the rows of a table, and the keys by which they are sorted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._schema import TABLE_COLUMNS, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

#: The name of a table, and its rows with the column ``key``.
Rows = tuple[str, "pa.Table"]


def add_up(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Sum the rows with equal keys: times by their least and greatest, numbers by their sum."""

    def how(name: str) -> str:
        return "min" if name.startswith("first") else "max" if name.startswith("last") else "sum"

    values = [name for name in rows.column_names if name not in keys]
    found = rows.group_by(list(keys)).aggregate([(name, how(name)) for name in values])
    names = [*keys, *values]
    return found.select([*keys, *(f"{n}_{how(n)}" for n in values)]).rename_columns(names)


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


def rows(table: str, values: pa.Table, keys: Sequence[str], more: Sequence[str] = ()) -> Rows:
    """Return rows of a table with the column ``key``, by which they are sorted.

    Args:
        table: The name of the table.
        values: The rows; columns that the table does not have are left out.
        keys: The columns of the key.
        more: Columns of strings that are kept beside those of the table.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = []
    for name in keys:
        column = values[name]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        text = column.cast(pa.string())
        if pa.types.is_integer(column.type):
            text = pc.utf8_lpad(text, 20, "0")
        # Null is before every text.
        parts.append(pc.if_else(pc.is_null(text), "", pc.binary_join_element_wise("~", text, "")))
    length = values.num_rows
    columns = {
        "key": pc.binary_join_element_wise(*parts, "\x01") if length else pa.array([], pa.string())
    }
    for name, kind in (*TABLE_COLUMNS[table], *((name, "string") for name in more)):
        if name in values.column_names:
            columns[name] = values[name].cast(arrow_type(kind))
    return table, pa.table(columns)
