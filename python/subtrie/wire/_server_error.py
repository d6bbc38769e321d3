"""The error texts of servers, documented and current, and whether each closes the connection.

Case varies between servers and documents, so texts are compared case-insensitively. An unknown
error is taken to close the connection.
"""
# A58, A64, S4-102, S4-105

from __future__ import annotations

from enum import Enum
from typing import Self


class ServerError(Enum):
    """An error that a server sends with ``-ERR``.

    Attributes:
        closes: Whether the server closes the connection after it.
        in_seed: Whether the NATS protocol documentation lists it.
        seconds: The default time after which the server sends it, for those that a time decides;
            0 for the others.
        texts: Its spellings, today's first. A text that ends in ``…`` is a prefix: the refused
            subject follows.
    """

    UNKNOWN_PROTOCOL_OPERATION = (True, True, "Unknown Protocol Operation")
    AUTHORIZATION_VIOLATION = (True, True, "Authorization Violation")
    AUTHORIZATION_TIMEOUT = (True, True, "Authentication Timeout", "Authorization Timeout", 1.0)
    PARSER_ERROR = (True, True, "Parser Error")
    STALE_CONNECTION = (True, True, "Stale Connection")
    SLOW_CONSUMER = (True, True, "Slow Consumer", 2.0)
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

    def __init__(self, closes: bool, in_seed: bool, *rest: str | float) -> None:
        self.closes = closes
        self.in_seed = in_seed
        self.texts = tuple(text for text in rest if isinstance(text, str))
        self.seconds = next((number for number in rest if isinstance(number, float)), 0.0)

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the error with this text, with or without quotes; ``UNKNOWN`` for any other text.

        Never raises. Cost: one comparison per known text.

        Args:
            text: The argument of ``-ERR``.
        """
        given = text.strip()
        if len(given) > 1 and given[0] == given[-1] == "'":
            given = given[1:-1]
        given = given.casefold()
        for error in cls:
            for known in map(str.casefold, error.texts):
                # Some servers append details, as to "maximum control line exceeded".
                if given.startswith(known.removesuffix("…")):
                    return error
        return cls.UNKNOWN
