"""What an index takes beside patterns: names of queues (A39)."""

from __future__ import annotations

import re

from ..errors import refusal
from .grammar import encoded

# The blanks that would end a queue name on the wire, and those a reader takes for blanks.
_BLANK = re.compile(r"[ \t\r\n\x0b\x0c]")


def check_queue(name: str) -> None:
    """Raises ``InvalidName`` unless the name can be a queue's: not empty, no blank, no wildcard
    token (A39)."""
    encoded(name, "InvalidName", "queue", "queue")
    if not name:
        raise refusal("InvalidName", "queue-empty", name, 0, "queue")
    start = 0
    for token in name.split("."):
        if blank := _BLANK.search(token):
            place = start + len(token[: blank.start()].encode())
            raise refusal("InvalidName", "queue-whitespace", name, place, "queue")
        if token in ("*", ">"):
            raise refusal("InvalidName", "queue-wildcard", name, start, "queue")
        start += len(token.encode()) + 1
