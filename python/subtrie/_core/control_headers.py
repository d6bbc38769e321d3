"""The control headers of Microbus messages, and the text forms of their values.

A duration is written as in Go (``19.999s``, ``5ms``, ``15m0s``); a bare number means milliseconds.
A fragment is ``2/3``. A value that cannot be parsed counts as absent, as in Go.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .duration import format_duration, parse_duration

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

DEFAULT_BUDGET = 20.0  # seconds, of a request without a time budget
MAX_BUDGET = 900.0  # seconds

#: Headers that the connector sets and a caller cannot.
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

_LONGEST_DURATION = 64  # characters; bounds the memory of the cache
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_FRAGMENT = re.compile(r"([+-]?\d{1,18})/([+-]?\d{1,18})", re.ASCII)


@lru_cache(maxsize=256)
def duration(seconds: float) -> str:
    """Return the text of a duration to the nanosecond: ``20s``, ``500ms``, ``1m30s``, ``1.5µs``."""
    return format_duration(max(round(seconds * 1e9), 0))


def nanoseconds_of(text: str) -> int:
    """Return the nanoseconds of a duration; 0 if it is absent, negative, unreadable or long."""
    return _nanoseconds_of(text) if len(text) <= _LONGEST_DURATION else 0


@lru_cache(maxsize=256)
def _nanoseconds_of(text: str) -> int:
    if _WHOLE.fullmatch(text):
        return max(int(text), 0) * 1_000_000
    return max(parse_duration(text) or 0, 0)


def seconds_of(text: str) -> float:
    """Return the seconds of a duration; 0 if it is absent, negative or unreadable."""
    return nanoseconds_of(text) / 1e9


def fragment_of(text: str) -> tuple[int, int]:
    """Return ``(2, 3)`` for ``2/3``; ``(1, 1)`` for a whole message or an unreadable text.

    Whether the numbers make sense is checked when the fragments are reassembled.
    """
    found = _FRAGMENT.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else (1, 1)


def number_of(text: str) -> int:
    """Return a count such as the call depth or a version; 0 if it cannot be parsed."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
