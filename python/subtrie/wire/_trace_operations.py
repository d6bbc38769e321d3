"""Convert a line of the trace log to the operation that it shows.

The log prints the control line of an operation and, on the next line, its payload, which may be
truncated or absent. So an operation from the log lacks the payload and everything parsed from it.
"""

from __future__ import annotations

import re
from typing import Any

from .._core import engine
from .._core.errors import WireError, wire_error
from .log import LogRecord

#: The connection whose grammar a log line follows.
_CONNS = {
    ("client", "in"): "client",
    ("websocket", "in"): "client",
    ("client", "out"): "server_to_client",
    ("websocket", "out"): "server_to_client",
    ("route", "in"): "route",
    ("route", "out"): "route",
    ("leaf", "in"): "leaf",
    ("leaf", "out"): "leaf",
}
_NAMES = {"OK": "+OK"}
_WITH_PAYLOAD = frozenset({"PUB", "HPUB", "MSG", "HMSG", "RMSG", "LMSG"})
#: A size as the broker prints it.
_SIZE = re.compile(r"[0-9]{1,18}\Z")
_FROM_PAYLOAD = ("payload_b64", "status", "description", "headers")


def log_operation(record: LogRecord, *, lnocu: bool = True) -> dict[str, Any] | None:
    """Return the operation of a log record, in the form of ``Op.as_dict()`` without the payload.

    Cost: a few microseconds.

    Args:
        record: A line of the trace log.
        lnocu: Whether the peer of a route announced the option ``lnocu``.

    Returns:
        The operation; None for a message, a payload line, and the internal operations of the broker
        (``DELSUB``, ``MAPPING``).

    Raises:
        WireError: The line is not an operation.
    """
    conn = _CONNS.get((record.kind or "", record.direction or ""))
    if conn is None or record.op is None or record.op in ("MSG_PAYLOAD", "MAPPING"):
        return None
    name = _NAMES.get(record.op, record.op)
    words = list(record.args)
    if name not in _WITH_PAYLOAD:
        return _read(conn, name, words, lnocu)
    if not words:
        return None
    # The sizes are the last arguments; the parser is given 0 for them, and an empty payload.
    size_count = 2 if name in ("HPUB", "HMSG") or (name == "LMSG" and conn == "route") else 1
    sizes = words[-size_count:]
    for index, text in enumerate(sizes, len(words) - len(sizes)):
        if not _SIZE.match(text):
            reason = "bad size" if index == len(words) - 1 else "bad header size"
            raise _refused(reason, len(" ".join((name, *words[:index], ""))))
        words[index] = "0"
    row = _read(conn, name, words, lnocu)
    for key in _FROM_PAYLOAD:
        row.pop(key, None)
    row["size"] = int(sizes[-1])
    if size_count == 2:
        row["header_size"] = int(sizes[0])
    return row


def _read(conn: str, name: str, words: list[str], lnocu: bool) -> dict[str, Any]:
    """Parse a control line with an empty payload."""
    line = " ".join((name, *words)).encode("utf-8", "surrogateescape") + b"\r\n"
    parser = engine.Parser(conn, max_control_line=1 << 31, max_payload=None, lnocu=lnocu)
    found = parser.feed(line + b"\r\n" if name in _WITH_PAYLOAD else line)
    if len(found) != 1:  # a name that the broker does not print, such as "pub"
        raise _refused("unknown op", 0)
    row: dict[str, Any] = found[0].as_dict()
    return row


def _refused(reason: str, position: int) -> WireError:
    """Return the error of a line that is not an operation."""
    return wire_error(reason, reason, position, 0, "arguments", [])
