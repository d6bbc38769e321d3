"""The kinds of facts: what the tables need of the events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._schema import arrow_schema
from .rows import filled

if TYPE_CHECKING:
    import pyarrow as pa

_PROOF = ("identity_source", "user", "client")
_PUBLISH = ("server", "window", "conn", "identity", *_PROOF, "subject")
_DELIVERY = ("server", "window", "conn", "sid", "queue", "subscription", "subject")
#: What is counted of messages.
SUMS = ("published", "refused", "taken", "undelivered", "forwarded", "ambiguous", "bytes")
_TIMES = tuple(f"{end}{s}" for s in ("", "_accepted", "_undelivered") for end in ("first", "last"))
#: The columns of a message between servers.
HOP = (*_PUBLISH, "reply", "size", "position", "time", "taken", "forwarded")
#: The columns of facts, by kind:
#:
#: ``publish``      messages of clients by server, window, conn, identity and subject
#: ``delivery``     lines to clients by server, window, conn, sid, queue, subscription and subject
#: ``undelivered``  one message that no client received
#: ``hop`` / ``arrival``  one message sent to / received from another server
#: ``refused``      refused operations by identity, conn, subject and reason (its kind)
#: ``slow``         lines that a connection reads too slowly, by server, conn and identity
#: ``claim``        other users that a client claims (subject) than the proven one, by connection
#: ``unparseable``  one line
#: ``subscription`` one line that begins or ends subscriptions; ``reason`` is its direction
#: ``plane``        a plane of accepted traffic, in the column ``subject``
#: ``count``        lines by category, accepted and ambiguous messages, in the column ``subject``
#: ``range``        one range of a stream: server, its start (position) and its end (size)
FACTS: dict[str, tuple[str, ...]] = {
    "publish": (*_PUBLISH, *SUMS, *_TIMES),
    "delivery": (*_DELIVERY, "count"),
    "undelivered": ("server", "subject", "position"),
    "hop": HOP,
    "arrival": HOP,
    "refused": ("identity", *_PROOF, "conn", "subject", "reason", "count", "first", "last"),
    "slow": ("server", "conn", "identity", "count", "first", "last"),
    "claim": (*("server", "conn", "identity", *_PROOF, "subject", "count", "first", "last"),),
    "unparseable": ("server", "file", "position", "reason", "text"),
    "subscription": (
        *("server", "conn", "identity", "op", "subject", "queue", "sid", "size", "position"),
        *("time", "reason"),
    ),
    "plane": ("subject",),
    "count": ("subject", "count"),
    "range": ("server", "position", "size"),
}
#: The column that decides the bucket, of facts that are not about subjects.
BUCKETED_BY = {"slow": "identity", "claim": "identity", "unparseable": "file"}
#: The kinds of which all facts go to the driver.
DRIVEN = ("subscription", "plane", "count", "range")
#: The columns that identify facts that add up; other facts are one each.
KEYS = {
    "refused": ("identity", *_PROOF, "conn", "subject", "reason"),
    "slow": ("server", "conn", "identity"),
    "claim": ("server", "conn", "identity", *_PROOF, "subject"),
    "plane": ("subject",),
    "count": ("subject",),
}
_NUMBERS = (*SUMS, "position", "subscription", "size", "count")


def fact_schema(kind: str) -> pa.Schema:
    """Return the Arrow schema of facts of a kind."""

    def type_of(name: str) -> str:
        if name in ("window", "time", *_TIMES):
            return "timestamp"
        return "bigint" if name in _NUMBERS else "string"

    return arrow_schema([(name, type_of(name)) for name in FACTS[kind]])


def complete(kind: str, table: pa.Table, subject: str = "subject") -> pa.Table:
    """Return facts with the columns and types of their kind; a missing sum is 0.

    Args:
        kind: The kind of the facts.
        table: The facts.
        subject: The column of the subject; ``at`` holds numbers.
    """
    import pyarrow as pa

    schema = fact_schema(kind)
    if subject != "subject":
        numbered = pa.field(subject, pa.int32())
        schema = schema.set(schema.get_field_index("subject"), numbered)
    if table.column_names != schema.names:
        table = filled(table, schema.names, SUMS)
    return table.cast(schema)
