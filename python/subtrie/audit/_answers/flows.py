"""Flows: publishers, the patterns on which messages were received, and subscribers, of any NATS."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

#: Microseconds; a rate is that of at least a minute.
_MINUTE = 60_000_000


def per_minute(row: dict[str, Any]) -> float | None:
    """Return the messages a minute of a flow, rounded to tenths with integers.

    None if their times are unknown, as in a log that was written without.
    """
    if row["first"] is None or row["last"] is None:
        return None
    span = max((row["last"] - row["first"]) // timedelta(microseconds=1), _MINUTE)
    tenths: int = (row["published"] * 10 * _MINUTE + span // 2) // span
    return tenths / 10
