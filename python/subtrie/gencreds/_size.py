"""The size of a user JWT, which travels in CONNECT: a line of at most 4,096 bytes."""  # A37

from __future__ import annotations

import dataclasses
import json
from typing import Any

from .._nats.jwt import SIGNATURE, permission_claims, signing_input, user_claims
from .._nats.limits import CONTROL_LINE
from ..acl import Permissions

#: Bytes of CONNECT besides the JWT and the name: 268 with nats-py 2.x, and a margin of 20.
_CONNECT = 288


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """The size of a user JWT, and how large it may be.

    Attributes:
        size: the bytes of the JWT.
        limit: the bytes it may have.
        costliest: the five rules that take the most: verb, rule, bytes of the JWT.
    """

    size: int
    limit: int
    costliest: tuple[tuple[str, str, int], ...]

    @property
    def fits(self) -> bool:
        """True if the broker accepts a connection with this JWT."""
        return self.size <= self.limit

    def __str__(self) -> str:
        return f"{self.size:,} of {self.limit:,} bytes"


def plan(
    permissions: Permissions,
    *,
    name: str,
    expires: float | None = None,
    issuer_account: str | None = None,
) -> Plan:
    """Return the size of the JWT that ``sign`` would make, to the byte, without a key.

    Args:
        permissions: what the user may do.
        name: the user's name.
        expires: seconds from now until the token expires; None for never.
        issuer_account: the account's public key, if a signing key of it signs.
    """
    key = "A" * 56
    lists = claims_of_permissions(permissions)
    claims = user_claims(lists, name, key, key, expires, issuer_account)
    size = len(signing_input(claims)) + 1 + SIGNATURE
    costs = [
        (verb, entry, -(-(len(json.dumps(entry)) + 1) * 4 // 3))
        for verb in ("publish", "subscribe")
        for side in permissions.lists(verb)
        for entry in side
    ]
    costs.sort(key=lambda each: (-each[2], each[0], each[1]))
    return Plan(size, jwt_limit(name), tuple(costs[:5]))


def jwt_limit(name: str) -> int:
    """Return how many bytes a JWT may have for a client that connects with this name."""
    return CONTROL_LINE - _CONNECT - len(json.dumps(name).encode())


def claims_of_permissions(permissions: Permissions) -> dict[str, Any]:
    """Return permissions as the claims of a user JWT."""
    limit = permissions.allow_responses
    return permission_claims(
        permissions.lists("publish"),
        permissions.lists("subscribe"),
        None if limit is None else (limit.max, limit.expires),
    )
