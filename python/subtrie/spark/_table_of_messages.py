"""The table ``events`` from a table of messages that people already have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ..audit._schema import EVENTS, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_NO_SUBJECT = "no subject"
_RECEIVED, _SENT, _REFUSED = ("in", "c2s"), ("out", "s2c"), ("refused",)
#: An unknown direction is shown up to so many characters.
_SHOWN = 20


@dataclass(frozen=True)
class _Narrow:
    """The columns of a table of events that hold something, and what the others hold.

    Spark hands each column over to Python separately, so 20 that say nothing cost more than one
    that does.
    """

    rows: DataFrame
    constants: dict[str, str] = field(default_factory=dict)


# The tables that ``events`` returned. What is derived from one has columns of its own.
_narrow: WeakKeyDictionary[DataFrame, _Narrow] = WeakKeyDictionary()


def events(
    df: DataFrame,
    *,
    subject: str | Column = "subject",
    identity: str | Column | None = None,
    time: str | Column | None = None,
    direction: str | Column | None = None,
    size: str | Column | None = None,
    server: str | Column | None = None,
) -> DataFrame:
    """Return messages as the table ``events``.

    Each row is a message that a client published, unless ``direction`` says that the server refused
    it, or sent it to a client. A refused one is two events, as in a log: the message, and its
    ``VIOLATION``. What the table does not say is null: messages are not matched with the rows that
    were sent, so without ``deliveries`` nothing is reported as undelivered. A row without a subject
    has the ``reason`` ``no subject``, and one of another direction ``unknown direction``. Bytes are
    read as UTF-8, and a value that does not have the type of its column (a time that is not one) is
    null. Cost: none until the result is used; the columns are computed by Spark.

    Args:
        df: A table with a row for each message. Each column below is given by its name, by the path
            of a field of a struct (``message.subject``), or as an expression, as in
            ``get_json_object(col("value").cast("string"), "$.subject")`` for messages of Kafka.
        subject: The subjects.
        identity: The publisher's host; by default the column ``identity`` if there is one.
        time: The time, a timestamp; by default the column ``time`` if there is one.
        direction: ``in``, ``c2s`` or null (received by the server), ``refused`` (received, and not
            accepted), ``out`` or ``s2c``, in any case; by default the column ``direction`` if there
            is one, else all are received.
        size: The size in bytes; by default the column ``size`` if there is one.
        server: The name of the server; by default the column ``server`` if there is one.

    Returns:
        A DataFrame with the columns ``EVENTS``.

    Raises:
        ValueError: A named column is missing, or the subjects are neither strings nor bytes.
    """
    from pyspark.sql import functions as F

    nothing = F.lit(None)
    given = {"identity": identity, "time": time, "direction": direction, "size": size,
             "server": server}  # fmt: skip
    columns = {
        name: _column(df, name if value is None and name in df.columns else value)
        for name, value in given.items()
        if value is not None or name in df.columns
    }
    text = _text(df, _column(df, subject), subject)
    who = columns.get("identity", nothing).try_cast("string")
    way = F.lower(columns.get("direction", nothing).try_cast("string"))
    sent, refused = way.isin(*_SENT), way.isin(*_REFUSED)
    unknown = way.isNotNull() & ~way.isin(*_RECEIVED, *_SENT, *_REFUSED)
    operations = (
        F.when(text.isNull() | unknown, F.array(nothing.cast("string")))
        .when(refused, F.array(F.lit("PUB"), F.lit("VIOLATION")))
        .otherwise(F.array(F.when(sent, F.lit("MSG")).otherwise(F.lit("PUB"))))
    )
    computed = {
        "server": F.coalesce(columns.get("server", nothing), F.lit("table")),
        "identity": who,
        "time": columns.get("time", nothing),
        "direction": F.when(sent, F.lit("out")).otherwise(F.lit("in")),
        "size": columns.get("size", nothing),
        "subject": text,
        "op": F.when(text.isNotNull(), F.lit("PUB")),
        "conn": F.concat(F.lit("-/client:"), F.coalesce(who, F.lit("0"))),
        "refused": F.when(refused, F.lit("publish")),
        "reason": F.when(text.isNull(), F.lit(_NO_SUBJECT)).when(
            unknown, F.concat(F.lit("unknown direction: "), F.substring(way, 1, _SHOWN))
        ),
    }
    made = df.select(
        *(
            F.explode(operations).alias(name)
            if name == "op" and "direction" in columns
            else computed.get(name, nothing).try_cast(kind).alias(name)
            for name, kind in EVENTS
        )
    )
    constants = {"server": "table", "direction": "in", "op": "PUB", "conn": "-/client:0"}
    if "identity" in columns:
        del constants["conn"]
    if "direction" in columns:
        del constants["direction"], constants["op"]
    if "server" in columns:
        del constants["server"]
    names = {"subject", "conn", "op", "direction", "server", *columns} - constants.keys()
    if "direction" in columns:
        names |= {"refused", "reason"}
    _narrow[made] = _Narrow(made.select([n for n, _ in EVENTS if n in names]), constants)
    return made


def narrowed(
    events: DataFrame, names: Sequence[str]
) -> tuple[DataFrame, dict[str, str], Callable[[pa.RecordBatch], pa.RecordBatch]]:
    """Return the columns of events that hold something, and what the others hold.

    Args:
        events: A table of events; only one that ``events`` returned becomes narrower.
        names: The columns that are wanted.

    Returns:
        The columns; those with one text in all rows, if these have a subject; and a function that
        adds the columns in ``names`` that are missing.
    """
    found = _narrow.get(events)
    if found is None:
        return events.select(*names), {}, lambda batch: batch
    constants, kinds = found.constants, dict(EVENTS)
    same: dict[str, pa.Array] = {}

    def repeated(name: str, rows: int) -> pa.Array:
        """Return a column that says nothing, or the same in each row."""
        import pyarrow as pa

        if name not in same or len(same[name]) < rows:
            value = pa.scalar(constants.get(name), arrow_type(kinds[name]))
            same[name] = pa.repeat(value, rows)
        return same[name].slice(0, rows)

    def widened(batch: pa.RecordBatch) -> pa.RecordBatch:
        """Add the columns that Spark did not hand over."""
        import pyarrow as pa
        import pyarrow.compute as pc

        subjects = batch.column("subject")

        def column(name: str) -> pa.Array:
            if name in batch.schema.names:
                return batch.column(name)
            known = repeated(name, batch.num_rows)
            if subjects.null_count and name == "reason":
                return pc.if_else(pc.is_null(subjects), _NO_SUBJECT, known)
            if subjects.null_count and name == "op":
                return pc.if_else(pc.is_null(subjects), pa.scalar(None, pa.string()), known)
            return known

        return pa.record_batch([column(name) for name in names], list(names))

    return found.rows, constants, widened


def only_published(events: DataFrame) -> bool:
    """Whether a table of events is one that ``events`` returned, in which every row is a publish.

    It then says nothing of deliveries, of refusals and of subscriptions.
    """
    found = _narrow.get(events)
    return found is not None and "op" in found.constants


def _column(df: DataFrame, given: str | Column | None) -> Column:
    """Return a column that is named or given.

    Raises:
        ValueError: There is no such column.
    """
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F

    if not isinstance(given, str):
        assert given is not None
        return given
    if given in df.columns:
        return F.col(f"`{given}`")
    known = _has_field(df.schema, given.split("."))
    if known is None:
        try:
            known = bool(df.select(F.col(given)).columns)
        except AnalysisException:
            known = False
    if not known:
        there = ", ".join(df.columns) or "none"
        raise ValueError(
            f"there is no column {given!r}; the columns are: {there}; name one of them, as in "
            "subject='topic'"
        )
    return F.col(given)


def _has_field(kind: DataType, names: Sequence[str]) -> bool | None:
    """Return whether a type has a field; None if only Spark can tell, as of the key of a map.

    Spark, asked for a field that is missing, also logs the stack of its own error.
    """
    from pyspark.sql.types import StructType

    for name in names:
        if not isinstance(kind, StructType) or not name.replace("_", "a").isalnum():
            return None
        found = [each for each in kind.fields if each.name.casefold() == name.casefold()]
        if not found:
            return False
        kind = found[0].dataType
    return True


def _text(df: DataFrame, column: Column, given: str | Column) -> Column:
    """Return a column of strings or bytes as strings.

    Raises:
        ValueError: It holds something else.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import BinaryType, StringType

    kind = df.select(column.alias("subject")).schema.fields[0].dataType
    if isinstance(kind, BinaryType):
        return F.make_valid_utf8(column.cast("string"))
    if not isinstance(kind, StringType):
        name = repr(given) if isinstance(given, str) else "with the subjects"
        raise ValueError(
            f"column {name} must hold strings or bytes, not {kind.simpleString()}: cast it"
        )
    return column
