"""Kinds about bytes on the wire: which operations, is the last one whole, what is wrong?

A row is fed in its own pieces, then in one, then byte by byte: three ways, one answer. Whatever was
read must account for every byte, and must read back from its canonical form as the same operation.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from typing import Any

from .._errors import WireError
from ..wire import log
from ._kind import Kind, Row

_CONNECTIONS = ("client", "server_to_client", "route", "leaf", "route_legacy")


def _options(row: Row) -> dict[str, Any]:
    """A row that names no limit was recorded without one."""
    given = row.get("opts") or {}
    return {
        "max_payload": given.get("max_payload"),
        "max_control_line": given.get("mcl", 4096),
        "pinned_account": given.get("pinned_account"),
        "lnocu": given.get("lnocu", False),
    }


def _fed(engine: Any, row: Row, pieces: Iterable[bytes]) -> tuple[dict[str, Any], list[Any], Any]:
    parser = engine.Parser(row["conn"], **_options(row))
    operations: list[Any] = []
    error = None
    for piece in pieces:
        try:
            operations += parser.feed(piece)
        except WireError as caught:
            operations += caught.operations
            error = caught.reason
            break
    answer = {
        "ops": [operation.as_dict() for operation in operations],
        "complete": parser.complete,
        "error": error,
    }
    return answer, operations, parser


def _wire(engine: Any, row: Row) -> dict[str, Any]:
    chunks = [b64decode(chunk) for chunk in row["chunks_b64"]]
    stream = b"".join(chunks)
    answer, operations, parser = _fed(engine, row, chunks)
    for pieces in ([stream], [stream[at : at + 1] for at in range(len(stream))]):
        again, _, _ = _fed(engine, row, pieces)
        _agree("the pieces do not matter", again, answer)
    read = b"".join(operation.raw for operation in operations)
    _agree("every byte is accounted for", stream.startswith(read), True)
    _agree("bytes that operations account for", parser.offset, len(read))
    for operation in operations:
        written = bytes(operation)
        more, back, _ = _fed(engine, row, [written])
        _agree("the canonical form is one operation", len(back), 1)
        _agree("the canonical form is the same operation", back[0] == operation, True)
        _agree("the canonical form says the same", more["ops"][0], operation.as_dict())
        _agree("the canonical form is the only one", bytes(back[0]), written)
    return answer


def _agree(promise: str, got: Any, wanted: Any) -> None:
    if got != wanted:
        raise AssertionError(f"{promise}: {got!r} is not {wanted!r}")


class _Recorded(Kind):
    """An error is part of the answer here: operations may stand before it."""

    __slots__ = ()

    def wanted(self, row: Row) -> Any:
        return row["ours"] if "ours" in row else row[self.expected]


class _Wire(_Recorded):
    __slots__ = ()

    def judge(self, wanted: Any, got: Any) -> bool:
        """A row may leave its operations open where implementations disagree on whether to take
        them at all: bytes, no operation, and still complete and without error."""
        if isinstance(wanted, dict) and isinstance(got, dict) and not wanted["ops"]:
            open_ended = wanted["complete"] and wanted["error"] is None
            if open_ended and got["complete"] and got["error"] is None:
                return True
        return super().judge(wanted, got)


def _trace_log(engine: Any, row: Row) -> dict[str, Any]:
    """The broker's log says it line by line; no engine has a part in reading it."""
    del engine
    lines = b"".join(map(b64decode, row["chunks_b64"])).decode("utf-8", "surrogateescape")
    records = [log.parse_line(line) for line in lines.splitlines()]
    read = [record.as_dict() for record in records if record is not None]
    return {"ops": read, "complete": len(read) == len(records), "error": None}


#: Rows that name themselves by ``conn``.
CONNS: dict[str, Kind] = {
    **{name: _Wire(_wire, "expect") for name in _CONNECTIONS},
    "trace_log": _Recorded(_trace_log, "expect"),
}
