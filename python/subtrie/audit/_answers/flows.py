"""Flows: publishers, the patterns on which messages were received, and subscribers, of any NATS."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from .sums import KINDS, Sums

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


def answered(sums: Sums) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Return the sums of flows; messages that were answered are not those of no subscriber.

    Those that a stream refused are not delivered to it.

    An answer without a publisher in the log is that of a stream which stored the message, or of a
    service of another account or server.
    """
    found = dict(sums["flow"])
    by_name = sorted(sums["stored"].items(), key=lambda each: [str(part) for part in each[0]])
    for key, (count,) in by_name:
        lost = (*key[:2], None, None, *key[4:])
        published, delivered, undelivered, size, first, last, _ = found.get(lost, (0,) * 7)
        taken = min(count, undelivered)
        if not taken:
            continue
        share = size * taken // published
        if taken < published:
            left = published - taken, delivered, undelivered - taken, size - share, first, last
            found[lost] = *left, None  # which of them were answered is not known
        else:
            del found[lost]
        stored = taken, taken, 0, share, first, last, None
        old = found.get(key)
        if old is not None:
            both = zip(KINDS["flow"], old, stored, strict=True)
            stored = tuple(how(one, other) for how, one, other in both)
        found[key] = stored
    _take_unstored(found, sums)
    return found


def _take_unstored(found: dict[tuple[Any, ...], tuple[Any, ...]], sums: Sums) -> None:
    """Count what a stream refused as undelivered in the flows of its publisher to this stream.

    Its answer does not tell the subject: it is divided in the ratio of their messages.
    """
    flows: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for key in found:
        flows.setdefault((key[0], *key[2:7]), []).append(key)
    for key, (refused,) in sums["unstored"].items():
        own = [each for each in flows.get((key[0], *key[2:7]), ()) if found[each][1]]
        own.sort(key=lambda each: str(each[1]))
        weights = [found[each][1] for each in own]
        for each, share in zip(own, divided(min(refused, sum(weights)), weights), strict=True):
            published, delivered, undelivered, *rest = found[each]
            found[each] = published, delivered - share, undelivered + share, *rest


def divided(count: int, weights: list[int]) -> list[int]:
    """Divide a number in a ratio; what is left goes to the largest remainders, then in order."""
    total = sum(weights)
    parts = [count * weight // total for weight in weights]
    rests = [count * weight % total for weight in weights]
    order = sorted(range(len(weights)), key=lambda at: -rests[at])
    for at in order[: count - sum(parts)]:
        parts[at] += 1
    return parts
