"""The heads of payloads as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ...audit._readers.payload_heads import HEADS, head_batches, head_parts
from .._columns import spark_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def payload_heads(spark: SparkSession, logs: Sequence[str]) -> DataFrame:
    """Return message id, op code and status of the Microbus messages in trace logs and captures.

    Cost: one pass over the inputs in plain Python, when the rows are read.

    Args:
        spark: The session.
        logs: The logs and captures, which the workers can read too.

    Returns:
        ``server``, ``position``, ``message_id``, ``op_code`` and ``status`` (null of requests).

    Raises:
        OSError: An input cannot be read.
        ValueError: An input is a snapshot.
    """
    parts = head_parts(logs)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the parts whose numbers are given."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from head_batches(parts[number])

    count = max(1, len(parts))
    numbers = spark.range(0, len(parts), 1, count)
    return numbers.mapInArrow(read, spark_schema(HEADS))
