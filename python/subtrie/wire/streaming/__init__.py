"""NATS Streaming: protobuf messages in the payloads of ordinary NATS messages (seed 003).

A payload does not say which message it is; its subject does. ``identify`` answers for the subjects
that clients publish to, ``Conversation`` also for the inboxes on which answers arrive. Classes are
those of the official protobuf runtime (extra ``wire``), each with ``decode(data)`` and
``encode()``; fields nobody knows survive both.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

from . import _schema as schema
from ._conversation import Conversation, Typed
from ._subjects import identify

#: Another name of CloseResponse (A45).
_ALIASES = {"CloseResp": "CloseResponse"}

#: The names of all messages of the protocol.
MESSAGES = (
    "ConnectRequest", "ConnectResponse", "SubscriptionRequest", "SubscriptionResponse",
    "UnsubscribeRequest", "PubMsg", "PubAck", "MsgProto", "Ack", "CloseRequest", "CloseResponse",
    "Ping", "PingResponse",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """A message class, or ``StartPosition`` as a mapping of names to numbers."""
    name = _ALIASES.get(name, name)
    if name in MESSAGES or name == "StartPosition":
        return schema.loaded()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def crc_holds(message: Any) -> bool | None:
    """Is the CRC-32 of a MsgProto that of its data? None when it has none (A49)."""
    return None if not message.CRC32 else zlib.crc32(message.data) == message.CRC32


def digest_holds(message: Any) -> bool | None:
    """Is the SHA-256 of a PubMsg that of its data? None when it has none (A49)."""
    if not message.sha256:
        return None
    return hashlib.sha256(message.data).digest() == bytes(message.sha256)


__all__ = ["MESSAGES", "Conversation", "Typed", "crc_holds", "digest_holds", "identify"]
