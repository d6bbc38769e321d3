"""Sum the events of a batch to what the answers need: who used which subject, on which day."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .._schema import arrow_schema, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

#: The columns of events that are read.
READ = (
    *("server", "time", "conn", "identity", "direction", "op", "subject", "reply", "queue"),
    *("size", "deliveries", "refused", "forwarded", "subscription", "position"),
)
#: The columns that identify a use. ``use`` is ``publish``, ``delivery`` (``position`` is that of
#: the SUB line), ``subscribe`` (a SUB line), ``refused`` (a subscription that the server refused)
#: or ``request`` (a message with a reply subject). ``day`` counts from 1970.
KEYS: tuple[tuple[str, str], ...] = (
    ("use", "string"),
    ("server", "string"),
    ("day", "int"),
    ("window", "timestamp"),
    ("who", "string"),
    ("identity", "string"),
    ("subject", "string"),
    ("reply", "string"),
    ("queue", "string"),
    ("position", "bigint"),
)
#: The sums of a use: ``taken`` counts messages that a client received.
SUMS = ("published", "refused", "taken", "undelivered", "forwarded", "bytes")
USES = (*KEYS, *((name, "bigint") for name in SUMS), ("first", "timestamp"), ("last", "timestamp"))

_CLIENT = r"/(client|websocket|mqtt):"
_DAY = 86_400_000_000


def uses_of(
    batches: Iterable[pa.RecordBatch], *, window: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the uses in each batch of events.

    Args:
        batches: Events, with at least the columns ``READ``.
        window: The length of a period in microseconds; without it all times are one period.
    """
    import pyarrow as pa

    for batch in batches:
        if batch.num_rows:
            found = _of_events(pa.Table.from_batches([batch]), window)
            yield from found.combine_chunks().to_batches()


def _of_events(events: pa.Table, window: int | None) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    op, direction = events["op"], events["direction"]
    client = pc.fill_null(pc.match_substring_regex(events["conn"], _CLIENT), False)
    incoming = pc.and_(client, pc.fill_null(pc.equal(direction, "in"), False))
    outgoing = pc.and_(client, pc.fill_null(pc.equal(direction, "out"), False))

    def some(mask: Any, *ops: str) -> pa.Table:
        return events.filter(pc.and_(mask, pc.is_in(op, value_set=pa.array(ops))))

    published = some(incoming, "PUB", "HPUB")
    asked = published.filter(
        pc.and_(pc.is_valid(published["reply"]), pc.is_null(published["refused"]))
    )
    refused = events.filter(
        pc.and_(
            pc.fill_null(pc.equal(op, "VIOLATION"), False),
            pc.fill_null(pc.equal(events["refused"], "subscribe"), False),
        )
    )
    return pa.concat_tables(
        [
            _publishes(published, window),
            _counted("delivery", some(outgoing, "MSG", "HMSG"), None, position="subscription"),
            _counted("subscribe", some(incoming, "SUB"), None, position="position", queue=True),
            _counted("refused", refused, window, queue=True, count="refused"),
            _counted("request", asked, None, position="position", reply=True),
        ]
    )


def _publishes(rows: pa.Table, window: int | None) -> pa.Table:
    import pyarrow.compute as pc

    accepted = pc.is_null(rows["refused"])
    known = pc.is_valid(rows["deliveries"])
    taken = pc.and_(accepted, pc.greater(pc.fill_null(rows["deliveries"], 0), 0))
    hopped = pc.and_(accepted, pc.greater(pc.fill_null(rows["forwarded"], 0), 0))
    left = pc.and_(pc.and_(accepted, known), pc.invert(taken))
    masks = {
        "published": accepted,
        "refused": pc.invert(accepted),
        "taken": taken,
        "undelivered": pc.and_(left, pc.invert(hopped)),
        "forwarded": pc.and_(hopped, pc.invert(taken)),
    }
    sums = {name: mask.cast("int64") for name, mask in masks.items()}
    sums["bytes"] = pc.if_else(accepted, pc.fill_null(rows["size"], 0), 0)
    return _summed("publish", rows, window, sums, {})


def _counted(
    use: str,
    rows: pa.Table,
    window: int | None,
    *,
    position: str | None = None,
    queue: bool = False,
    reply: bool = False,
    count: str = "published",
) -> pa.Table:
    """Count rows in one of the sums."""
    import pyarrow as pa

    keys = {"position": rows[position]} if position is not None else {}
    if queue:
        keys["queue"] = rows["queue"]
    if reply:
        keys["reply"] = rows["reply"]
    ones = pa.chunked_array([pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)])
    return _summed(use, rows, window, {count: ones}, keys)


def _summed(
    use: str, rows: pa.Table, window: int | None, sums: dict[str, Any], keys: dict[str, Any]
) -> pa.Table:
    """Add up rows with equal keys, and return them with all columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    length = rows.num_rows
    micros = rows["time"].cast(pa.int64())
    nothing = {name: pa.nulls(length, arrow_type(kind)) for name, kind in KEYS}
    given = {
        "use": pa.array([use] * length, pa.string()),
        "server": rows["server"],
        "day": _floored(micros, _DAY, divide=True).cast(pa.int32()),
        "who": pc.coalesce(rows["identity"], rows["conn"]),
        "identity": rows["identity"],
        "subject": rows["subject"],
        **keys,
    }
    if window is not None:
        given["window"] = _floored(micros, window, divide=False).cast(arrow_type("timestamp"))
    names = [name for name, _ in KEYS]
    table = pa.table({**nothing, **given})
    zero = pa.repeat(pa.scalar(0, pa.int64()), length)
    for name in SUMS:
        table = table.append_column(name, sums.get(name, zero))
    table = table.append_column("first", rows["time"]).append_column("last", rows["time"])
    how = [*((name, "sum") for name in SUMS), ("first", "min"), ("last", "max")]
    found = table.group_by(names).aggregate(how)
    found = found.select([*names, *(f"{name}_{kind}" for name, kind in how)])
    return found.rename_columns([*names, *(name for name, _ in how)]).cast(arrow_schema(USES))


def _floored(micros: pa.ChunkedArray, length: int, *, divide: bool) -> pa.ChunkedArray:
    """Return the number of the period of each time, or its start in microseconds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Times are after 1970, so integer division rounds down.
    number = pc.divide(micros, pa.scalar(length, pa.int64()))
    return number if divide else pc.multiply(number, pa.scalar(length, pa.int64()))
