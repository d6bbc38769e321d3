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

_UNITS = {"h": 3_600_000_000_000, "m": 60_000_000_000, "s": 1_000_000_000, "ms": 1_000_000}
_UNITS |= {"us": 1_000, "µs": 1_000, "μs": 1_000, "ns": 1}  # the micro sign, and the Greek letter
_PART = re.compile(r"(?=\d|\.\d)(\d*)\.?(\d*)(ns|us|µs|μs|ms|h|m|s)", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_FRAGMENT = re.compile(r"([+-]?\d{1,18})/([+-]?\d{1,18})", re.ASCII)
_LONGEST = 2**63 - 1  # nanoseconds


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
def nanoseconds_of(text: str) -> int:
    """The nanoseconds of a duration; 0 where there is none, or it is negative or unreadable."""
    if _WHOLE.fullmatch(text):
        return max(int(text), 0) * 1_000_000
    place, total = 1 if text.startswith("+") else 0, 0
    while found := _PART.match(text, place):
        whole, part, unit = found[1], found[2], _UNITS[found[3]]
        total += int(whole or "0") * unit + int(part or "0") * unit // 10 ** len(part)
        place = found.end()
    return total if place == len(text) and total <= _LONGEST else 0


def seconds_of(text: str) -> float:
    """The same in seconds."""
    return nanoseconds_of(text) / 1e9


def fragment_of(text: str) -> tuple[int, int]:
    """``2/3`` gives (2, 3); (1, 1) for a message in one piece, or where it cannot be read.

    Whether the numbers make sense is for whoever puts the fragments together.
    """
    found = _FRAGMENT.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else (1, 1)


def number_of(text: str) -> int:
    """A count such as the call depth or a version; 0 where it cannot be read."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
