"""What a line of the trace log says, as the operation it was on the wire.

The log prints the line of an operation and, on the next line, its payload, cut or not at all. So an
operation from the log has every part but the payload and what would be read from it.
"""

from __future__ import annotations

import re
from typing import Any

from .. import _engine
from .._errors import WireError, wire_error
from .log import LogRecord

#: The connection whose grammar a traced line follows.
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
#: A size as the broker itself would print it.
_SIZE = re.compile(r"[0-9]{1,18}\Z")
_FROM_PAYLOAD = ("payload_b64", "status", "description", "headers")


def operation(record: LogRecord, *, lnocu: bool = True) -> dict[str, Any] | None:
    """The operation in the form of ``Op.as_dict()``, without what only a payload tells.

    None for a sentence, a payload line, and what the broker does by itself (``DELSUB``,
    ``MAPPING``). Raises ``WireError`` for a line that is no operation. Cost: a few microseconds.
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
    # The sizes are the last arguments; the parts are read with a payload of nothing in its place.
    most = 2 if name in ("HPUB", "HMSG") or (name == "LMSG" and conn == "route") else 1
    sizes = words[-most:]
    for place, text in enumerate(sizes, len(words) - len(sizes)):
        if not _SIZE.match(text):
            raise _refused("bad size", len(" ".join((name, *words[:place], ""))))
        words[place] = "0"
    row = _read(conn, name, words, lnocu)
    for key in _FROM_PAYLOAD:
        row.pop(key, None)
    row["size"] = int(sizes[-1])
    if most == 2:
        row["header_size"] = int(sizes[0])
    return row


def _read(conn: str, name: str, words: list[str], lnocu: bool) -> dict[str, Any]:
    line = " ".join((name, *words)).encode("utf-8", "surrogateescape") + b"\r\n"
    parser = _engine.Parser(conn, max_control_line=1 << 31, max_payload=None, lnocu=lnocu)
    found = parser.feed(line + b"\r\n" if name in _WITH_PAYLOAD else line)
    if len(found) != 1:  # a name that the broker never prints, such as "pub"
        raise _refused("unknown op", 0)
    row: dict[str, Any] = found[0].as_dict()
    return row


def _refused(reason: str, position: int) -> WireError:
    return wire_error(reason, reason, position, 0, "arguments", [])
