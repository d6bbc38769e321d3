"""The rows of a partial: their kinds, how they add up, and how they are moved.

What is moved is one row for each kind and bucket. It holds the rows of the kind as the bytes of an
Arrow stream, so its cost does not depend on their number. Rows about one subject are in one bucket,
the same in every process.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._schema import arrow_schema, arrow_type
from .rates import ACCEPTED, LOST, RATE, RATES, added_rates

if TYPE_CHECKING:
    import pyarrow as pa

#: The version of the kinds and columns, which a stream keeps with its partials.
VERSION = 16

_PROGRAM = ("user", "client")
_PROOF = ("identity_source", *_PROGRAM)
_PUBLISH = ("server", "window", "conn", "account", "identity", *_PROOF, "subject")
#: ``consumer`` is that of JetStream which delivered, as ``ORDERS.shipper``; of messages that came
#: again with the first digit of how often, as ``ORDERS.shipper.2``.
_DELIVERY = (
    *("server", "window", "conn", "account", "sid", "queue", "consumer", "subscription"),
    "subject",
)
#: What is counted of messages; ``lines`` are those that delivered them.
SUMS = ("published", "refused", "taken", "undelivered", "forwarded", "ambiguous", "bytes", "lines")
_TIMES = tuple(f"{end}{s}" for s in ("", "_accepted", "_undelivered") for end in ("first", "last"))
#: The days of messages, as ``TrafficSums`` writes them: for each day four times the time of its
#: first accepted message, plus 2 if one was accepted, plus 1 if a client received one.
DAYS = "days"
#: Two numbers for each line at which subscriptions last changed before messages: its position, and
#: the number of these messages. It tells which of them a subscription that lived then matched.
CHANGES = "changes"
DAY = 86_400_000_000
_HOP = (*_PUBLISH, "reply", "size", "position", "time", "taken", "forwarded")
_REFUSED = ("account", "identity", *_PROOF, "conn", "subject", "queue", "day", "window", "reason")
_SPAN = ("count", "first", "last")
_RATED = (*_SPAN, RATE)
_CONNECTION = ("server", "conn", "account", "identity", *_PROOF)
_ERROR, _ACK = ("subject", "sid", "queue"), ("subject", "queue")
_STREAM = ("server", "account", "queue", "subject")
_LOGIN = ("server", "account", "identity", *_PROOF, "subject", "op", "queue")


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
    "publish": Kind((*_PUBLISH, *SUMS, *_TIMES, DAYS, CHANGES, ACCEPTED, LOST)),
    "delivery": Kind((*_DELIVERY, *_SPAN)),
    # one message that no client received
    "undelivered": Kind(("server", "account", "subject", "position")),
    # one message sent to, and received from, another server
    "hop": Kind(_HOP),
    "arrival": Kind(_HOP),
    # refused operations; ``reason`` is what was refused
    "refused": Kind((*_REFUSED, *_RATED), _REFUSED),
    # one accepted message with a reply subject, for the latency of requests
    "request": Kind(
        ("server", "conn", "account", "identity", *_PROGRAM, "subject", "reply", "time"),
        bucketed_by="reply",
    ),
    # one accepted Microbus message, with the head of its payload
    "head": Kind(
        ("account", *_PROGRAM, "time", "subject", "message_id", "op_code", "status"),
        bucketed_by="message_id",
    ),
    # connections that read too slowly
    "slow": Kind((*_CONNECTION, *_RATED), _CONNECTION, "identity"),
    # other users that a client claims (subject) than the proven one
    "claim": Kind((*_CONNECTION, "subject", *_RATED), (*_CONNECTION, "subject"), "identity"),
    # errors that JetStream answered: its stream (subject), what was asked (sid), why (queue)
    "error": Kind((*_CONNECTION, *_ERROR, *_RATED), (*_CONNECTION, *_ERROR), "identity"),
    "unparseable": Kind(("server", "file", "position", "reason", "text"), bucketed_by="file"),
    # one line that begins or ends subscriptions; ``reason`` is its direction
    "subscription": Kind(
        (
            *("server", "conn", "account", "identity", "op", "subject", "queue", "sid", "size"),
            *("position", "time", "reason", *_PROOF),
        ),
        bucketed_by=None,
    ),
    # a pattern whose messages a stream stores; ``queue`` is the stream
    "stream": Kind((*_STREAM, "last_position"), _STREAM, None),
    # the ack policy (subject) of a consumer, the subject that it delivers to (reply), and the
    # patterns of what it delivers (sid); ``queue`` is stream and consumer
    "consumer": Kind((*_STREAM, "reply", "sid"), (*_STREAM, "reply", "sid"), None),
    # acknowledgements of a consumer (queue) that say other (subject) than that it was processed
    "ack": Kind((*_CONNECTION, *_ACK, "count"), (*_CONNECTION, *_ACK), "queue"),
    # logins of a user from an address (subject), accepted or refused (op) for a reason (queue)
    "login": Kind((*_LOGIN, *_RATED), _LOGIN),
    # one connection to another server (subject) that was made or closed (queue)
    "link": Kind(
        ("server", "conn", "account", "user", "subject", "sid", "queue", "position", "time"),
        bucketed_by="conn",
    ),
    # the messages of a batch in one direction between two rows LINK, their bytes (size), the first
    "crossed": Kind(
        ("server", "conn", "user", "direction", "position", "count", "size"), bucketed_by="conn"
    ),
    # one thing that a server says about itself (queue; START has none)
    "state": Kind(("server", "conn", "op", "queue", "position", "time"), bucketed_by="server"),
    # a request to delete the stream in the subject
    "dropped": Kind(("server", "account", "subject", "position"), bucketed_by=None),
    # a stream that acknowledged to a connection that it stored a message
    "stored": Kind(("server", "conn", "queue"), ("server", "conn", "queue"), None),
    # a plane of accepted traffic, in the column ``subject``
    "plane": Kind(("subject",), ("subject",), None),
    # lines by category, accepted and ambiguous messages, in the column ``subject``
    "count": Kind(("subject", "count"), ("subject",), None),
    # one range of a stream: server, its start (position) and its end (size)
    "range": Kind(("server", "position", "size"), bucketed_by=None),
}
#: The kinds that are summed natively.
SUMMED = ("publish", "delivery")
#: The number of a row among those that are grouped.
_ROW = "~row"
_NUMBERS = (*SUMS, "position", "last_position", "subscription", "size", "count", "day")


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
    for name in (DAYS, CHANGES, *RATES):
        if (place := schema.get_field_index(name)) >= 0:
            schema = schema.set(place, pa.field(name, pa.list_(pa.int64())))
    return schema


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


def add_up(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Sum the rows with equal keys: times by their least and greatest, others by their sum.

    Cost: that of the columns that vary. Keys with one value, and numbers that are all 0 or null,
    are neither compared nor added.
    """
    import pyarrow as pa

    def how(name: str) -> str:
        return "min" if name.startswith("first") else "max" if name.startswith("last") else "sum"

    values = [name for name in rows.column_names if name not in keys]
    told = {name: _constant(rows[name]) for name in rows.column_names}
    constant = {name: value for name, value in told.items() if value is not None
                and (name in keys or not value.is_valid or value.as_py() == 0)}  # fmt: skip
    by = [name for name in keys if name not in constant] or list(keys[:1])
    added = [name for name in values if name not in constant]
    found = aggregated(rows, by, [(name, how(name)) for name in added])
    found = found.select([*by, *(f"{n}_{how(n)}" for n in added)]).rename_columns([*by, *added])
    return pa.table(
        {
            name: found[name] if name in by or name in added
            else pa.repeat(constant[name], found.num_rows)
            for name in (*keys, *values)
        }
    )  # fmt: skip


def aggregated(rows: pa.Table, by: Sequence[str], how: Sequence[Any]) -> pa.Table:
    """Return ``rows.group_by(by).aggregate(how)``; rates can have the function ``sum``, too."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    rates = [name for name, _ in how if name in RATES]
    if not rates:
        return rows.group_by(by).aggregate(how)
    others: list[Any] = [each for each in how if each[0] not in rates]
    numbered = rows.append_column(_ROW, pa.array(np.arange(rows.num_rows)))
    found = numbered.group_by(by).aggregate([*others, (_ROW, "list")])
    members = found[f"{_ROW}_list"].combine_chunks()
    groups = np.empty(rows.num_rows, np.int64)
    groups[members.flatten().to_numpy()] = pc.list_parent_indices(members).to_numpy()
    for name in rates:
        added = added_rates(rows[name].combine_chunks(), groups, found.num_rows)
        found = found.append_column(f"{name}_sum", added)
    return found.drop_columns([f"{_ROW}_list"])


def _constant(column: pa.ChunkedArray) -> pa.Scalar | None:
    """Return the value of a column of numbers or times that are all equal, or all null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count or not len(column):
        return pa.scalar(None, column.type) if column.null_count == len(column) else None
    if not (pa.types.is_integer(column.type) or pa.types.is_timestamp(column.type)):
        return None
    ends = pc.min_max(column)
    return ends["min"] if ends["min"] == ends["max"] else None


def filled(table: pa.Table, names: Sequence[str], counted: Sequence[str]) -> pa.Table:
    """Return the columns in ``names``; a missing count is 0, any other missing value null."""
    import pyarrow as pa

    kinds: dict[str, Any] = {"window": "timestamp", "first": "timestamp", "last": "timestamp"}
    columns = {}
    for name in names:
        if name in table.column_names:
            columns[name] = table[name]
        elif name in counted:
            columns[name] = pa.repeat(pa.scalar(0, pa.int64()), table.num_rows)
        else:
            columns[name] = pa.nulls(table.num_rows, arrow_type(kinds.get(name, "string")))
    return pa.table(columns)


#: What is moved: the kind and the bucket of rows, their number, and their bytes.
PARTIAL_ROWS: tuple[tuple[str, str], ...] = (
    ("kind", "string"),
    ("bucket", "int"),
    ("rows", "bigint"),
    ("data", "binary"),
)
#: The number of buckets: more of them need less memory at once, and more rows to move.
BUCKETS = 64
#: In place of the number of a bucket: the head.
IN_HEAD = -1
#: A kind, a bucket, and its rows.
Piece = tuple[str, int, "pa.Table"]


def bucket_rows(pieces: Iterable[Piece]) -> pa.RecordBatch:
    """Return rows of kinds and buckets as ``PARTIAL_ROWS``."""
    import pyarrow as pa

    kinds, buckets, tables = list(zip(*pieces, strict=True)) or [(), (), ()]
    columns = {
        "kind": pa.array(kinds, pa.string()),
        "bucket": pa.array(buckets, pa.int32()),
        "rows": pa.array([table.num_rows for table in tables], pa.int64()),
        "data": pa.array([stream_bytes(table) for table in tables], pa.binary()),
    }
    return pa.record_batch(columns, schema=arrow_schema(PARTIAL_ROWS))


def rows_in(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, int, int, Any]]:
    """Yield kind, bucket, number and bytes of the rows in each of ``PARTIAL_ROWS``."""
    for batch in batches:
        columns = (batch.column(name) for name, _ in PARTIAL_ROWS)
        for kind, bucket, count, data in zip(*columns, strict=True):
            yield kind.as_py(), bucket.as_py(), count.as_py(), data.as_buffer()


def stream_bytes(table: pa.Table) -> bytes:
    """Return a table as an Arrow stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def batches_of(data: Any) -> pa.RecordBatchReader:
    """Open the bytes of an Arrow stream."""
    import pyarrow as pa

    return pa.ipc.open_stream(data, options=pa.ipc.IpcReadOptions(use_threads=False))


def in_buckets(kind: str, table: pa.Table) -> Iterator[Piece]:
    """Yield the rows of each bucket."""
    import numpy as np
    import pyarrow as pa

    if not table.num_rows:
        return
    by = KINDS[kind].bucketed_by
    if by is None:
        yield kind, IN_HEAD, table
        return
    coded = table[by].combine_chunks().dictionary_encode()
    hashes = [zlib.crc32((text or "").encode()) % BUCKETS for text in coded.dictionary.to_pylist()]
    of_text = pa.array(hashes, pa.int32()).take(coded.indices)
    buckets = of_text.fill_null(0).to_numpy(zero_copy_only=False)
    order = np.argsort(buckets, kind="stable")
    sorted_rows = table.take(pa.array(order))
    numbers, starts = np.unique(buckets[order], return_index=True)
    for number, start, end in zip(numbers, starts, [*starts[1:], len(order)], strict=True):
        yield kind, int(number), sorted_rows.slice(int(start), int(end - start))
