"""Random streams for property tests: valid lines, nearly valid lines, and noise."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import strategies as st

from subtrie import WireError

CONNS = ("client", "server_to_client", "route", "leaf", "route_legacy")
NAMES = [
    "INFO", "CONNECT", "PUB", "HPUB", "SUB", "UNSUB", "MSG", "HMSG", "PING", "PONG", "+OK", "-ERR",
    "RS+", "RS-", "LS+", "LS-", "RMSG", "LMSG", "A+", "A-", "Au", "RSX",
]  # fmt: skip
WORDS = [
    b"foo", b"foo.bar", b"$G", b"a..b", b"foo.*", b">", b"q", b"+", b"|", b"1", b"0", b"2", b"3",
    b"07", b"x", b"-1", b"999999999", b"1234567890", b"RSID:1:2", b"QRSID:4:x", b"rsid:1:1",
    b"RSID:x:1", b"\xff", b"\xc3\xa9", "日本.é".encode(), "😀.e\u0301.*".encode(),
    b"a\rb", b"\r", b"'Stale Connection'",
]  # fmt: skip
JSONS = [
    b"{}", b'{"a":1}', b'{"a":1,"a":2}', b'{"a":[{"b":null}]} ', b'{"\\u0061":1,"a":2}', b"[]",
    b'{"a":\r1}', b'{"a":01}', b'{"a":-0.5e+3}', b'{"\xff":"\\ud800"}', b'{"a":"', b"{", b"null",
    b'{"a":{"b":{"c":[[],{},""]}},"d":true,"e":false}', b'{"a":1,}', b'{"a" 1}', b'{"a":\x01}',
]  # fmt: skip
BLANKS = [b" ", b" ", b" ", b"\t", b"  ", b" \t "]
ENDS = [b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r", b"\r\r\n", b" \r\n", b""]


@st.composite
def _line(draw: Any) -> bytes:
    name = draw(st.sampled_from(NAMES))
    name = draw(st.sampled_from([name, name, name.lower(), name.title()]))
    parts = [name.encode()]
    if name.upper() in ("INFO", "CONNECT"):
        parts.append(draw(st.sampled_from(JSONS)))
    else:
        parts += draw(st.lists(st.sampled_from(WORDS), max_size=6))
    line = parts[0]
    for part in parts[1:]:
        line += draw(st.sampled_from([*BLANKS, b""] if part[:1] == b"{" else BLANKS)) + part
    return line + draw(st.sampled_from(ENDS))


@st.composite
def _message(draw: Any) -> bytes:
    """A line that announces a payload, and a payload of that size or nearly."""
    payload = draw(st.sampled_from([b"", b"ok", b"o\r\nk", b"NATS/1.0\r\nA: b\r\n\r\nok", b"xxx"]))
    wrong = draw(st.sampled_from([0, 0, 0, 0, 1, -1]))
    size = b"%d" % max(0, len(payload) + wrong)
    header = draw(st.sampled_from([b"0", b"12", b"20", size]))
    forms = [
        b"PUB foo ", b"PUB foo.bar r ", b"HPUB foo " + header + b" ", b"HPUB a b " + header + b" ",
        b"MSG foo 1 ", b"MSG foo 1 r ", b"HMSG foo 1 " + header + b" ",
        b"HMSG foo 1 r.x " + header + b" ", b"RMSG $G foo ", b"RMSG $G foo r ",
        b"RMSG $G foo + r q1 q2 ", b"RMSG $G foo | q ", b"RMSG foo ", b"RMSG foo + r ",
        b"HMSG $G foo + r " + header + b" ", b"HMSG $G foo | q1  q2 " + header + b" ",
        b"LMSG o $G foo r " + header + b" ", b"LMSG foo r ", b"LMSG foo | q ",
        b"MSG foo QRSID:4:1 r ", b"MSG foo RSID:1:1 ",
    ]  # fmt: skip
    end = draw(st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r \n"]))
    line_end = draw(st.sampled_from([b"\r\n", b"\r\n", b"\n"]))
    return bytes(draw(st.sampled_from(forms)) + size + line_end + payload + end)


STREAMS = st.lists(
    st.one_of(_message(), _message(), _line(), _line(), st.binary(max_size=4)), max_size=6
).map(b"".join)


@st.composite
def pieces(draw: Any) -> list[bytes]:
    """A stream in chunks."""
    stream = draw(STREAMS)
    cuts = sorted(draw(st.sets(st.integers(0, len(stream)), max_size=8)))
    ends = [0, *cuts, len(stream)]
    return [stream[one:two] for one, two in itertools.pairwise(ends)]


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "dialect": st.sampled_from(["strict", "server"]),
        "max_control_line": st.sampled_from([1, 8, 20]),
        "max_payload": st.sampled_from([1, 4, None]),
        "pinned_account": st.sampled_from(["APP", "é", ""]),
        "lnocu": st.booleans(),
    },
)

PARTS = (
    "op", "conn", "account", "origin", "subject", "reply", "queue", "queues", "sid", "rsid",
    "is_queue", "cid", "printed_sid", "max", "weight", "size", "header_size", "payload", "header",
    "body", "status", "description", "headers", "json", "message", "raw", "offset",
)  # fmt: skip


def read(engine: Any, conn: str, chunks: list[bytes], **options: Any) -> tuple[Any, Any, Any]:
    """Return the operations, the error as a tuple or None, and the parser."""
    parser = engine.Parser(conn, **options)
    operations: list[Any] = []
    for chunk in chunks:
        try:
            operations += parser.feed(chunk)
        except WireError as error:
            operations += error.operations
            fault = (error.reason, error.cause, error.position, error.resume, error.state,
                     error.status, str(error))  # fmt: skip
            return operations, fault, parser
    return operations, None, parser


def everything(operation: Any) -> dict[str, Any]:
    """Return every part of an operation, and each of its serialised forms."""
    parts = {name: getattr(operation, name) for name in PARTS}
    parts["bytes"] = bytes(operation)
    parts["dict"] = operation.as_dict()
    parts["repr"] = repr(operation)
    return parts
