"""An incremental parser of the NATS protocol.

It parses the name of an operation, the line, its arguments and the payload, in this order. The
first byte that violates the protocol is reported, however the stream is split into chunks.
"""

# S1-001 to S1-012, S4-001 to S4-107

from __future__ import annotations

from typing import Any, Self

from ..._core.errors import WireError, wire_error
from .._grammar import bound, bounds
from .line import Limits, LineError, read_line
from .op import PAYLOADS, Op

_BOTH = ("INFO", "PING", "PONG", "+OK", "-ERR")
_SERVERS = (*_BOTH, "CONNECT", "PUB", "HPUB", "HMSG", "LS+", "LS-", "LMSG", "A+", "A-")

#: The operations of each kind of connection. As in nats-server, HMSG of a client is an error only
#: after its line is complete, and ``Au`` is read as ``A-``.
NAMES: dict[str, tuple[str, ...]] = {
    "client": (*_BOTH, "CONNECT", "PUB", "HPUB", "SUB", "UNSUB", "HMSG"),
    "server_to_client": (*_BOTH, "MSG", "HMSG"),
    "route": (*_SERVERS, "RS+", "RS-", "RMSG"),
    "leaf": _SERVERS,
    "route_legacy": (*_BOTH, "CONNECT", "PUB", "SUB", "UNSUB", "MSG"),
}
_BARE = ("PING", "PONG", "+OK")
_JSON = ("INFO", "CONNECT")
# On these connections every error but a limit is reported as "parse", as the documents say.
_REPORTS_PARSE = ("server_to_client", "route_legacy")
_LIMITS = ("max control line", "max payload")
_NO_GATEWAY = "; the gateway protocol, between clusters, is not covered"
_MAX_PAYLOAD = 999_999_999  # nine digits


class Parser:
    """An incremental parser of one direction of a NATS connection, without input or output."""

    _conn: str
    _dialect: str
    _pinned: str | None
    _limits: Limits
    _held: bytearray
    _wanted: int
    _offset: int
    _fault: tuple[Any, ...] | None

    def __new__(
        cls,
        conn: str,
        *,
        dialect: str = "server",
        max_control_line: int = 4096,
        max_payload: int | None = 1048576,
        pinned_account: str | None = None,
        lnocu: bool = False,
    ) -> Self:
        if not isinstance(conn, str):
            raise TypeError(f"conn must be str, not {type(conn).__name__}")
        if conn not in NAMES:
            raise ValueError(
                "conn must be 'client', 'server_to_client', 'route', 'leaf' or 'route_legacy', "
                f"not {conn!r}{_NO_GATEWAY if conn == 'gateway' else ''}"
            )
        bounds(dialect, None, None)  # refuses an unknown dialect
        most_line = bound("max_control_line", max_control_line)
        most_payload = bound("max_payload", max_payload)
        if pinned_account is not None and not isinstance(pinned_account, str):
            raise TypeError(f"pinned_account must be str, not {type(pinned_account).__name__}")
        if not isinstance(lnocu, bool):
            raise TypeError(f"lnocu must be bool, not {type(lnocu).__name__}")
        self = super().__new__(cls)
        self._conn, self._dialect = conn, dialect
        self._pinned = pinned_account or None
        self._limits = Limits(
            strict=dialect == "strict",
            # nats-server allows sixteen times as much between servers.
            line=(most_line or 4096) * (1 if conn == "client" else 16),
            payload=_MAX_PAYLOAD if most_payload is None else most_payload,
            pinned=self._pinned is not None,
            lnocu=lnocu,
        )
        self._held = bytearray()
        self._wanted = 0  # parse again only after so many bytes
        self._offset = 0
        self._fault = None
        return self

    def limit_payload(self, most: int) -> None:
        """Refuse payloads of more bytes in the lines that are parsed from now on."""
        self._limits = self._limits._replace(payload=most)

    @property
    def conn(self) -> str:
        """The kind of connection."""
        return self._conn

    @property
    def dialect(self) -> str:
        """``server`` or ``strict``."""
        return self._dialect

    @property
    def complete(self) -> bool:
        """Whether the parser is between two operations and has met no error."""
        return self._fault is None and not self._held

    @property
    def offset(self) -> int:
        """The number of bytes of the stream that belong to completed operations."""
        return self._offset

    @property
    def held(self) -> int:
        """The number of buffered bytes of an incomplete operation."""
        return len(self._held)

    def feed(self, data: bytes) -> list[Op]:
        """Feed bytes; return the operations they complete."""
        if not isinstance(data, bytes):
            try:
                data = memoryview(data).tobytes()
            except TypeError:
                raise TypeError(f"data must be bytes, not {type(data).__name__}") from None
        operations: list[Op] = []
        if self._fault is not None:
            raise self._refused(operations)
        self._held += data
        if len(self._held) < self._wanted:
            return operations
        stream = bytes(self._held)
        at = 0
        while at < len(stream):
            try:
                found = self._operation(stream, at)
            except LineError as error:
                place = self._offset + error.position
                self._fault = (error.reason, place, self._offset, error.stage)
                self._held.clear()
                raise self._refused(operations) from None
            if found is None:
                break
            operations.append(found)
            at += len(found.raw)
            self._offset += len(found.raw)
            self._wanted = 0
        del self._held[:at]
        return operations

    def _refused(self, operations: list[Op]) -> WireError:
        assert self._fault is not None
        cause, position, resume, stage = self._fault
        reason = cause
        if self._conn in _REPORTS_PARSE and cause not in _LIMITS:
            reason = "parse"
        return wire_error(reason, cause, position, resume, stage, operations)

    def _operation(self, stream: bytes, at: int) -> Op | None:
        """Return the operation at an offset, or None if it is incomplete."""
        name, start = self._name(stream, at)
        if name is None or start is None:
            return None
        if name == "UNKNOWN" or name in _BARE:
            return self._line_alone(stream, at, name, start)
        start = self._arguments(stream, at, name, start)
        if start is None:
            return None
        # nats-server does not examine the first byte of the arguments.
        skip = 0 if self._limits.strict else 1
        ends = self._line_end(stream, at, start, skip, "arguments")
        if ends is None:
            return None
        end, after = ends
        if self._conn == "client" and name == "HMSG":
            # nats-server ignores this line and expects CR LF after it.
            raise LineError("payload terminator", after - at, "payload")
        try:
            parts = read_line(self._conn, name, stream[start:end], self._limits)
        except LineError as error:
            # Offsets of arguments count from the first argument, others from the operation.
            place = 0 if error.position < 0 else start - at + error.position
            raise LineError(error.reason, place, "arguments") from None
        if name not in PAYLOADS:
            return self._made(name, stream[at:after], parts)
        return self._with_payload(stream, at, after, name, parts)

    def _with_payload(
        self, stream: bytes, at: int, after: int, name: str, parts: dict[str, Any]
    ) -> Op | None:
        """Return the operation with its payload, or None if it is incomplete."""  # S1-012
        end = after + parts["size"]
        for offset, byte in enumerate(b"\r\n"):
            if end + offset >= len(stream):
                self._wanted = end - at + offset + 1
                return None
            if stream[end + offset] != byte:
                raise LineError("payload terminator", end + offset - at, "payload")
        raw = stream[at : end + 2]
        payload = memoryview(raw)[after - at : end - at]
        return self._made(name, raw, parts, payload)

    def _made(
        self, name: str, raw: bytes, parts: dict[str, Any], payload: memoryview | None = None
    ) -> Op:
        return Op._of(
            self._conn,
            name,
            raw,
            parts,
            _payload=payload,
            _pinned=self._pinned,
            _lnocu=self._limits.lnocu,
            offset=self._offset,
        )

    def _name(self, stream: bytes, at: int) -> tuple[str | None, int | None]:
        """Return the name at an offset and its end; two None if it is incomplete."""  # S4-012
        names = NAMES[self._conn]
        for end in range(at + 1, len(stream) + 1):
            read = stream[at:end].decode("latin-1")
            folded = read.upper() if read.isascii() else read
            if "A-" in names and folded == "AU" and read[1] == "u":
                return "A-", end
            if folded in names:
                return folded, end
            if any(name.startswith(folded) for name in names):
                continue
            letter = read[0].isascii() and (read[0].isalpha() or read[0] in "+-")
            if self._conn == "route_legacy" and letter:
                return "UNKNOWN", at  # A63
            raise LineError("unknown op", end - 1 - at, "name")
        return None, None

    def _arguments(self, stream: bytes, at: int, name: str, start: int) -> int | None:
        """Return the offset of the arguments, after whitespace, or None."""  # S1-009, S1-010
        strict = self._limits.strict
        if strict or name not in _JSON or self._conn == "server_to_client":
            if start == len(stream):
                return None
            if stream[start] not in b" \t":
                raise LineError("no delimiter", start - at, "name")
        for place in range(start, len(stream)):
            if stream[place] not in b" \t":
                return place
            if place - start > self._limits.line:
                raise LineError("max control line", place - at, "arguments")
        return None

    def _line_end(
        self, stream: bytes, at: int, start: int, skip: int, stage: str
    ) -> tuple[int, int] | None:
        """Return the end of the text of a line and the end of the line, or None.

        nats-server ends a line at LF and, if there is a CR anywhere before it, drops the last byte.
        In ``strict`` only CR LF ends a line.
        """
        # S1-011
        first = start + skip
        if self._limits.strict:
            places = [stream.find(end, first) for end in (b"\r", b"\n")]
            end = min((place for place in places if place >= 0), default=len(stream))
            after = end + 2 if end + 1 < len(stream) else None
        else:
            found = stream.find(b"\n", first)
            line = len(stream) if found < 0 else found
            end = line - (b"\r" in stream[first:line])
            after = None if found < 0 else line + 1
        if end - start > self._limits.line:
            raise LineError("max control line", start + self._limits.line - at, stage)
        if self._limits.strict:
            for offset, wanted in enumerate(b"\r\n"):
                if end + offset < len(stream) and stream[end + offset] != wanted:
                    raise LineError("line end", end + offset - at, stage)
        return None if after is None else (end, after)

    def _line_alone(self, stream: bytes, at: int, name: str, start: int) -> Op | None:
        """Return an operation without arguments, or an unknown line of a legacy route."""
        ends = self._line_end(stream, at, start, 0, "name")
        if ends is None:
            return None
        end, after = ends
        text = stream[start:end]
        if name == "UNKNOWN":
            word = text.replace(b"\t", b" ").split(b" ", 1)[0].upper()
            if word in (b"HPUB", b"HMSG", b"RMSG", b"LMSG"):
                raise LineError("unknown op", 0, "name")  # its payload is not a line
            return self._made(name, stream[at:after], {"message": text})
        if self._limits.strict:
            for place, byte in enumerate(text, start):
                if byte not in b" \t":
                    raise LineError("no delimiter", place - at, "name")
        return self._made(name, stream[at:after], {})
