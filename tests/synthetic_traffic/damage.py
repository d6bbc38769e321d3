"""Lines that cannot be parsed: half a line, junk, lines of other programs.

Each comes with the reason that the audit gives. A damaged line takes no part in anything else; a
time far in the future on such a line must not end the window of a publish.
"""

from __future__ import annotations

from .split_mix import SplitMix64
from .trace_log import SECOND, TraceLog

NOT_NATS = "not a nats-server line"
HALF = "incomplete line"
ARGUMENTS = "wrong number of arguments"
SIZE = "size is not a number"
NOT_AN_OPERATION = "not an operation"
TIME = "bad time"


def draw_damage(dice: SplitMix64, log: TraceLog) -> tuple[bytes, str]:
    """Return a damaged line and the reason."""
    front = f"{log.front()} [TRC] 127.0.0.1:40009 - cid:9 - "
    tomorrow = (
        f"[{log.pid}] {log.stamp(log.clock + 86_400 * SECOND)} [TRC] 127.0.0.1:40009 - cid:9 - "
    )
    made: tuple[tuple[str | bytes, str], ...] = (
        ("", NOT_NATS),
        (b"\x00\x01\xfe\xff" * (1 + dice.below(30)), NOT_NATS),
        ('127.0.0.1 - - [22/Nov/2026] "GET / HTTP/1.1" 200 5', NOT_NATS),
        (front + '"v1.52.0:go" - <<- [PUB prod.safe.443.a_shop.b_sh', HALF),
        (front + '"v1.52.0:go" - <<- MSG_PAYLOAD: ["half of a payl', HALF),
        (tomorrow + '"v1.52.0:go" - <<- [PUB prod.safe.443.a_sh', HALF),
        (front + '"v1.52.0:go" - <<- [PUB 7]', ARGUMENTS),
        (front + '"v1.52.0:go" - ->> [MSG prod.x 1 2 3 4 5]', ARGUMENTS),
        (front + '"v1.52.0:go" - <<- [PUB prod.x five]', SIZE),
        (front + '"v1.52.0:go" - <<- []', NOT_AN_OPERATION),
        (f"[{log.pid}] 2026/13/21 08:00:00.000001 [TRC] 127.0.0.1:1 - cid:9 - <<- [PING]", TIME),
    )
    text, reason = dice.choice(made)
    return text if isinstance(text, bytes) else text.encode(), reason


def halve(line: str) -> tuple[bytes, str]:
    """Return the beginning of a line of an operation, without its last bytes."""
    return line[: len(line) - 4].encode(), HALF
