"""An operation of the protocol: its bytes, its parts and its canonical form."""

from __future__ import annotations

import re
from typing import Any, Self

from ..._core import op_serialization as form

PAYLOADS = frozenset({"PUB", "HPUB", "MSG", "HMSG", "RMSG", "LMSG"})

# A55, A61: digits, then the id of the client, which may be any text. Longer numbers are not ids.
_RSID = re.compile(rb"(Q?)RSID:([0-9]{1,18}):(.+)\Z", re.DOTALL)

Rsid = tuple[bool, int, bytes]


def rsid_of(text: bytes) -> Rsid | None:
    """Return the parts of ``RSID:<cid>:<sid>`` or ``QRSID:<cid>:<sid>``, or None."""
    found = _RSID.match(text)
    return None if found is None else (found[1] == b"Q", int(found[2]), found[3])


def decoded(text: bytes | None) -> str | None:
    """Return the text of bytes; invalid UTF-8 becomes lone surrogates."""
    return None if text is None else text.decode("utf-8", "surrogateescape")


class Op:
    """One operation of the protocol; an attribute that it does not have is None."""

    __slots__ = ("_lnocu", "_parts", "_payload", "_pinned", "_raw", "conn", "offset", "op")
    conn: str
    op: str
    offset: int
    _lnocu: bool
    _parts: dict[str, Any]
    _payload: memoryview | None
    _pinned: str | None
    _raw: bytes

    @classmethod
    def _of(cls, conn: str, op: str, raw: bytes, parts: dict[str, Any], **more: Any) -> Self:
        """Return an operation that a parser has read."""
        self = object.__new__(cls)
        fields = {"conn": conn, "op": op, "_raw": raw, "_parts": parts, **more}
        for name in cls.__slots__:
            object.__setattr__(self, name, fields.get(name))
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an operation is immutable: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an operation is immutable: {name}")

    def _text(self, name: str) -> str | None:
        return decoded(self._parts.get(name))

    @property
    def account(self) -> str | None:
        if self._pinned and self.conn == "route" and "subject" in self._parts:
            return self._pinned
        return self._text("account")

    @property
    def origin(self) -> str | None:
        return self._text("origin")

    @property
    def subject(self) -> str | None:
        return self._text("subject")

    @property
    def reply(self) -> str | None:
        return self._text("reply")

    @property
    def queue(self) -> str | None:
        return self._text("queue")

    @property
    def queues(self) -> tuple[str, ...] | None:
        names = self._parts.get("queues")
        return None if names is None else tuple(str(decoded(name)) for name in names)

    @property
    def sid(self) -> str | None:
        if self.conn == "route_legacy" and self.op != "MSG":
            rsid = self._rsid()
            return None if rsid is None else decoded(rsid[2])
        return self._text("sid")

    @property
    def rsid(self) -> str | None:
        if self.conn != "route_legacy" or self.op == "MSG":
            return None
        return self._text("sid")

    @property
    def is_queue(self) -> bool | None:
        rsid = self._rsid()
        return None if rsid is None else rsid[0]

    @property
    def cid(self) -> int | None:
        rsid = self._rsid()
        return None if rsid is None else rsid[1]

    def _rsid(self) -> Rsid | None:
        if self.conn != "route_legacy" or "sid" not in self._parts:
            return None
        return rsid_of(self._parts["sid"])

    @property
    def printed_sid(self) -> str | None:
        return self._text("printed_sid")

    @property
    def max(self) -> int | None:
        return self._parts.get("max")

    @property
    def weight(self) -> int | None:
        return self._parts.get("weight")

    @property
    def size(self) -> int | None:
        return self._parts.get("size")

    @property
    def header_size(self) -> int | None:
        return self._parts.get("header_size")

    @property
    def payload(self) -> memoryview | None:
        if self.conn == "server_to_client":
            return self.body
        return self._payload

    @property
    def header(self) -> memoryview | None:
        if self._payload is None or self.header_size is None:
            return None
        return self._payload[: self.header_size]

    @property
    def body(self) -> memoryview | None:
        if self._payload is None:
            return None
        return self._payload[self.header_size or 0 :]

    def _block(self, place: int) -> Any:
        block = self.header
        read = None if block is None else form.header_block(bytes(block))
        return None if read is None else read[place]

    @property
    def status(self) -> str | None:
        status: str | None = self._block(0)
        return status

    @property
    def description(self) -> str | None:
        description: str | None = self._block(1)
        return description

    @property
    def headers(self) -> tuple[tuple[str, str], ...] | None:
        headers: tuple[tuple[str, str], ...] | None = self._block(2)
        return headers

    @property
    def json(self) -> Any:
        text = self._parts.get("json")
        return None if text is None else form.decode_json(text)

    @property
    def message(self) -> str | None:
        return self._text("message")

    @property
    def raw(self) -> bytes:
        return self._raw

    def as_dict(self) -> dict[str, Any]:
        """Return the operation in the form of the conformance vectors."""
        return form.as_dict(self)

    def __bytes__(self) -> bytes:
        """Return the canonical form, which is parsed as an equal operation."""
        parts = self._parts
        if self.op == "UNKNOWN":
            return bytes(parts["message"]) + b"\r\n"
        words = [self.op.encode()]
        words += [parts[name] for name in ("origin", "account", "subject") if name in parts]
        reply, queues = parts.get("reply"), parts.get("queues")
        if queues is not None:
            if queues:
                words.append(b"|" if reply is None else b"+")
            words += [text for text in (reply, *queues) if text is not None]
        else:
            order: tuple[str, ...] = ("reply", "queue", "sid", "json", "message")
            if self.op in ("MSG", "HMSG"):
                order = ("sid", "reply")
            words += [parts[name] for name in order if parts.get(name) is not None]
        for name in ("weight", "max", "header_size", "size"):
            if parts.get(name) is not None:
                words.append(b"%d" % parts[name])
        line = b" ".join(words) + b"\r\n"
        return line if self._payload is None else line + bytes(self._payload) + b"\r\n"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Op):
            return NotImplemented
        mine = (self.conn, self.op, self._pinned, bytes(self))
        return mine == (other.conn, other.op, other._pinned, bytes(other))

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __repr__(self) -> str:
        return form.shown(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return form.restored, (self.conn, self.raw, self._pinned, self._lnocu)
