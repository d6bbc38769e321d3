"""Kinds about the protocol: operations, whether the last one is complete, and errors.

A row is parsed in its own chunks, in one chunk and byte by byte, with the same result. The
operations must cover every byte, and the canonical form of each must be parsed as the same
operation.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from typing import Any

from .._core.errors import WireError
from ..wire import log
from ._kind import Kind, Row

_CONNECTIONS = ("client", "server_to_client", "route", "leaf", "route_legacy")


def _options(row: Row) -> dict[str, Any]:
    """Return the options of the parser; a row without a limit was recorded without one."""
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
        _agree("the result for other chunks", again, answer)
    read = b"".join(operation.raw for operation in operations)
    _agree("the operations cover every byte", stream.startswith(read), True)
    _agree("the number of bytes of the operations", parser.offset, len(read))
    for operation in operations:
        written = bytes(operation)
        more, back, _ = _fed(engine, row, [written])
        _agree("the operations in the canonical form", len(back), 1)
        _agree("the canonical form is equal", back[0] == operation, True)
        _agree("the attributes of the canonical form", more["ops"][0], operation.as_dict())
        _agree("the canonical form of the canonical form", bytes(back[0]), written)
    return answer


def _agree(promise: str, got: Any, wanted: Any) -> None:
    if got != wanted:
        raise AssertionError(f"{promise}: {got!r} is not {wanted!r}")


class _Recorded(Kind):
    """A kind whose answer may contain an error after operations."""

    __slots__ = ()

    def wanted(self, row: Row) -> Any:
        return row["ours"] if "ours" in row else row[self.expected]


class _Wire(_Recorded):
    __slots__ = ()

    def judge(self, wanted: Any, got: Any) -> bool:
        """Return whether the answer is the expected one.

        A complete row without operations and without an error does not specify the operations,
        since implementations disagree on whether to accept them.
        """
        if isinstance(wanted, dict) and isinstance(got, dict) and not wanted["ops"]:
            open_ended = wanted["complete"] and wanted["error"] is None
            if open_ended and got["complete"] and got["error"] is None:
                return True
        return super().judge(wanted, got)


def _trace_log(engine: Any, row: Row) -> dict[str, Any]:
    """Parse lines of a trace log, which does not depend on the engine."""
    del engine
    lines = b"".join(map(b64decode, row["chunks_b64"])).decode("utf-8", "surrogateescape")
    records = [log.parse_line(line) for line in lines.splitlines()]
    read = [record.as_dict() for record in records if record is not None]
    return {"ops": read, "complete": len(read) == len(records), "error": None}


#: Kinds by the value of ``conn``.
CONNS: dict[str, Kind] = {
    **{name: _Wire(_wire, "expect") for name in _CONNECTIONS},
    "trace_log": _Recorded(_trace_log, "expect"),
}
