"""One function for each table of the audit: events in, the rows of the table out.

Each reads the events once when it is called, for the subscriptions and the planes, and again when
its result is used: cache the events if they are expensive to make. The columns are those of
``TABLES``, the rows those that ``audit`` writes, in no particular order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..audit._here import micros
from ..audit._partial.parts import Reading
from ..audit._runs.run_writer import merged
from ..audit._schema import TABLE_COLUMNS
from ._columns import spark_schema
from ._partials import head_of, partials_of_frame
from ._table_jobs import partial_rows, read_context

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def call_graph(
    events: DataFrame, *, planes: Sequence[str] = (), window: int | None = None
) -> DataFrame:
    """Return requests of one source to one host, port, method and route.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.
        window: The length of a period in seconds; by default all events are one.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "call_graph", planes, window)


def replies(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return the replies of a host to a caller.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "replies", planes)


def undelivered(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return subjects that were accepted and not delivered, with the nearest pattern.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "undelivered", planes)


def malformed(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return subjects that begin with a plane and are not canonical addresses.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "malformed", planes)


def other_traffic(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return subjects of other classes.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "other_traffic", planes)


def refused(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return rejected operations, with the client that sent each.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "refused", planes)


def slow_consumers(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return the clients that read more slowly than the server sent to them.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "slow_consumers", planes)


def spoofed(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return publishes of a connection with the source of another host.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "spoofed", planes)


def claimed_users(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return the clients whose CONNECT names another user than the one that the broker proved.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "claimed_users", planes)


def jetstream_errors(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return the errors that JetStream answered to clients.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "jetstream_errors", planes)


def logins(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return the logins of each user from each address, accepted and refused, and why.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "logins", planes)


def links(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return the connections to other servers: when each was up, and what crossed it.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "links", planes)


def servers(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return what servers said about themselves, such as a start or a reload, and when.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "servers", planes)


def subscriptions(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return subscriptions that the server accepted, from their start to their end.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "subscriptions", planes)


def coverage(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return the traffic of each pattern and queue group; zeros for those without any.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "coverage", planes)


def fan_out(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return the subscribers, queue groups and deliveries of each subject.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "fan_out", planes)


def hot_subjects(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return the 100 subjects with the most publishes.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "hot_subjects", planes)


def cross_plane(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return publishes on another plane than the one an identity uses most.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "cross_plane", planes)


def unparseable(events: DataFrame, *, planes: Sequence[str] = ()) -> DataFrame:
    """Return lines that cannot be parsed.

    Args:
        events: A table with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, "unparseable", planes)


def _table(
    events: DataFrame, name: str, planes: Sequence[str], window: int | None = None
) -> DataFrame:
    """Return the rows of a table of the traffic."""
    from pyspark.sql import functions as F

    spark = events.sparkSession
    partials = partials_of_frame(events, Reading(window=micros(window), follow=True))
    context = read_context(spark, head_of(partials), planes).context

    def complete(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Add up the rows of the table, which are all in one task."""
        for _, table in merged(batches, context):
            if table is not None:
                yield from table.to_batches()

    rows = partial_rows(spark, partials, context, None, (name,)).where(F.col("table") == name)
    together = rows.repartition(1, "table").sortWithinPartitions("table", "key")
    return together.mapInArrow(complete, spark_schema(TABLE_COLUMNS[name]))
