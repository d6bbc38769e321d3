"""Serialization of protocol operations: headers, JSON options, vectors, ``repr``, pickle.

Both engines use these functions on the attributes of an operation; nothing here parses lines.
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

from . import engine
from .redaction import redacted

# An operation of either engine.
Op = Any

#: The first line of a header block (ADR-4).
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
    """Return the names of the attributes that this operation has."""
    keys = KEYS[op.conn].get(op.op, _EVERYWHERE.get(op.op, ()))
    if op.conn == "route_legacy":
        if op.op == "MSG" and op.cid is not None:
            keys = (*keys, "is_queue", "cid")
        if op.printed_sid is not None:  # A53: read, but not written again
            keys = (*keys, "printed_sid")
    return keys


def as_dict(op: Op) -> dict[str, Any]:
    """Return the operation in the form of the conformance vectors."""
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
    """Return one line without the payload and without secrets."""
    parts = [op.op]
    for key in keys_of(op):
        value = getattr(op, key, None)
        if value is None or key in ("payload_b64", "headers"):
            continue
        parts.append(f"{key}={redacted(value) if key == 'json' else value!a}")
    return f"<Op {' '.join(parts)}>"


def decode_json(text: bytes) -> Any:
    """Return the JSON object of validated text; invalid UTF-8 becomes lone surrogates."""
    return json.loads(text.decode("utf-8", "surrogateescape"))


Headers = tuple[tuple[str, str], ...]


def header_block(block: bytes) -> tuple[str | None, str | None, Headers] | None:
    """Return the status, the description and the headers of a header block, or None.

    Names keep their case, values are trimmed, repeated names are kept in order.
    """
    # ADR-4
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
    """Return an unpickled operation, parsed again from its bytes."""
    parser = engine.Parser(
        conn,
        max_control_line=1 << 31,
        max_payload=None,
        pinned_account=pinned_account,
        lnocu=lnocu,
    )
    (op,) = parser.feed(raw)
    return op
