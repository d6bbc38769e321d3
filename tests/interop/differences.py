"""Comparison of recorded and published bytes, except for fields that no two runs share."""

from __future__ import annotations

import re

from subtrie._core.control_headers import seconds_of
from tests.interop.wire import Recorded

_LESS = 8.0  # seconds by which a nested budget may be below the recorded one


def difference(recorded: Recorded, ours: bytes) -> str:
    """Return the first difference outside masked fields; empty if there is none."""
    theirs_masked, ours_masked = _masked(recorded.payload), _masked(ours)
    if theirs_masked == ours_masked:
        return _budgets(recorded.payload, ours)
    for theirs_line, our_line in zip(
        theirs_masked.split(b"\r\n"), ours_masked.split(b"\r\n"), strict=False
    ):
        if theirs_line != our_line:
            return f"{our_line[:200]!r} instead of {theirs_line[:200]!r}"
    return f"{len(ours_masked)} bytes instead of {len(theirs_masked)}"


def field(payload: bytes, name: str) -> str:
    """Return a control header of a payload."""
    head = payload.partition(b"\r\n\r\n")[0].decode("latin-1")
    found = re.search(rf"^Microbus-{name}: (.*?)\r?$", head, re.M)
    return found[1] if found else ""


def _masked(payload: bytes) -> bytes:
    head, _, body = payload.partition(b"\r\n\r\n")
    head = re.sub(rb"\r\nTraceparent: [^\r]*", b"", head)
    if field(payload, "Call-Depth") not in ("", "1"):
        head = re.sub(rb"(\r\nMicrobus-Time-Budget: )[^\r]*", rb"\1*", head)
    if field(payload, "Op-Code") == "Err":
        body = re.sub(rb',\s*"trace": ?"[0-9a-f]{32}"', b"", body)  # absent without tracing
        body = re.sub(rb'\n *"stack": \[.*?\n *\],', b"", body, flags=re.DOTALL)
        body = re.sub(rb'"stack":\[.*?\],', b"", body, flags=re.DOTALL)
        head = re.sub(rb"\r\nContent-Length: \d+", b"\r\nContent-Length: *", head)
    return head + b"\r\n\r\n" + body


def _budgets(theirs: bytes, ours: bytes) -> str:
    left, right = (seconds_of(field(each, "Time-Budget")) for each in (theirs, ours))
    # A nested budget is what the outer one left: never more, and not much less on a slow machine.
    bounds = left - _LESS < right <= max(left, round(left + 0.1, 6))
    return "" if bounds else f"budget {right}, not {left}"
