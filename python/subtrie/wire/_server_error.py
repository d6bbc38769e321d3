"""Every error a server sends, in seed 004's words and in today's, and whether it hangs up.

Capitals vary between servers and documents, so texts are compared without regard to case. What
nobody knows closes the connection unless told otherwise (A58, A64).
"""

from __future__ import annotations

from enum import Enum
from typing import Self


class ServerError(Enum):
    """One error: ``.texts`` are its spellings (the first is today's where there is one);
    a spelling that ends in ``…`` goes on with what was refused. ``.closes``: does the server close
    the connection after it? ``.in_seed``: does seed 004 print it?"""

    UNKNOWN_PROTOCOL_OPERATION = (True, True, "Unknown Protocol Operation")
    AUTHORIZATION_VIOLATION = (True, True, "Authorization Violation")
    AUTHORIZATION_TIMEOUT = (True, True, "Authentication Timeout", "Authorization Timeout")
    PARSER_ERROR = (True, True, "Parser Error")
    STALE_CONNECTION = (True, True, "Stale Connection")
    SLOW_CONSUMER = (True, True, "Slow Consumer")
    MAXIMUM_PAYLOAD = (True, True, "Maximum Payload Violation", "Maximum Payload Exceeded")
    INVALID_SUBJECT = (False, True, "Invalid Subject")
    INVALID_PUBLISH_SUBJECT = (False, False, "Invalid Publish Subject")
    PERMISSIONS_PUBLISH = (False, False, "Permissions Violation for Publish to …")
    PERMISSIONS_REPLY = (False, False, "Permissions Violation for Publish with Reply of …")
    PERMISSIONS_SUBSCRIBE = (False, False, "Permissions Violation for Subscription to …")
    MAXIMUM_SUBSCRIPTIONS = (False, False, "maximum subscriptions exceeded")
    MAXIMUM_CONTROL_LINE = (True, False, "maximum control line exceeded")
    MAXIMUM_CONNECTIONS = (True, False, "maximum connections exceeded")
    MAXIMUM_ACCOUNT_CONNECTIONS = (
        True,
        False,
        "maximum account active connections exceeded",
        "maximum active connections for account exceeded",
    )
    USER_EXPIRED = (True, False, "User Authentication Expired")
    USER_REVOKED = (True, False, "User Authentication Revoked")
    ACCOUNT_EXPIRED = (True, False, "Account Authentication Expired")
    INVALID_CLIENT_PROTOCOL = (True, False, "invalid client protocol")
    NO_RESPONDERS_NEEDS_HEADERS = (True, False, "no responders requires headers support")
    HEADERS_NOT_SUPPORTED = (True, False, "message headers not supported")
    ROUTE_PORT = (True, False, "attempted to connect to route port")
    LEAF_PORT = (True, False, "attempted to connect to leaf node port")
    GATEWAY_PORT = (True, False, "attempted to connect to gateway port")
    TLS_REQUIRED = (True, False, "Secure Connection - TLS Required")
    UNKNOWN = (True, False)

    def __init__(self, closes: bool, in_seed: bool, *texts: str) -> None:
        self.closes = closes
        self.in_seed = in_seed
        self.texts = texts

    @classmethod
    def of(cls, text: str) -> Self:
        """The error that this text is, with or without its quotes; ``UNKNOWN`` for any other.

        Never raises. Cost: one comparison for each known spelling.
        """
        told = text.strip()
        if len(told) > 1 and told[0] == told[-1] == "'":
            told = told[1:-1]
        told = told.casefold()
        for error in cls:
            for known in map(str.casefold, error.texts):
                # "maximum control line exceeded" goes on with details in some servers.
                if told.startswith(known.removesuffix("…")):
                    return error
        return cls.UNKNOWN
