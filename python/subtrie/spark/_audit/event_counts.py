"""Counts of the rows of a table of events by category."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_CLIENT = r"/(client|websocket|mqtt):"


def event_counts(events: pa.RecordBatch) -> dict[str, int]:
    """Return the number of rows by category, and the deliveries that were sent and matched."""
    import pyarrow.compute as pc

    def number(mask: Any) -> int:
        return int(pc.sum(pc.fill_null(mask, False)).as_py() or 0)

    op = events.column("op")
    damaged = number(pc.is_valid(events.column("reason")))
    server = number(pc.is_in(op, value_set=_set("CLOSED", "SLOW", "START", "VIOLATION")))
    sent = pc.and_kleene(
        pc.is_in(op, value_set=_set("MSG", "HMSG")), pc.equal(events.column("direction"), "out")
    )
    matched = events.column("deliveries")
    if pc.any(sent).as_py():
        client = pc.match_substring_regex(events.column("conn"), _CLIENT)
        sent = pc.and_kleene(sent, client)
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
