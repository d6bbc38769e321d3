"""The control headers of the bus: their names, and the texts their values have.

A duration is written as Go writes one (``19.999s``, ``5ms``, ``15m0s``), a bare number is
milliseconds; a fragment is ``2/3``. What cannot be read counts as absent, as in Go.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ._nats.duration import format_duration, parse_duration

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

_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_FRAGMENT = re.compile(r"([+-]?\d{1,18})/([+-]?\d{1,18})", re.ASCII)


@lru_cache(maxsize=256)
def duration(seconds: float) -> str:
    """The text of a duration, to the nanosecond: ``20s``, ``500ms``, ``1m30s``, ``1.5µs``."""
    return format_duration(max(round(seconds * 1e9), 0))


@lru_cache(maxsize=256)
def nanoseconds_of(text: str) -> int:
    """The nanoseconds of a duration; 0 where there is none, or it is negative or unreadable."""
    if _WHOLE.fullmatch(text):
        return max(int(text), 0) * 1_000_000
    return max(parse_duration(text) or 0, 0)


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
