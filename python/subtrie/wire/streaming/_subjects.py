"""Identify streaming messages by their subjects.

A server may be configured with other prefixes than the default ones. Its ConnectResponse names the
subjects that it uses, and then only those count.
"""

from __future__ import annotations

from typing import Any

#: The default prefix of the subjects on which a server is asked for a connection.
DISCOVER = "_STAN.discover"
_PINGS = ".pings"

# The default prefixes.
_DEFAULTS = (
    ("_STAN.pub.", "PubMsg"),
    ("_STAN.sub.", "SubscriptionRequest"),
    ("_STAN.unsub.", "UnsubscribeRequest"),
    ("_STAN.subclose.", "UnsubscribeRequest"),
    ("_STAN.close.", "CloseRequest"),
    ("_STAN.acks.", "PubAck"),
    ("_STAN.ack.", "Ack"),
)


def identify(subject: str, response: Any = None, *, discover: str = DISCOVER) -> str | None:
    """Return the name of the message that is published to this subject, or None.

    Answers arrive on inboxes, which only ``Conversation`` can identify.

    Args:
        subject: The subject.
        response: The ConnectResponse of the connection, whose subjects replace the default ones.
        discover: The discover prefix with which the server is configured.
    """
    # S3-025, S3-026
    if subject.startswith(f"{discover}."):
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
    # The response does not name the subjects of acknowledgements.
    default = next((name for prefix, name in _DEFAULTS if subject.startswith(prefix)), None)
    return default if default in ("PubAck", "Ack") else None
