"""The schemas of the pipeline: the table ``events``, and the tables of the audit.

A schema has a version, which changes when a column is renamed, removed or given another meaning.
Times are microseconds in UTC. No column holds the time at which the job ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns: the name and the Spark type of each.
Columns = Sequence[tuple[str, str]]

#: The version of ``TABLES``.
TABLES_VERSION = 5

#: What a server did, one row per operation. ``server`` is a digest of the first line of its log,
#: ``offset`` the position of the line in ``file``, and ``position`` that in the whole log of the
#: server, with which ``until`` and ``subscription`` are compared. A message that a server received
#: has ``until`` (the end of the window of its deliveries), ``deliveries`` (lines to clients),
#: ``forwarded`` (lines to other servers) and ``ambiguous``, unless it was ``refused``. A message
#: that it sent to a client has ``subscription``, the position of the SUB line it was delivered by;
#: of one that it received, that of the latest line before it at which a subscription can have begun
#: or ended (0: none).
#: ``identity_source`` is what ``identity`` rests on: ``jwt``, ``nkey`` or ``user``, which the
#: broker proved; ``token``, which names no user; ``claimed``, the name that the client gave itself.
#: ``user`` is the user as the broker knows it, ``client`` the name that the client gave itself. A
#: row STREAM has a pattern whose messages the stream in ``queue`` stores, and a row STORED is the
#: answer of a stream that it stored a message; a row CONSUMER has the ack policy (``subject``) of
#: the stream and consumer in ``queue``, the subject that it delivers to (``reply``), and the
#: patterns of what it delivers (``sid``); a row
#: ERROR says why (``queue``) JetStream refused what a client asked (``sid``), and the stream that
#: did not store a message (``subject``). These are read of the payloads of JetStream's answers. A
#: row ACK is what a client answered to a consumer (``queue``), unless it processed the message. A
#: row CLAIM says that CONNECT names another user than the proven one: the one in ``subject``. A row
#: LOGIN is the first line of a connection whose user the broker accepted, DENIED a login that it
#: refused for the reason in ``queue``; ``subject`` is the address. LINK is a connection to the
#: server ``subject`` that is ``up`` or ``down``, SERVER what a server says about itself, in
#: ``queue``. ``size`` of an UNSUB is the number of messages that the subscription still waits for.
#: A line that cannot be parsed has ``reason`` and ``_corrupt_record``.
EVENTS: tuple[tuple[str, str], ...] = (
    ("server", "string"),
    ("file", "string"),
    ("offset", "bigint"),
    ("until", "bigint"),
    ("time", "timestamp"),
    ("conn", "string"),
    ("account", "string"),
    ("identity", "string"),
    ("identity_source", "string"),
    ("user", "string"),
    ("client", "string"),
    ("direction", "string"),
    ("op", "string"),
    ("subject", "string"),
    ("reply", "string"),
    ("queue", "string"),
    ("sid", "string"),
    ("size", "bigint"),
    ("deliveries", "bigint"),
    ("refused", "string"),
    ("forwarded", "bigint"),
    ("ambiguous", "boolean"),
    ("subscription", "bigint"),
    ("position", "bigint"),
    ("reason", "string"),
    ("_corrupt_record", "string"),
)

#: How often something happened over time: bars of a width in seconds, a power of two.
RATE_TYPE = "struct<start:timestamp,width_s:bigint,counts:array<bigint>>"
_SPAN = (("first", "timestamp"), ("last", "timestamp"))
_RATED = (*_SPAN, ("rate", RATE_TYPE))
#: Who is behind a connection, beside its identity, as in ``EVENTS``.
_PROOF = (
    *(("account", "string"), ("user", "string"), ("client", "string")),
    ("identity_source", "string"),
)

#: The tables of the audit, in the order in which they are printed. The keys of a table come first.
TABLE_COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "call_graph": (
        *(("plane", "string"), ("window", "timestamp"), ("source", "string")),
        *(("destination", "string"), ("port", "int"), ("method", "string"), ("route", "string")),
        *(("published", "bigint"), ("refused", "bigint"), ("delivered", "bigint")),
        *(("undelivered", "bigint"), ("forwarded", "bigint"), ("bytes", "bigint")),
        *_SPAN,
        ("instances", "bigint"),
        ("account", "string"),
    ),
    "replies": (
        *(("plane", "string"), ("replier", "string"), ("caller", "string")),
        *(("published", "bigint"), ("delivered", "bigint"), ("undelivered", "bigint")),
        ("account", "string"),
    ),
    "undelivered": (
        *(("subject", "string"), ("count", "bigint")),
        *_RATED,
        *(("nearest", "string"), ("differs_at", "int"), ("subscription_inactive", "boolean")),
        ("account", "string"),
    ),
    "malformed": (
        *(("subject", "string"), ("count", "bigint"), ("received", "bigint")),
        ("reason", "string"),
        *_RATED,
        ("account", "string"),
    ),
    "other_traffic": (
        *(("subject", "string"), ("count", "bigint"), ("class", "string")),
        ("account", "string"),
    ),
    "refused": (
        *(("who", "string"), ("subject", "string"), ("count", "bigint"), ("kind", "string")),
        *_RATED,
        *_PROOF,
    ),
    "slow_consumers": (("who", "string"), ("count", "bigint"), *_RATED, *_PROOF),
    "spoofed": (
        *(("who", "string"), ("claimed", "string"), ("subject", "string")),
        *(("count", "bigint"), ("accepted", "bigint")),
        *_RATED,
        *_PROOF,
    ),
    "claimed_users": (
        *(("who", "string"), ("claimed", "string"), ("count", "bigint")),
        *_RATED,
        *_PROOF,
    ),
    "jetstream_errors": (
        *(("who", "string"), ("request", "string"), ("stream", "string"), ("why", "string")),
        ("count", "bigint"),
        *_RATED,
        *_PROOF,
    ),
    "logins": (
        *(("who", "string"), ("address", "string"), ("outcome", "string"), ("why", "string")),
        ("count", "bigint"),
        *_RATED,
        *_PROOF,
    ),
    "links": (
        *(("server", "string"), ("conn", "string"), ("kind", "string"), ("remote", "string")),
        *(("address", "string"), ("account", "string"), ("user", "string")),
        *(("start", "timestamp"), ("end", "timestamp")),
        *(("messages_in", "bigint"), ("bytes_in", "bigint")),
        *(("messages_out", "bigint"), ("bytes_out", "bigint")),
    ),
    "servers": (
        ("server", "string"),
        ("process", "string"),
        ("event", "string"),
        ("time", "timestamp"),
    ),
    "subscriptions": (
        *(("server", "string"), ("conn", "string"), ("sid", "string")),
        *(("start", "timestamp"), ("end", "timestamp")),
        *(("identity", "string"), ("pattern", "string"), ("queue", "string")),
        *_PROOF,
    ),
    "coverage": (
        *(("server", "string"), ("pattern", "string"), ("queue", "string")),
        *(("matched", "bigint"), ("delivered", "bigint")),
        ("account", "string"),
    ),
    "fan_out": (
        *(("subject", "string"), ("subscribers", "bigint"), ("groups", "bigint")),
        ("delivered", "bigint"),
        ("account", "string"),
    ),
    "hot_subjects": (
        *(("subject", "string"), ("published", "bigint"), ("bytes", "bigint")),
        ("share", "double"),
        ("account", "string"),
    ),
    "cross_plane": (
        *(("identity", "string"), ("plane", "string"), ("home_plane", "string")),
        ("count", "bigint"),
        *_RATED,
        *_PROOF,
    ),
    "permission_usage": (
        *(("service", "string"), ("window", "timestamp"), ("verb", "string")),
        *(("effect", "string"), ("rule", "string"), ("accepted", "bigint")),
        *(("refused", "bigint"), ("decided", "bigint"), ("days", "bigint")),
        *(("last", "timestamp"), ("origin", "string")),
        *_PROOF,
    ),
    "violations": (
        *(("kind", "string"), ("who", "string"), ("subject", "string"), ("rule", "string")),
        ("count", "bigint"),
        *_RATED,
        ("witness", "string"),
        *_PROOF,
    ),
    "proposal": (
        *(("service", "string"), ("verb", "string"), ("rule", "string")),
        *(("days", "bigint"), ("sources", "bigint"), ("count", "bigint")),
        *(("witnesses", "string"), ("covered_by", "string")),
        *_PROOF,
    ),
    "too_thin": (
        *(("service", "string"), ("verb", "string"), ("pattern", "string")),
        *(("days", "bigint"), ("sources", "bigint"), ("count", "bigint")),
        *(("why", "string"), ("witness", "string")),
        *_PROOF,
    ),
    "gap": (
        *(("service", "string"), ("destination", "string"), ("port", "int")),
        *(("method", "string"), ("path", "string"), ("code", "string"), ("rule", "string")),
        *(("traffic", "bigint"), ("refused", "bigint"), ("finding", "string")),
    ),
    "at": (
        *(("subject", "string"), ("time", "timestamp"), ("server", "string")),
        *(("conn", "string"), ("sid", "string"), ("identity", "string")),
        *(("pattern", "string"), ("queue", "string")),
        *(("start", "timestamp"), ("end", "timestamp")),
        *_PROOF,
    ),
    "history": (
        *(("subject", "string"), ("server", "string")),
        *(("start", "timestamp"), ("end", "timestamp")),
        *(("subscribers", "bigint"), ("groups", "bigint"), ("receivers", "string")),
        ("account", "string"),
    ),
    "latency": (
        *(("kind", "string"), ("requester", "string"), ("subject", "string")),
        *(("responder", "string"), ("count", "bigint"), ("p50", "bigint"), ("p99", "bigint")),
        *(("unanswered", "bigint"), ("errors", "bigint")),
        *(("account", "string"), ("user", "string"), ("client", "string")),
    ),
    "flows": (
        *(("publisher", "string"), ("pattern", "string"), ("subscriber", "string")),
        *(("queue", "string"), ("published", "bigint"), ("delivered", "bigint")),
        *(("undelivered", "bigint"), ("bytes", "bigint")),
        *_RATED,
        ("per_minute", "double"),
        *(("account", "string"), ("user", "string"), ("client", "string")),
        *(("subscriber_user", "string"), ("subscriber_client", "string")),
    ),
    "consumers": (
        *(("stream", "string"), ("consumer", "string"), ("who", "string")),
        *(("ack_policy", "string"), ("deliver_subject", "string"), ("filter_subject", "string")),
        *(("delivered", "bigint"), ("redelivered", "bigint")),
        *(("acknowledged", "bigint"), ("rejected", "bigint")),
        *_SPAN,
        *(("account", "string"), ("user", "string"), ("client", "string")),
    ),
    "unparseable": (
        *(("server", "string"), ("file", "string"), ("offset", "bigint")),
        *(("reason", "string"), ("text", "string")),
    ),
    "runs": (
        *(("run", "string"), ("schema", "int"), ("input_digest", "string")),
        *(("version", "string"), ("options", "string"), ("counters", "string")),
    ),
}

#: The columns by which the rows of each table are distinct.
TABLE_KEYS: dict[str, tuple[str, ...]] = {
    "call_graph": (
        "plane",
        "window",
        "source",
        "destination",
        "port",
        "method",
        "route",
        "account",
    ),
    "replies": ("plane", "replier", "caller", "account"),
    "undelivered": ("subject", "account"),
    "malformed": ("subject", "account"),
    "other_traffic": ("subject", "account"),
    "refused": ("who", "subject", "kind", *(name for name, _ in _PROOF)),
    "slow_consumers": ("who", *(name for name, _ in _PROOF)),
    "spoofed": ("who", "claimed", "subject", *(name for name, _ in _PROOF)),
    "claimed_users": ("who", "claimed", *(name for name, _ in _PROOF)),
    "jetstream_errors": ("who", "request", "stream", "why", *(name for name, _ in _PROOF)),
    "logins": ("who", "address", "outcome", "why", *(name for name, _ in _PROOF)),
    "links": ("server", "conn", "start"),
    "servers": ("server", "time", "event"),
    "subscriptions": ("server", "conn", "sid", "start"),
    "coverage": ("server", "pattern", "queue", "account"),
    "fan_out": ("subject", "account"),
    "hot_subjects": ("subject", "account"),
    "cross_plane": ("identity", "plane", *(name for name, _ in _PROOF)),
    "permission_usage": (
        *("service", "window", "verb", "effect", "rule"),
        *(name for name, _ in _PROOF),
    ),
    "violations": ("kind", "who", "subject", *(name for name, _ in _PROOF)),
    "proposal": ("service", "verb", "rule", *(name for name, _ in _PROOF)),
    "too_thin": ("service", "verb", "pattern", *(name for name, _ in _PROOF)),
    "gap": ("service", "destination", "port", "method", "path"),
    "at": ("subject", "time", "server", "conn", "sid"),
    "history": ("subject", "server", "start", "account"),
    "latency": ("kind", "requester", "subject", "responder", "account", "user", "client"),
    "flows": (
        *("publisher", "pattern", "subscriber", "queue", "account"),
        *("user", "client", "subscriber_user", "subscriber_client"),
    ),
    "consumers": ("stream", "consumer", "who", "account", "user", "client"),
    "unparseable": ("server", "file", "offset", "reason"),
    "runs": ("run",),
}

#: The tables that answer questions about the traffic; those that were not asked for are empty.
ANSWERS = (
    *("permission_usage", "violations", "proposal", "too_thin", "gap"),
    *("at", "history", "latency", "flows", "consumers"),
)

#: The names of the columns of each table.
TABLES: dict[str, tuple[str, ...]] = {
    name: tuple(column for column, _ in columns) for name, columns in TABLE_COLUMNS.items()
}

#: The columns of all tables, the name of the table, and the key by which its rows are sorted.
UNION: tuple[tuple[str, str], ...] = (
    ("table", "string"),
    ("key", "string"),
    *dict.fromkeys(column for columns in TABLE_COLUMNS.values() for column in columns),
)


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type of a Spark type."""
    import pyarrow as pa

    return {
        "string": pa.string(),
        "bigint": pa.int64(),
        "int": pa.int32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "binary": pa.binary(),
        "timestamp": pa.timestamp("us", "UTC"),
        RATE_TYPE: pa.struct(
            {
                "start": pa.timestamp("us", "UTC"),
                "width_s": pa.int64(),
                "counts": pa.list_(pa.int64()),
            }
        ),
    }[kind]


def arrow_schema(columns: Columns) -> pa.Schema:
    """Return columns as an Arrow schema."""
    import pyarrow as pa

    return pa.schema([(name, arrow_type(kind)) for name, kind in columns])


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
            # Rates are lists until they are added up.
            columns[name] = (
                values[name] if kind == RATE_TYPE else values[name].cast(arrow_type(kind))
            )
    return table, pa.table(columns)
