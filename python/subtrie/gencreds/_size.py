"""Will the rules fit? A JWT travels in CONNECT, and that line may have 4,096 bytes (A37)."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import time
from typing import Any

from .._nats.limits import CONTROL_LINE
from ..acl import Permissions

#: What CONNECT holds besides the JWT and the name: 268 bytes with nats-py 2.x, and some to spare.
_CONNECT = 288
_SIGNATURE = 86  # of 64 bytes, in base64


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """How many bytes a user JWT takes, and how many it may.

    ``costliest`` are the rules that take the most: verb, rule, bytes of the JWT.
    """

    size: int
    room: int
    costliest: tuple[tuple[str, str, int], ...]

    @property
    def fits(self) -> bool:
        """Would the broker let it connect?"""
        return self.size <= self.room

    def __str__(self) -> str:
        return f"{self.size:,} of {self.room:,} bytes"


def plan(
    permissions: Permissions,
    *,
    name: str,
    expires: float | None = None,
    issuer_account: str | None = None,
) -> Plan:
    """The size of the JWT that ``sign`` would make, to the byte, without a key."""
    key = "A" * 56
    body = claims(permissions, name, key, key, expires, issuer_account)
    size = len(b".".join(encoded(part) for part in (HEADER, body))) + 1 + _SIGNATURE
    costs = [
        (verb, entry, -(-(len(json.dumps(entry)) + 1) * 4 // 3))
        for verb in ("publish", "subscribe")
        for side in permissions.lists(verb)
        for entry in side
    ]
    costs.sort(key=lambda each: (-each[2], each[0], each[1]))
    return Plan(size, room(name), tuple(costs[:5]))


def room(name: str) -> int:
    """How long a JWT may be for a client that gives this name."""
    return CONTROL_LINE - _CONNECT - len(json.dumps(name).encode())


HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}


def claims(
    permissions: Permissions,
    name: str,
    issuer: str,
    subject: str,
    expires: float | None,
    issuer_account: str | None,
) -> dict[str, Any]:
    """The claims of a user JWT, its id among them."""
    now = int(time.time())
    body: dict[str, Any] = {"jti": "", "iat": now}
    if expires is not None:
        body["exp"] = now + round(expires)
    nats: dict[str, Any] = {**_lists(permissions), "subs": -1, "data": -1, "payload": -1}
    nats |= {"type": "user", "version": 2}
    if issuer_account is not None:
        nats["issuer_account"] = issuer_account
    body |= {"iss": issuer, "name": name, "sub": subject, "nats": nats}
    digest = hashlib.new("sha512_256", _json(body)).digest()
    body["jti"] = base64.b32encode(digest).decode().rstrip("=")
    return body


def encoded(part: object) -> bytes:
    """A part of a JWT."""
    return unpadded(_json(part))


def unpadded(data: bytes) -> bytes:
    """base64url as JWTs have it."""
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _lists(permissions: Permissions) -> dict[str, Any]:
    """The lists of a JWT, where absent and empty mean other things than they do to us."""
    lists: dict[str, Any] = {}
    for verb, short in (("publish", "pub"), ("subscribe", "sub")):
        allow, deny = permissions.lists(verb)
        if not allow:
            # An empty list counts as absent there, unless it stands beside a deny.
            allow, deny = [], [">"]
        side = {"allow": allow, "deny": deny}
        lists[short] = {name: entries for name, entries in side.items() if entries}
    limit = permissions.allow_responses
    if limit is not None:
        lists["resp"] = {"max": limit.max, "ttl": round(limit.expires * 1e9)}
        if permissions.publish_allow == ():
            lists["pub"] = {}  # resp alone makes an empty list count, and a deny would be needless
    return lists
