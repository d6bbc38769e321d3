"""The deliveries of messages, from rows alone: no session."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from subtrie.audit._schema import EVENTS, arrow_schema
from subtrie.spark._settled import _Settling

COLUMNS = arrow_schema(EVENTS)


def row(direction: str, time: int | None, **more: Any) -> dict[str, Any]:
    op = "PUB" if direction == "in" else "MSG"
    usual = {"server": "n", "subject": "a", "op": op, "direction": direction, "time": time}
    return {**dict.fromkeys(COLUMNS.names), **usual, **more}


def deliveries(*rows: dict[str, Any]) -> list[int | None]:
    """Return the deliveries of the messages, by time; a second is 1,000 microseconds here."""
    settling = _Settling(1_000)
    batch = pa.RecordBatch.from_pylist(list(rows), schema=COLUMNS)
    found = [*settling.feed(batch), *settling.finish()]
    told = [each for part in found for each in part.to_pylist() if each["direction"] == "in"]
    return [each["deliveries"] for each in sorted(told, key=lambda each: str(each["time"]))]


@pytest.mark.parametrize(
    ("rows", "counts"),
    [
        ([row("in", 0), row("out", 1_000, conn="c")], [1]),
        ([row("in", 0), row("out", 1_001, conn="c")], [0]),
        ([row("in", 0), row("out", 1, conn="c"), row("out", 2, conn="d")], [2]),
        ([row("in", 0), row("out", 1, conn="c"), row("out", 2, conn="c")], [1]),
        ([row("in", 0), row("out", 1, identity="x", conn="c"),
          row("out", 2, identity="x", conn="d")], [1]),
        ([row("in", 0), row("out", 1, queue="q", identity="x"),
          row("out", 2, queue="q", identity="y")], [1]),
        ([row("in", 0, size=1), row("out", 1, conn="c", size=2)], [0]),
        ([row("in", 0), row("out", 1, conn="c", size=2)], [1]),
        ([row("in", 0, refused="publish"), row("out", 1, conn="c")], [None]),
        ([row("in", 0, deliveries=7), row("out", 1, conn="c")], [7]),
        # A row that was received is not a delivery, and one that was sent is not a message.
        ([row("in", 0), row("in", 1, op="MSG", conn="c")], [0, None]),
        ([row("out", 0, op="PUB"), row("in", 1), row("out", 2, conn="c")], [1]),
    ],
)  # fmt: skip
def test_a_row_is_a_delivery_of_the_oldest_message_that_it_may_be(rows, counts) -> None:
    assert deliveries(*rows) == counts


def test_a_message_that_is_settled_was_forwarded_to_no_other_server() -> None:
    settling = _Settling(1_000)
    batch = pa.RecordBatch.from_pylist([row("in", 0)], schema=COLUMNS)
    (part,) = [each for each in (*settling.feed(batch), *settling.finish()) if each.num_rows]
    assert part.column("forwarded").to_pylist() == [0]
