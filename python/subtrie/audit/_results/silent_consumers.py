"""Consumers of streams whose messages came again because nothing acknowledged them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

#: The ack policy of a consumer that asks for no acknowledgement.
_NONE = "none"


def silent_consumers(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``consumers`` of programs that acknowledge nothing of what they receive.

    Left out is what needs no acknowledgement: those of consumers with the ack policy ``none``,
    those that another program acknowledges for (more than it received itself), and those whose
    names are made up, unless the policy or a second delivery says that acknowledgements are asked
    for. A message that came again proves it; without one, the acknowledgements may come later.

    Args:
        rows: The rows of the table.
    """
    known = list(rows)
    spare: dict[tuple[Any, ...], int] = defaultdict(int)
    for row in known:
        if answered := row["acknowledged"] + row["rejected"]:
            spare[_consumer(row)] += answered - row["delivered"]
    for row in known:
        policies = (row["ack_policy"] or "").split(" or ")
        asked = row["redelivered"] > 0 or not {"", _NONE} & set(policies)
        if row["acknowledged"] or row["rejected"] or not row["delivered"] or policies == [_NONE]:
            continue
        if spare.get(_consumer(row), 0) <= 0 and (asked or row["consumer"] != "*"):
            yield row


def _consumer(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["account"], row["stream"], row["consumer"]
