"""The kinds of rows of a partial: their columns, keys and buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .._schema import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

#: The version of the kinds and columns, which a stream keeps with its partials.
VERSION = 3

_PROOF = ("identity_source", "user", "client")
_PUBLISH = ("server", "window", "conn", "identity", *_PROOF, "subject")
_DELIVERY = ("server", "window", "conn", "sid", "queue", "subscription", "subject")
#: What is counted of messages.
SUMS = ("published", "refused", "taken", "undelivered", "forwarded", "ambiguous", "bytes")
_TIMES = tuple(f"{end}{s}" for s in ("", "_accepted", "_undelivered") for end in ("first", "last"))
#: The days of messages, as ``TrafficSums`` writes them: for each day four times the time of its
#: first accepted message, plus 2 if one was accepted, plus 1 if a client received one.
DAYS = "days"
DAY = 86_400_000_000
_HOP = (*_PUBLISH, "reply", "size", "position", "time", "taken", "forwarded")
_REFUSED = ("identity", *_PROOF, "conn", "subject", "queue", "day", "window", "reason")
_SPAN = ("count", "first", "last")


class Kind(NamedTuple):
    """A kind of rows.

    Attributes:
        columns: The columns.
        keys: The columns that identify rows that add up; none of rows that are one event each.
        bucketed_by: The column that decides the bucket; None for the head of the partial.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()
    bucketed_by: str | None = "subject"


#: The kinds. Those of the head are needed whole; the rows of another one about one subject are in
#: one bucket.
KINDS: dict[str, Kind] = {
    # messages of clients, and lines to clients: native sums
    "publish": Kind((*_PUBLISH, *SUMS, *_TIMES, DAYS)),
    "delivery": Kind((*_DELIVERY, "count")),
    # one message that no client received
    "undelivered": Kind(("server", "subject", "position")),
    # one message sent to, and received from, another server
    "hop": Kind(_HOP),
    "arrival": Kind(_HOP),
    # refused operations; ``reason`` is what was refused
    "refused": Kind((*_REFUSED, *_SPAN), _REFUSED),
    # one accepted message with a reply subject, for the latency of requests
    "request": Kind(
        ("server", "conn", "identity", "subject", "reply", "time"), bucketed_by="reply"
    ),
    # one accepted Microbus message, with the head of its payload
    "head": Kind(("time", "subject", "message_id", "op_code", "status"), bucketed_by="message_id"),
    # connections that read too slowly
    "slow": Kind(
        ("server", "conn", "identity", *_SPAN), ("server", "conn", "identity"), "identity"
    ),
    # other users that a client claims (subject) than the proven one
    "claim": Kind(
        ("server", "conn", "identity", *_PROOF, "subject", *_SPAN),
        ("server", "conn", "identity", *_PROOF, "subject"),
        "identity",
    ),
    "unparseable": Kind(("server", "file", "position", "reason", "text"), bucketed_by="file"),
    # one line that begins or ends subscriptions; ``reason`` is its direction
    "subscription": Kind(
        (
            *("server", "conn", "identity", "op", "subject", "queue", "sid", "size", "position"),
            *("time", "reason"),
        ),
        bucketed_by=None,
    ),
    # a plane of accepted traffic, in the column ``subject``
    "plane": Kind(("subject",), ("subject",), None),
    # lines by category, accepted and ambiguous messages, in the column ``subject``
    "count": Kind(("subject", "count"), ("subject",), None),
    # one range of a stream: server, its start (position) and its end (size)
    "range": Kind(("server", "position", "size"), bucketed_by=None),
}
#: The kinds that are summed natively.
SUMMED = ("publish", "delivery")
_NUMBERS = (*SUMS, "position", "subscription", "size", "count", "day")


def kind_schema(kind: str) -> pa.Schema:
    """Return the Arrow schema of rows of a kind."""
    import pyarrow as pa

    def type_of(name: str) -> str:
        if name in ("window", "time", *_TIMES):
            return "timestamp"
        if name == "status":
            return "int"
        return "bigint" if name in _NUMBERS else "string"

    schema = arrow_schema([(name, type_of(name)) for name in KINDS[kind].columns])
    place = schema.get_field_index(DAYS)
    return schema if place < 0 else schema.set(place, pa.field(DAYS, pa.list_(pa.int64())))


def complete(kind: str, table: pa.Table, subject: str = "subject") -> pa.Table:
    """Return rows with the columns and types of their kind; a missing sum is 0.

    Args:
        kind: The kind of the rows.
        table: The rows.
        subject: The column of the subject; ``at`` holds numbers.
    """
    import pyarrow as pa

    schema = kind_schema(kind)
    if subject != "subject":
        numbered = pa.field(subject, pa.int32())
        schema = schema.set(schema.get_field_index("subject"), numbered)
    if table.column_names == schema.names:
        return table.cast(schema)
    columns = []
    for field in schema:
        if field.name in table.column_names:
            columns.append(table[field.name].cast(field.type))
        elif field.name in SUMS:
            columns.append(pa.repeat(pa.scalar(0, field.type), table.num_rows))
        else:
            columns.append(pa.nulls(table.num_rows, field.type))
    return pa.table(columns, schema=schema)
