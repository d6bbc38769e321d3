"""What both engines' operations share: headers, JSON options, the vectors' form, the shown form.

Everything here works on the parts an operation hands out; nothing parses lines.
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

from . import _engine
from ._redaction import redacted

# An operation of either engine.
Op = Any

#: What a header block begins with (ADR-4).
_VERSION = "NATS/1.0"

_PAYLOAD = ("size", "payload_b64")
_ROUTED = ("account", "subject", "reply", "queues")
_HEADERS = ("header_size", "size", "status", "description", "headers", "payload_b64")
_INTEREST = ("account", "subject", "queue")

#: The parts of an operation, by connection and name, in the order they are written.
KEYS: dict[str, dict[str, tuple[str, ...]]] = {
    "client": {
        "PUB": ("subject", "reply", *_PAYLOAD),
        "HPUB": ("subject", "reply", "header_size", *_PAYLOAD),
        "SUB": ("subject", "queue", "sid"),
        "UNSUB": ("sid", "max"),
    },
    "server_to_client": {
        "MSG": ("subject", "sid", "reply", *_PAYLOAD),
        "HMSG": ("subject", "sid", "reply", *_HEADERS),
    },
    "route": {
        "RS+": (*_INTEREST, "weight"),
        "RS-": _INTEREST,
        "LS+": ("origin", *_INTEREST, "weight"),
        "LS-": ("origin", *_INTEREST),
        "RMSG": (*_ROUTED, *_PAYLOAD),
        "HMSG": (*_ROUTED, "header_size", *_PAYLOAD),
        "LMSG": ("origin", *_ROUTED, "header_size", *_PAYLOAD),
    },
    "leaf": {
        "LS+": ("subject", "queue", "weight"),
        "LS-": ("subject", "queue"),
        "LMSG": (*_ROUTED[1:], *_PAYLOAD),
        "HMSG": (*_ROUTED[1:], "header_size", *_PAYLOAD),
    },
    "route_legacy": {
        "SUB": ("subject", "queue", "rsid", "is_queue", "cid", "sid"),
        "UNSUB": ("rsid", "is_queue", "cid", "sid", "max"),
        "MSG": ("subject", "sid", "reply", *_PAYLOAD),
    },
}
_EVERYWHERE: dict[str, tuple[str, ...]] = {
    "INFO": ("json",),
    "CONNECT": ("json",),
    "-ERR": ("message",),
    "UNKNOWN": ("message",),
    "A+": ("account",),
    "A-": ("account",),
    "PUB": KEYS["client"]["PUB"],
    "HPUB": KEYS["client"]["HPUB"],
}


def keys_of(op: Op) -> tuple[str, ...]:
    """The names of the parts that this operation has."""
    keys = KEYS[op.conn].get(op.op, _EVERYWHERE.get(op.op, ()))
    if op.conn == "route_legacy":
        if op.op == "MSG" and op.cid is not None:
            keys = (*keys, "is_queue", "cid")
        if op.printed_sid is not None:  # A53: seen, and not written again
            keys = (*keys, "printed_sid")
    return keys


def as_dict(op: Op) -> dict[str, Any]:
    """The operation in the form of the conformance vectors."""
    row: dict[str, Any] = {"op": op.op}
    for key in keys_of(op):
        if key == "payload_b64":
            row[key] = b64encode(op.payload or b"").decode()
        elif key == "queues":
            row[key] = list(op.queues or ())
        elif key == "headers":
            row[key] = None if op.headers is None else [list(pair) for pair in op.headers]
        else:
            row[key] = getattr(op, key)
    return row


def shown(op: Op) -> str:
    """One line for people: no payload, no secrets."""
    parts = [op.op]
    for key in keys_of(op):
        value = getattr(op, key, None)
        if value is None or key in ("payload_b64", "headers"):
            continue
        parts.append(f"{key}={redacted(value) if key == 'json' else value!a}")
    return f"<Op {' '.join(parts)}>"


def decode_json(text: bytes) -> Any:
    """The object an engine has checked: names in order, bytes that are no UTF-8 as surrogates."""
    return json.loads(text.decode("utf-8", "surrogateescape"))


Headers = tuple[tuple[str, str], ...]


def header_block(block: bytes) -> tuple[str | None, str | None, Headers] | None:
    """Status, description and headers of a block; None where it is no header block (ADR-4).

    Names keep their case, values are trimmed, repeats are kept in order.
    """
    lines = block.decode("utf-8", "surrogateescape").split("\r\n")
    if len(lines) < 3 or lines[-2:] != ["", ""] or not lines[0].startswith(_VERSION):
        return None
    rest = lines[0][len(_VERSION) :]
    if rest and rest[0] not in " \t":
        return None
    status, _, description = rest.strip(" \t").partition(" ")
    headers = []
    for line in lines[1:-2]:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip(" \t"):
            return None
        headers.append((name, value.strip(" \t")))
    return status or None, description.strip(" \t") or None, tuple(headers)


def restored(conn: str, raw: bytes, pinned_account: str | None, lnocu: bool) -> Op:
    """What a pickle of an operation gives back: the same bytes, read again."""
    parser = _engine.Parser(
        conn,
        max_control_line=1 << 31,
        max_payload=None,
        pinned_account=pinned_account,
        lnocu=lnocu,
    )
    (op,) = parser.feed(raw)
    found: Op = op
    return found
