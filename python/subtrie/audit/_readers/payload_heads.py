"""The heads of payloads: message id, op code and status of Microbus messages, in logs and captures.

Of each payload of a publish these three are read, from the first lines of its HTTP message, and
nothing else of it is kept. A server that cuts payloads (max_traced_msg_len) may cut them off in
its log; a capture has all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..._core.control_headers import MSG_ID, OP_CODE
from ...wire.log import read_prefix
from .capture_events import capture_payloads
from .log_files import input_kind, shown_path
from .log_reader import LogRange, log_blocks
from .text_encoding import escape_surrogates

#: The bytes of a log, with the position and the path of their file.
Blocks = Iterable[tuple[tuple[int, str], bytes]]
#: A row is a publish; ``server`` and ``position`` are those of its event.
HEADS: tuple[tuple[str, str], ...] = (
    ("server", "string"),
    ("position", "bigint"),
    ("message_id", "string"),
    ("op_code", "string"),
    ("status", "int"),
)
#: Bytes of a line that are read: longer heads belong to no connector.
_LONGEST = 65_536
#: How many bytes after the end of a range the payload of its last publishes is looked for.
_BEYOND = 8 * 1024 * 1024
_PUBLISH = ("<<- [PUB ", "<<- [HPUB ")
_PAYLOAD = '<<- MSG_PAYLOAD: ["'
#: The end of the head as nats-server quotes it.
_END = r"\r\n\r\n"
_STATUS = re.compile(r"HTTP/1\.[01] ([1-5]\d\d)(?: |\\r\\n)")


def _header(name: str) -> re.Pattern[str]:
    return re.compile(rf"\\r\\n{re.escape(name)}: *([A-Za-z0-9_-]{{1,64}}) *(?=\\r\\n)", re.I)


_ID, _OP = _header(MSG_ID), _header(OP_CODE)


def check_logs(paths: Sequence[str]) -> None:
    """Refuse inputs without payloads.

    Raises:
        OSError: An input cannot be read.
        ValueError: An input is a snapshot.
    """
    for path in paths:
        if input_kind(path) == "snapshot":
            raise ValueError(
                f"{shown_path(path)}: payload heads are read from trace logs and captures, "
                "not from snapshots"
            )


def heads_in(part: LogRange, blocks: Blocks | None = None) -> Iterator[dict[str, Any]]:
    """Yield the heads of the publishes whose lines are in a range of a log.

    The payload of the last ones may come after the end of the range.

    Args:
        part: The range.
        blocks: The bytes from its start on; by default those of its files.
    """
    waiting: dict[tuple[str | None, int | None], int] = {}
    for position, raw in _lines(part.start, log_blocks(part) if blocks is None else blocks):
        inside = part.end is None or position < part.end
        if not inside and (not waiting or position - (part.end or 0) > _BEYOND):
            return
        if b"<<- " not in raw:
            continue
        text = raw[:_LONGEST].decode("utf-8", "backslashreplace")
        prefix = read_prefix(text)
        if prefix is None:
            continue
        (_, _, _, _, kind, number, *_), rest = prefix
        if rest.startswith(_PUBLISH):
            waiting.pop((kind, number), None)
            if inside and not rest.endswith(" 0]"):
                waiting[kind, number] = position
        elif rest.startswith(_PAYLOAD):
            at = waiting.pop((kind, number), None)
            found = None if at is None else _head(rest[len(_PAYLOAD) :])
            if found is not None:
                yield {"server": part.server, "position": at, **found}


def heads_of_capture(path: str, number: int) -> Iterator[dict[str, Any]]:
    """Yield the heads of the publishes in a capture.

    Args:
        path: The capture.
        number: Its number among the captures of a run.
    """
    for server, position, payload in capture_payloads(path, number):
        text = payload[:_LONGEST].decode("latin-1")
        found = _head(text.replace("\\", r"\\").replace("\r\n", r"\r\n"))
        if found is not None:
            yield {"server": escape_surrogates(server), "position": position, **found}


def _head(quoted: str) -> dict[str, Any] | None:
    """Return what is read of a payload; None if it is not that of a Microbus message."""
    head, end, _ = quoted.partition(_END)
    # In a payload that was cut before the end of its head, the last line may be a part of one.
    lines = head + (r"\r\n" if end else "")
    op, message = _OP.search(lines), _ID.search(lines)
    if op is None or message is None:
        return None
    status = _STATUS.match(lines)
    return {
        "message_id": message[1],
        "op_code": op[1],
        "status": None if status is None else int(status[1]),
    }


def _lines(position: int, blocks: Blocks) -> Iterator[tuple[int, bytes]]:
    """Yield each line from a position on, with its position in the whole log."""
    rest = b""
    for _, block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            yield position, line
            position += len(line) + 1
    if rest:
        yield position, rest
