"""Rows of Arrow batches as dictionaries.

``to_pylist`` of pyarrow imports pandas to convert times, which takes longer than a whole table.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_START = datetime.fromtimestamp(0, UTC)


def rows_of_batch(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the rows of a batch.

    Args:
        batch: the batch, whose times have microseconds.

    Raises:
        OverflowError: a time is beyond the calendar of Python.
    """
    columns = [_values(each) for each in batch.columns]
    return [dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(column: pa.Array) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_struct(column.type):
        names = [field.name for field in column.type]
        rows = zip(*(_values(column.field(name)) for name in names), strict=True)
        valid = column.is_valid().to_pylist()
        return [dict(zip(names, row, strict=True)) if known else None
                for known, row in zip(valid, rows, strict=True)]  # fmt: skip
    if not (pa.types.is_timestamp(column.type) and column.type.unit == "us"):
        found: list[Any] = column.to_pylist()
        return found
    start = _START if column.type.tz is not None else _START.replace(tzinfo=None)
    counts = column.cast(pa.int64()).to_pylist()
    return [None if each is None else start + timedelta(microseconds=each) for each in counts]
