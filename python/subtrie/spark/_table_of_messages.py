"""The table ``events`` from a table of messages that people already have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._columns import text_column
from ._schema import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def events(
    df: DataFrame,
    *,
    subject: str = "subject",
    identity: str | None = None,
    time: str | None = None,
    direction: str | None = None,
    size: str | None = None,
    server: str | None = None,
) -> DataFrame:
    """Return messages as the table ``events``.

    Each row is a message that a client published, unless ``direction`` says that the server sent
    it to one. What the table does not say is null: without ``deliveries`` nothing is reported as
    undelivered. Cost: none until the result is used; the columns are computed by Spark.

    Args:
        df: A table with a row for each message.
        subject: The column with the subjects.
        identity: The column with the publisher's host; by default ``identity`` if there is one.
        time: The column with the time, a timestamp; by default ``time`` if there is one.
        direction: The column with ``in`` (received by the server) or ``out``; by default
            ``direction`` if there is one.
        size: The column with the size in bytes; by default ``size`` if there is one.
        server: The column with the name of the server; by default ``server`` if there is one.

    Returns:
        A DataFrame with the columns ``EVENTS``.

    Raises:
        ValueError: A named column is missing, or the subjects are not strings.
    """
    from pyspark.sql import functions as F

    text_column(df, subject)
    named = {"identity": identity, "time": time, "direction": direction, "size": size,
             "server": server}  # fmt: skip
    for name in filter(None, named.values()):
        if name not in df.columns:
            raise ValueError(
                f"there is no column {name!r}; the columns are: {', '.join(df.columns)}"
            )
    names = {key: name or (key if key in df.columns else None) for key, name in named.items()}

    def given(key: str, otherwise: Column) -> Column:
        name = names[key]
        return otherwise if name is None else F.coalesce(F.col(f"`{name}`"), otherwise)

    nothing = F.lit(None)
    way = given("direction", F.lit("in"))
    computed = {
        "server": given("server", F.lit("table")),
        "identity": given("identity", nothing),
        "time": given("time", nothing),
        "direction": way,
        "size": given("size", nothing),
        "subject": F.col(f"`{subject}`"),
        "op": F.when(way == "out", F.lit("MSG")).otherwise(F.lit("PUB")),
        "conn": F.concat(F.lit("-/client:"), F.coalesce(given("identity", nothing), F.lit("0"))),
    }
    return df.select(*(computed.get(name, nothing).cast(kind).alias(name) for name, kind in EVENTS))
