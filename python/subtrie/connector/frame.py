"""The control headers of the bus: their names, and the texts their values have.

A duration is written as Go writes one (``19.999s``, ``5ms``, ``15m0s``), a bare number is
milliseconds; a fragment is ``2/3``. What cannot be read counts as absent, as in Go.
"""

from __future__ import annotations

import re
from functools import lru_cache

PREFIX = "Microbus-"
BAGGAGE = "Microbus-Baggage-"
OP_CODE = "Microbus-Op-Code"
MSG_ID = "Microbus-Msg-Id"
FROM_HOST = "Microbus-From-Host"
FROM_ID = "Microbus-From-Id"
FROM_VERSION = "Microbus-From-Version"
TIME_BUDGET = "Microbus-Time-Budget"
CALL_DEPTH = "Microbus-Call-Depth"
QUEUE = "Microbus-Queue"
LOCALITY = "Microbus-Locality"
FRAGMENT = "Microbus-Fragment"
ACTOR = "Microbus-Actor"

REQUEST, ACK, RESPONSE, ERROR = "Req", "Ack", "Res", "Err"

DEFAULT_BUDGET = 20.0  # seconds, of a request that names none
LONGEST_BUDGET = 900.0

#: What a caller's own headers never set: the connector does.
CONTROL = frozenset(
    [
        OP_CODE,
        MSG_ID,
        FROM_HOST,
        FROM_ID,
        FROM_VERSION,
        TIME_BUDGET,
        CALL_DEPTH,
        QUEUE,
        LOCALITY,
        FRAGMENT,
    ]
)

_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6}
_SECONDS["ns"] = 1e-9
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|h|m|s)", re.ASCII)
_FRAGMENT = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)


@lru_cache(maxsize=256)
def duration(seconds: float) -> str:
    """The text of a duration, to the nanosecond: ``20s``, ``500ms``, ``1m30s``, ``1.5µs``."""
    total = round(seconds * 1e9)
    if total <= 0:
        return "0s"
    if total < 1_000_000_000:
        for unit, size in (("ms", 1_000_000), ("µs", 1_000), ("ns", 1)):
            if total >= size:
                return _decimal(total, size) + unit
    minutes, rest = divmod(total, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    text = _decimal(rest, 1_000_000_000) + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def _decimal(total: int, size: int) -> str:
    whole, part = divmod(total, size)
    digits = f"{part:0{len(str(size)) - 1}d}".rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)


@lru_cache(maxsize=256)
def seconds_of(text: str) -> float:
    """The seconds of a duration; 0 where there is none, or it is negative or unreadable."""
    if text.isascii() and text.isdigit() and len(text) < 18:
        return int(text) / 1000
    place, total = 0, 0.0
    if text.startswith("+"):
        place = 1
    while found := _PART.match(text, place):
        total += float(found[1]) * _SECONDS[found[2]]
        place = found.end()
    return total if place == len(text) and total < 1e9 else 0.0


def fragment_of(text: str) -> tuple[int, int]:
    """``2/3`` gives (2, 3); (1, 1) for a message in one piece, or where it cannot be read."""
    found = _FRAGMENT.fullmatch(text)
    if found is None:
        return 1, 1
    index, count = int(found[1]), int(found[2])
    return (index, count) if index >= 1 and count >= 1 else (1, 1)


def number_of(text: str) -> int:
    """A count such as the call depth or a version; 0 where it cannot be read."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
