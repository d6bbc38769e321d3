"""Partials made by tasks of Spark: of the parts of logs, or of a table of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..audit._partial.kinds import IN_HEAD, PARTIAL_ROWS
from ..audit._partial.parts import (
    EVENT_COLUMNS,
    Part,
    Reading,
    partials_of_part,
    partials_of_table,
    read_part,
)
from ..audit._partial.selection import SELECTED_BY, Chooser
from ._columns import check_events, spark_schema
from ._table_of_messages import narrowed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: The subjects that a selection names, and which of its hosts they are about.
_NAMED = "subject string, hosts int"


def partials_of_parts(spark: SparkSession, parts: Sequence[Part], reading: Reading) -> DataFrame:
    """Return the partials of parts of the inputs as ``PARTIAL_ROWS``, one task for each part."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the parts whose numbers are given."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for partial in partials_of_part(parts[number], reading):
                    yield partial.to_rows()

    return _each_part(spark, parts).mapInArrow(read, spark_schema(PARTIAL_ROWS))


def partials_of_frame(events: DataFrame, reading: Reading) -> DataFrame:
    """Return the partials of a table of events as ``PARTIAL_ROWS``.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    check_events(events, EVENT_COLUMNS)
    given, _, whole = narrowed(events, EVENT_COLUMNS)
    chooser = reading.chooser

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the partials of the batches of a task."""
        found: Iterator[pa.RecordBatch] = map(whole, batches)
        for partial in partials_of_table(
            found if chooser is None else chooser.chosen(found), reading
        ):
            yield partial.to_rows()

    return given.mapInArrow(read, spark_schema(PARTIAL_ROWS))


def head_of(partials: DataFrame) -> list[pa.RecordBatch]:
    """Run the job that makes all partials, and return their head."""
    found: list[pa.RecordBatch] = partials.where(f"bucket = {IN_HEAD}").toArrow().to_batches()
    return found


def chosen(
    events: DataFrame | SparkSession, chooser: Chooser, parts: Sequence[Part] | None = None
) -> Chooser:
    """Return a chooser that knows the subjects of its messages.

    Args:
        events: A table of events; with parts the session.
        chooser: The chooser.
        parts: The parts of the inputs.
    """
    import pyarrow as pa

    if not chooser.needs_subjects:
        return chooser

    def found(named: dict[str, int]) -> pa.RecordBatch:
        return pa.record_batch(
            {"subject": pa.array(named, pa.string()), "hosts": pa.array(named.values(), pa.int32())}
        )

    def of_events(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the subjects in a task that the selection names."""
        yield found(chooser.named(batches))

    def of_parts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the subjects in the parts whose numbers are given."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                assert parts is not None
                yield found(chooser.named(read_part(parts[number], SELECTED_BY, {})))

    if parts is None:
        named = events.select(*SELECTED_BY).mapInArrow(of_events, _NAMED)  # type: ignore[union-attr]
    else:
        named = _each_part(events, parts).mapInArrow(of_parts, _NAMED)  # type: ignore[arg-type]
    rows = named.toArrow()
    pairs = zip(rows["subject"].to_pylist(), rows["hosts"].to_pylist(), strict=True)
    return chooser.of_subjects({subject: hosts} for subject, hosts in pairs)


def _each_part(spark: SparkSession, parts: Sequence[Part]) -> DataFrame:
    """Return the number of each part, in a task of its own."""
    return spark.range(0, len(parts), 1, max(1, len(parts)))
