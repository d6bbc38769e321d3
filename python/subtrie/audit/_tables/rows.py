"""Rows of a table with the key by which they are sorted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._schema import TABLE_COLUMNS, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

#: The name of a table, and its rows with the column ``key``.
Rows = tuple[str, "pa.Table"]


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

    # Null is before every text, and the columns are joined at once.
    parts: list[Any] = []
    for name in keys:
        column = values[name]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        text = column.cast(pa.string())
        if pa.types.is_integer(column.type):
            text = pc.utf8_lpad(text, 20, "0")
        if column.null_count == 0:
            parts += ["~", text]
        elif column.null_count < len(column):
            marked = pc.binary_join_element_wise("~", text, "")
            parts.append(pc.fill_null(marked, ""))
        parts.append("\x01")
    length = values.num_rows
    if all(isinstance(part, str) for part in parts):
        key = pa.repeat("".join(parts[:-1]), length)
    else:
        key = pc.binary_join_element_wise(*parts[:-1], "")
    columns = {"key": key}
    for name, kind in (*TABLE_COLUMNS[table], *((name, "string") for name in more)):
        if name in values.column_names:
            columns[name] = values[name].cast(arrow_type(kind))
    return table, pa.table(columns)
