"""Which message does a subject carry? By the prefixes of the protocol, or by what a server said.

A server may be configured with other prefixes; its ConnectResponse names the subjects it really
uses, and then only those count.
"""

from __future__ import annotations

from typing import Any

_DISCOVER = "_STAN.discover."
_PINGS = ".pings"

# By the prefix of the subject, as servers name them by default.
_DEFAULTS = (
    ("_STAN.pub.", "PubMsg"),
    ("_STAN.sub.", "SubscriptionRequest"),
    ("_STAN.unsub.", "UnsubscribeRequest"),
    ("_STAN.subclose.", "UnsubscribeRequest"),
    ("_STAN.close.", "CloseRequest"),
    ("_STAN.acks.", "PubAck"),
    ("_STAN.ack.", "Ack"),
)


def identify(subject: str, response: Any = None) -> str | None:
    """The name of the message that is published to this subject, or None.

    ``response``: the ConnectResponse of the connection, whose subjects then count instead of the
    usual ones. Answers on inboxes are none of either: see ``Conversation``. S3-025, S3-026.
    """
    if subject.startswith(_DISCOVER):
        return "Ping" if subject.endswith(_PINGS) else "ConnectRequest"
    if response is None:
        return next((name for prefix, name in _DEFAULTS if subject.startswith(prefix)), None)
    exact = {
        response.subRequests: "SubscriptionRequest",
        response.unsubRequests: "UnsubscribeRequest",
        response.subCloseRequests: "UnsubscribeRequest",
        response.closeRequests: "CloseRequest",
        response.pingRequests: "Ping",
    }
    if subject and subject in exact:
        return exact[subject]
    if response.pubPrefix and subject.startswith(f"{response.pubPrefix}."):
        return "PubMsg"
    # What clients and servers choose for acknowledgements, the response does not name.
    own = next((name for prefix, name in _DEFAULTS if subject.startswith(prefix)), None)
    return own if own in ("PubAck", "Ack") else None
