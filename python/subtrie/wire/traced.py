"""What a line of the trace log says, as the operation it was on the wire.

The log prints the line of an operation and, on the next line, its payload, cut or not at all. So an
operation from the log has every part but the payload and what would be read from it.
"""

from __future__ import annotations

from typing import Any

from .. import _engine
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
    line = " ".join((name, *record.args)).encode("utf-8", "surrogateescape") + b"\r\n"
    parser = _engine.active.Parser(conn, max_control_line=1 << 31, max_payload=None, lnocu=lnocu)
    if name not in _WITH_PAYLOAD:
        (found,) = parser.feed(line)
        whole: dict[str, Any] = found.as_dict()
        return whole
    # The size is the last argument; the parts are read with a payload of nothing in its place.
    words = list(record.args)
    if not words:
        return None
    size = words[-1]
    sizes = 2 if name in ("HPUB", "HMSG") or (name == "LMSG" and conn == "route") else 1
    words[-sizes:] = ["0"] * sizes
    line = " ".join((name, *words)).encode("utf-8", "surrogateescape") + b"\r\n\r\n"
    (found,) = parser.feed(line)
    row: dict[str, Any] = found.as_dict()
    for key in _FROM_PAYLOAD:
        row.pop(key, None)
    row["size"] = int(size)
    if sizes == 2:
        row["header_size"] = int(record.args[-2])
    return row
