"""Columns of DataFrames: their schema, and checks of those that a caller names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def text_column(df: DataFrame, name: str) -> int:
    """Return the position of a column of texts.

    Args:
        df: The rows.
        name: The column, as it is written in the schema.

    Raises:
        ValueError: There is no such column, or it does not hold strings.
    """
    from pyspark.sql.types import StringType

    if name not in df.columns:
        there = ", ".join(df.columns) or "none"
        raise ValueError(f"there is no column {name!r}; the columns are: {there}")
    position = df.columns.index(name)
    kind = df.schema.fields[position].dataType
    if not isinstance(kind, StringType):
        raise ValueError(f"column {name!r} must hold strings, not {kind.simpleString()}: cast it")
    return position


def check_events(df: DataFrame, names: Iterable[str]) -> None:
    """Refuse a table without the columns of events.

    Raises:
        ValueError: The table lacks one of the columns.
    """
    missing = [name for name in names if name not in df.columns]
    if missing:
        raise ValueError(
            f"not a table of events, it has no column {missing[0]!r}: make one with "
            "subtrie.spark.events(df, subject=...)"
        )


def spark_schema(columns: Iterable[tuple[str, str]]) -> str:
    """Return columns as a Spark schema string."""
    return ", ".join(f"`{name}` {kind}" for name, kind in columns)
