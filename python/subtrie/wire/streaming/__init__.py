"""NATS Streaming: protobuf messages in the payloads of NATS messages.

The subject of a message determines its type. ``identify`` returns it for the subjects that clients
publish to, ``Conversation`` also for the inboxes on which answers arrive. The message classes are
those of the official protobuf runtime (extra ``wire``), each with ``decode(data)`` and
``encode()``; both preserve unknown fields.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

from ..._core.public_names import publish
from . import _schema as schema
from ._conversation import Conversation, StreamingMessage
from ._subjects import identify

# A45: another name of CloseResponse.
_ALIASES = {"CloseResp": "CloseResponse"}

#: The names of all messages of the protocol.
MESSAGES = (
    "ConnectRequest", "ConnectResponse", "SubscriptionRequest", "SubscriptionResponse",
    "UnsubscribeRequest", "PubMsg", "PubAck", "MsgProto", "Ack", "CloseRequest", "CloseResponse",
    "Ping", "PingResponse",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return a message class, or ``StartPosition`` as a mapping of names to numbers."""
    name = _ALIASES.get(name, name)
    if name in MESSAGES or name == "StartPosition":
        return schema.loaded()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def crc_matches(message: Any) -> bool | None:
    """Return whether the CRC-32 of a MsgProto is that of its data; None if it has none."""
    # A49
    return None if not message.CRC32 else zlib.crc32(message.data) == message.CRC32


def digest_matches(message: Any) -> bool | None:
    """Return whether the SHA-256 of a PubMsg is that of its data; None if it has none."""
    # A49
    if not message.sha256:
        return None
    return hashlib.sha256(message.data).digest() == bytes(message.sha256)


__all__ = [
    "MESSAGES",
    "Conversation",
    "StreamingMessage",
    "crc_matches",
    "digest_matches",
    "identify",
]

publish(globals())
