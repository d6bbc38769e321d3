"""Facts: what the tables need of the events, summed within a batch of rows.

A fact has a kind, and the column ``key`` by which facts that belong together come to one task: the
subject, except for facts about a whole log. Facts of one kind and the same texts add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import microbus
from ._schema import arrow_schema, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

#: The columns of facts, by ``fact``:
#:
#: ``publish``      messages of clients by server, window, conn, identity and subject
#: ``delivery``     lines to clients by server, window, conn, sid, queue, subscription and subject
#: ``undelivered``  one message that no client received: server, subject, position
#: ``hop`` / ``arrival``  one message sent to / received from another server
#: ``refused``      refused operations by identity, conn, subject and reason (its kind)
#: ``subscription`` one line that begins or ends subscriptions: op, subject (the pattern), queue
#: ``unparseable``  one line: server, file, position, reason, text
#: ``plane``        a plane of accepted traffic, in the column ``subject``
#: ``count``        lines by category, accepted and ambiguous messages, in the column ``subject``
#: ``range``        one range of a stream: server, its start (position) and its end (size)
FACTS: tuple[tuple[str, str], ...] = (
    ("fact", "string"),
    ("key", "string"),
    ("server", "string"),
    ("file", "string"),
    ("window", "timestamp"),
    ("conn", "string"),
    ("identity", "string"),
    ("op", "string"),
    ("subject", "string"),
    ("reply", "string"),
    ("queue", "string"),
    ("sid", "string"),
    ("reason", "string"),
    ("text", "string"),
    ("position", "bigint"),
    ("subscription", "bigint"),
    ("size", "bigint"),
    ("time", "timestamp"),
    ("count", "bigint"),
    ("published", "bigint"),
    ("refused", "bigint"),
    ("taken", "bigint"),
    ("undelivered", "bigint"),
    ("forwarded", "bigint"),
    ("ambiguous", "bigint"),
    ("bytes", "bigint"),
    ("first", "timestamp"),
    ("last", "timestamp"),
    ("first_accepted", "timestamp"),
    ("last_accepted", "timestamp"),
    ("first_undelivered", "timestamp"),
    ("last_undelivered", "timestamp"),
)

#: The columns of events that facts are made of.
EVENT_COLUMNS = (
    *("server", "file", "offset", "time", "conn", "identity", "direction", "op", "subject"),
    *("reply", "queue", "sid", "size", "deliveries", "refused", "forwarded", "ambiguous"),
    *("subscription", "position", "reason", "_corrupt_record"),
)

_PUBLISH = ("server", "window", "conn", "identity", "subject")
_DELIVERY = ("server", "window", "conn", "sid", "queue", "subscription", "subject")
_SUMS = ("published", "refused", "taken", "undelivered", "forwarded", "ambiguous", "bytes")
_SPANS = ("", "_accepted", "_undelivered")
_CLIENT = r"/(client|websocket|mqtt):"


_COLUMNS = {
    "publish": (
        *_PUBLISH,
        *_SUMS,
        *(f"{end}{span}" for span in _SPANS for end in ("first", "last")),
    ),
    "delivery": (*_DELIVERY, "count"),
    "undelivered": ("server", "subject", "position"),
    "refused": ("identity", "conn", "subject", "reason", "count"),
    "unparseable": ("server", "file", "position", "reason", "text"),
    "plane": ("subject",),
    "count": ("subject", "count"),
    "subscription": (
        *("server", "conn", "identity", "op", "subject", "queue", "sid", "size", "position"),
        *("time", "reason"),
    ),
}
#: The columns that identify facts that add up; other facts are one each.
_KEYS = {
    "publish": _PUBLISH,
    "delivery": _DELIVERY,
    "refused": ("identity", "conn", "subject", "reason"),
    "plane": ("subject",),
    "count": ("subject",),
}
_HOP = (*_PUBLISH, "reply", "size", "position", "time", "taken", "forwarded")


def columns_of(kind: str) -> tuple[str, ...]:
    """Return the columns that facts of a kind have."""
    return _COLUMNS.get(kind, _HOP)


def facts_of(
    batches: Iterable[pa.RecordBatch], *, window: int | None = None, follow: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the facts of each batch of events.

    Args:
        batches: Events, with at least ``EVENT_COLUMNS``.
        window: The length of a period in microseconds; without it all times are one period.
        follow: Whether to list messages between servers, to follow them into other logs.
    """
    import pyarrow as pa

    for batch in batches:
        if batch.num_rows:
            made = _of_events(pa.Table.from_batches([batch]), window, follow)
            yield from made.combine_chunks().to_batches()


def event_counts(events: pa.RecordBatch) -> dict[str, int]:
    """Return the number of rows by category, and the deliveries that were sent and matched."""
    import pyarrow.compute as pc

    def number(mask: Any) -> int:
        return int(pc.sum(pc.fill_null(mask, False)).as_py() or 0)

    op = events.column("op")
    damaged = number(pc.is_valid(events.column("reason")))
    server = number(pc.is_in(op, value_set=_set("CLOSED", "START", "VIOLATION")))
    client = pc.match_substring_regex(events.column("conn"), _CLIENT)
    sent = pc.and_kleene(pc.is_in(op, value_set=_set("MSG", "HMSG")), client)
    sent = pc.and_kleene(sent, pc.equal(events.column("direction"), "out"))
    matched = events.column("deliveries")
    return {
        "operations": events.num_rows - damaged - server,
        "server": server,
        "unparseable_lines": damaged,
        "sent": number(sent),
        "matched": int(pc.sum(matched).as_py() or 0),
        "settled": number(pc.is_valid(matched)),
    }


def _set(*names: str) -> pa.Array:
    import pyarrow as pa

    return pa.array(names, pa.string())


def count_facts(counts: dict[str, int]) -> pa.RecordBatch:
    """Return the facts of the lines that were counted."""
    import pyarrow as pa

    table = pa.table({"subject": list(counts), "count": pa.array(counts.values(), pa.int64())})
    return _fact("count", table).combine_chunks().to_batches()[0]


def range_fact(server: str, start: int, end: int) -> pa.RecordBatch:
    """Return the fact that a range of a log was read."""
    import pyarrow as pa

    table = pa.table({"server": [server], "position": [start], "size": [end]})
    return _fact("range", table).combine_chunks().to_batches()[0]


def compacted(facts: pa.Table) -> pa.Table:
    """Return the same facts in fewer rows: those that add up are added up."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = [arrow_schema(FACTS).empty_table()]
    for kind in pc.unique(facts["fact"]).to_pylist():
        rows = facts.filter(pc.equal(facts["fact"], kind))
        if kind in _KEYS:
            rows = _fact(kind, add_up(rows.select(list(columns_of(kind))), _KEYS[kind]))
        parts.append(rows)
    return pa.concat_tables(parts)


def _of_events(events: pa.Table, window: int | None, follow: bool) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    op, direction = events["op"], events["direction"]
    client = pc.fill_null(pc.match_substring_regex(events["conn"], _CLIENT), False)
    incoming = pc.fill_null(pc.equal(direction, "in"), False)
    outgoing = pc.fill_null(pc.equal(direction, "out"), False)
    sized = pc.is_valid(events["size"])
    period = _period(events["time"], window)
    events = events.append_column("window", period)

    def where(*conditions: Any) -> pa.Table:
        mask = conditions[0]
        for condition in conditions[1:]:
            mask = pc.and_(mask, condition)
        return events.filter(mask)

    published = where(incoming, client, pc.is_in(op, value_set=pa.array(["PUB", "HPUB"])))
    delivered = where(outgoing, client, pc.is_in(op, value_set=pa.array(["MSG", "HMSG"])))
    summed = _publishes(published)
    totals = {name: pc.sum(summed[name]).as_py() or 0 for name in ("published", "ambiguous")}
    parts = [summed, _deliveries(delivered), pa.Table.from_batches([count_facts(totals)])]
    accepted = pc.is_null(published["refused"])
    nobody = pc.equal(pc.fill_null(published["deliveries"], 1), 0)
    here = pc.equal(pc.fill_null(published["forwarded"], 1), 0)
    lost = published.filter(pc.and_(pc.and_(accepted, nobody), here))
    parts.append(_fact("undelivered", lost.select(["server", "subject", "position"])))
    if follow:
        columns = [*_PUBLISH, "reply", "size", "position", "time", "deliveries", "forwarded"]
        sent = published.filter(pc.greater(pc.fill_null(published["forwarded"], 0), 0))
        received = where(incoming, pc.invert(client), sized)
        for name, rows in (("hop", sent), ("arrival", received)):
            rows = rows.select(columns).rename_columns([*columns[:-2], "taken", "forwarded"])
            parts.append(_fact(name, rows))
    parts += [_planes(published.filter(accepted)["subject"], delivered)]
    parts += _refusals(events, published)
    kinds = pa.array(["SUB", "UNSUB", "DELSUB", "CLOSED", "START", "VIOLATION"])
    changes = where(pc.is_in(op, value_set=kinds))
    about = pc.or_(
        pc.not_equal(changes["op"], "VIOLATION"),
        pc.fill_null(pc.equal(changes["refused"], "subscribe"), False),
    )
    names = list(columns_of("subscription")[:-1])
    changes = changes.filter(about).select([*names, "direction"])
    parts.append(_fact("subscription", changes.rename_columns([*names, "reason"])))
    damaged = where(pc.is_valid(events["reason"]))
    columns = ["server", "file", "offset", "reason", "_corrupt_record"]
    damaged = damaged.select(columns).rename_columns([*columns[:2], "position", "reason", "text"])
    parts.append(_fact("unparseable", damaged))
    return pa.concat_tables(parts)


def _period(times: pa.ChunkedArray, window: int | None) -> pa.ChunkedArray:
    """Return the start of the period of each time, or nulls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if window is None:
        return pa.chunked_array([pa.nulls(len(times), arrow_type("timestamp"))])
    micros = times.cast(pa.int64())
    start = pc.multiply(pc.floor(pc.divide(micros.cast(pa.float64()), window)), window)
    return start.cast(pa.int64()).cast(arrow_type("timestamp"))


def _publishes(rows: pa.Table) -> pa.Table:
    """Sum the messages of clients."""
    import pyarrow as pa
    import pyarrow.compute as pc

    accepted = pc.is_null(rows["refused"])
    taken = pc.and_(accepted, pc.greater(pc.fill_null(rows["deliveries"], 0), 0))
    hopped = pc.greater(pc.fill_null(rows["forwarded"], 0), 0)
    left = pc.and_(accepted, pc.invert(taken))
    # A table of messages does not say how many of them were delivered.
    known = pc.is_valid(rows["deliveries"])
    lost = pc.and_(pc.and_(left, known), pc.invert(hopped))
    number = pa.int64()
    nothing = pa.scalar(None, arrow_type("timestamp"))
    columns = {name: rows[name] for name in _PUBLISH} | {
        "published": accepted.cast(number),
        "refused": pc.invert(accepted).cast(number),
        "taken": taken.cast(number),
        "undelivered": lost.cast(number),
        "forwarded": pc.and_(left, hopped).cast(number),
        "ambiguous": pc.fill_null(rows["ambiguous"], False).cast(number),
        "bytes": pc.if_else(accepted, pc.fill_null(rows["size"], 0), 0),
    }
    for name, mask in zip(_SPANS, (None, accepted, lost), strict=True):
        times = rows["time"] if mask is None else pc.if_else(mask, rows["time"], nothing)
        columns |= {f"first{name}": times, f"last{name}": times}
    return _fact("publish", add_up(pa.table(columns), _PUBLISH))


def _deliveries(rows: pa.Table) -> pa.Table:
    """Count the lines to clients."""
    import pyarrow as pa

    ones = pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)
    return _fact("delivery", add_up(rows.select(_DELIVERY).append_column("count", ones), _DELIVERY))


def _planes(accepted: pa.ChunkedArray, delivered: pa.Table) -> pa.Table:
    """Return the planes of canonical subjects that were accepted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    subjects = pa.chunked_array([*accepted.chunks, *delivered["subject"].chunks], pa.string())
    decoded = pa.array(microbus.decode_batch(pc.unique(subjects)))
    planes = pc.drop_null(pc.unique(decoded.field("plane").cast(pa.string())))
    return _fact("plane", pa.table({"subject": planes}))


def _refusals(events: pa.Table, published: pa.Table) -> list[pa.Table]:
    """Count what the server refused; a reply that was refused is a publish to its subject."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lines = events.filter(
        pc.and_(
            pc.fill_null(pc.equal(events["op"], "VIOLATION"), False),
            pc.fill_null(pc.not_equal(events["refused"], "reply"), False),
        )
    )
    replies = published.filter(pc.fill_null(pc.equal(published["refused"], "reply"), False))
    found = []
    for rows, kind in ((lines, None), (replies, "publish")):
        reason = rows["refused"] if kind is None else pa.repeat(kind, rows.num_rows)
        table = rows.select(["identity", "conn", "subject"]).append_column("reason", reason)
        table = table.append_column("count", pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows))
        found.append(_fact("refused", add_up(table, ("identity", "conn", "subject", "reason"))))
    return found


def add_up(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Sum the rows with equal keys: times by their least and greatest, numbers by their sum."""

    def how(name: str) -> str:
        return "min" if name.startswith("first") else "max" if name.startswith("last") else "sum"

    values = [name for name in rows.column_names if name not in keys]
    found = rows.group_by(list(keys)).aggregate([(name, how(name)) for name in values])
    names = [*keys, *values]
    return found.select([*keys, *(f"{n}_{how(n)}" for n in values)]).rename_columns(names)


def _fact(kind: str, rows: pa.Table) -> pa.Table:
    """Return rows as facts of one kind, with all columns."""
    import pyarrow as pa

    schema = arrow_schema(FACTS)
    length = rows.num_rows
    known = set(rows.column_names)
    columns = []
    for field in schema:
        if field.name == "fact":
            columns.append(pa.chunked_array([pa.repeat(kind, length)]))
        elif field.name == "key" and "subject" in known:
            columns.append(rows["subject"].cast(pa.string()))
        elif field.name in known:
            columns.append(rows[field.name].cast(field.type))
        else:
            columns.append(pa.chunked_array([pa.nulls(length, field.type)]))
    return pa.table(columns, schema=schema)
