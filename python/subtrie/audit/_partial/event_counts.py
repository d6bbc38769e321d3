"""Counts of the rows of a table of events by category."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows beside that of an operation, or of a payload that is not counted.
_REMARKS = ("ACK", "CLAIM", "CONSUMER", "ERROR", "LOGIN", "STORED", "STREAM")
_OF_THE_SERVER = ("CLOSED", "DENIED", "LINK", "SERVER", "SLOW", "START", "VIOLATION")
_CLIENT = r"/(client|websocket|mqtt):"


def event_counts(events: pa.RecordBatch) -> dict[str, int]:
    """Return the number of rows by category, and the deliveries that were sent and matched.

    ``unsettled`` counts the accepted messages of which the events do not tell the deliveries.
    """
    import pyarrow.compute as pc

    def number(mask: Any) -> int:
        return int(pc.sum(pc.fill_null(mask, False)).as_py() or 0)

    op = events.column("op")
    damaged = number(pc.is_valid(events.column("reason")))
    server = number(pc.is_in(op, value_set=_set(*_OF_THE_SERVER)))
    remarks = number(pc.is_in(op, value_set=_set(*_REMARKS)))
    sent = pc.and_kleene(
        pc.is_in(op, value_set=_set("MSG", "HMSG")), pc.equal(events.column("direction"), "out")
    )
    matched = events.column("deliveries")
    untold = pc.and_(pc.is_null(matched), pc.is_null(events.column("refused")))
    untold = pc.and_kleene(
        pc.and_kleene(untold, pc.is_in(op, value_set=_set("PUB", "HPUB"))),
        pc.equal(events.column("direction"), "in"),
    )
    if pc.any(pc.or_kleene(sent, untold)).as_py():
        client = pc.match_substring_regex(events.column("conn"), _CLIENT)
        sent, untold = pc.and_kleene(sent, client), pc.and_kleene(untold, client)
    return {
        "operations": events.num_rows - damaged - server - remarks,
        "server": server,
        "unparseable_lines": damaged,
        "sent": number(sent),
        "matched": int(pc.sum(matched).as_py() or 0),
        "unsettled": number(untold),
        "settled": number(pc.is_valid(matched)),
    }


def _set(*names: str) -> pa.Array:
    import pyarrow as pa

    return pa.array(names, pa.string())
