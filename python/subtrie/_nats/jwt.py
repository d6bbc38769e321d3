"""JWTs of NATS (version 2): claims read and written, the time a token is good for, signatures.

Reading needs base64 and JSON only. Checking a signature needs PyNaCl (the extra ``creds``).
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .._core.errors import SubtrieError
from .._core.extras import install_command
from .._core.file_errors import file_error
from .nkey import public_bytes

#: The names of claims that are read here.
_NAMES = {
    "typ", "alg", "iss", "sub", "exp", "nbf", "nats", "type", "version", "issuer_account", "pub",
    "allow", "deny", "resp", "max", "ttl", "signing_keys", "key", "template",
    "default_permissions",
}  # fmt: skip

#: Most bytes of a token that are decoded.
MAX_JWT = 1024 * 1024

#: The header of every token.
HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}

#: Bytes of a signature in a token: 64 bytes in base64.
SIGNATURE = 86


# --- reading


def claims_of(token: str, path: Path, kind: str) -> dict[str, Any]:
    """Return the claims of a token.

    Args:
        token: the token.
        path: the file it was read from, for messages.
        kind: ``user``, ``account`` or ``operator``.

    Raises:
        PermissionsError: not a JWT (``jwt``), or a JWT of another kind (``jwt-kind``).
    """
    parts = token.strip().split(".")
    if len(parts) != 3 or len(token) > MAX_JWT:
        raise file_error("jwt", "the token", path)
    header, claims = (_decoded(part, path) for part in parts[:2])
    if str(header.get("typ")).lower() != "jwt" or header.get("alg") != "ed25519-nkey":
        raise file_error("jwt-kind", "the header", path)
    nats = claims.get("nats")
    if not isinstance(nats, dict) or nats.get("type") != kind or nats.get("version") != 2:
        raise file_error("jwt-kind", f"the token ({kind} expected)", path)
    for name, of in (("iss", claims), ("sub", claims), ("issuer_account", nats)):
        if not isinstance(of.get(name, "" if of is nats else None), str):
            raise file_error("jwt", name, path)
    for name in ("exp", "nbf", "iat"):
        if claims.get(name) is not None and type(claims[name]) is not int:
            raise file_error("jwt", name, path)
    return claims


def kind_of_token(token: str, path: Path) -> str:
    """Return what a token is for: ``user``, ``account``, ``operator`` …; empty if it says nothing.

    Raises:
        PermissionsError: not a JWT.
    """
    parts = token.strip().split(".")
    if len(parts) != 3 or len(token) > MAX_JWT:
        raise file_error("jwt", "the token", path)
    nats = _decoded(parts[1], path).get("nats")
    kind = nats.get("type") if isinstance(nats, dict) else None
    return kind if isinstance(kind, str) else ""


def _decoded(part: str, path: Path) -> dict[str, Any]:
    try:
        data = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
        value = json.loads(data, object_pairs_hook=_distinct)
    except (ValueError, binascii.Error, RecursionError):
        raise file_error("jwt", "the token", path) from None
    if not isinstance(value, dict):
        raise file_error("jwt", "the token", path)
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; the broker ignores the case of names, and mixes the values of equal ones."""
    values = dict(pairs)
    if len({name.casefold() for name in values}) < len(pairs):
        raise ValueError("duplicate name")
    if any(name.casefold() in _NAMES and name not in _NAMES for name in values):
        raise ValueError("a known name in another case")
    return values


def object_claim(value: Any, name: str, path: Path) -> dict[str, Any]:
    """Return a claim that is an object; an absent one is empty. Raises ``PermissionsError``."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise file_error("jwt", name, path, field=name)
    return value


def array_claim(value: Any, name: str, path: Path) -> list[Any]:
    """Return a claim that is an array; an absent one is empty. Raises ``PermissionsError``."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise file_error("jwt", name, path, field=name)
    return value


def signing_keys(nats: dict[str, Any], path: Path) -> dict[str, dict[str, Any] | None]:
    """Return an account's signing keys, each with its scope or None."""
    found: dict[str, dict[str, Any] | None] = {}
    for each in array_claim(nats.get("signing_keys"), "signing_keys", path):
        key = each.get("key") if isinstance(each, dict) else each
        if not isinstance(key, str):
            raise file_error("jwt", "signing_keys", path)
        found[key] = each if isinstance(each, dict) else None
    return found


def check_signature(token: str, claims: dict[str, Any], keys: set[Any], path: Path) -> None:
    """Raise unless the token is signed by its issuer, and the issuer is one of the keys."""
    issuer = claims.get("iss")
    if issuer not in keys or not isinstance(issuer, str):
        raise file_error("jwt-chain", "the issuer", path)
    try:
        import nacl.exceptions
        import nacl.signing
    except ImportError:
        command = install_command("creds")
        raise ImportError(f"checking a chain needs PyNaCl: {command}") from None
    signed, _, signature = token.strip().rpartition(".")
    try:
        raw = base64.b64decode(signature + "=" * (-len(signature) % 4), altchars=b"-_")
        nacl.signing.VerifyKey(public_bytes(issuer)).verify(signed.encode(), raw)
    except (ValueError, binascii.Error, nacl.exceptions.CryptoError):
        raise file_error("jwt-signature", "the token", path) from None


def is_revoked(claims: dict[str, Any], account: dict[str, Any], path: Path) -> bool:
    """Return whether an account has revoked a user, or all users issued until some second.

    Args:
        claims: the user's claims.
        account: the account's claims.
        path: the file of the account's JWT, for messages.

    Raises:
        PermissionsError: the revocations are not seconds by public key.
    """
    revoked = object_claim(account["nats"].get("revocations"), "revocations", path)
    if any(type(second) is not int for second in revoked.values()):
        raise file_error("jwt", "revocations", path, field="revocations")
    issued = claims.get("iat") or 0
    return any(issued <= revoked[key] for key in (claims["sub"], "*") if key in revoked)


# --- the time a token is good for


@dataclasses.dataclass(frozen=True, slots=True)
class Validity:
    """From when and until when a token is good, in seconds since the epoch; None for no bound."""

    not_before: int | None = None
    expires: int | None = None

    def fault(self, now: float | None = None) -> str | None:
        """Return ``expired`` or ``not-yet-valid``; None if the token is good.

        Decided as the broker decides: to the second, and the last second counts.
        """
        second = int(time.time() if now is None else now)
        if self.expires is not None and second > self.expires:
            return "expired"
        if self.not_before is not None and second < self.not_before:
            return "not-yet-valid"
        return None

    def __and__(self, other: Validity) -> Validity:
        """The time in which both tokens are good."""
        starts = [each for each in (self.not_before, other.not_before) if each is not None]
        ends = [each for each in (self.expires, other.expires) if each is not None]
        return Validity(max(starts, default=None), min(ends, default=None))


def validity_of(claims: dict[str, Any]) -> Validity:
    """Return the time a token is good for; claims that are 0 or negative set no bound."""
    begins, ends = claims.get("nbf") or 0, claims.get("exp") or 0
    return Validity(begins if begins > 0 else None, ends if ends > 0 else None)


def validity_of_token(token: str) -> Validity | None:
    """Return the time a user's token is good for; None if it is not a user JWT of NATS."""
    try:
        return validity_of(claims_of(token, Path(), "user"))
    except SubtrieError:
        return None


def utc_text(seconds: int) -> str:
    """Return a moment as text: ``2026-01-31 12:00:00 UTC``."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{seconds} seconds after 1970"  # beyond the calendar of Python


# --- writing


def permission_claims(
    publish: tuple[Sequence[str], Sequence[str]],
    subscribe: tuple[Sequence[str], Sequence[str]],
    response: tuple[int, float] | None,
) -> dict[str, Any]:
    """Return the lists as claims, in which absent and empty lists have their own meaning.

    Args:
        publish: the allow and the deny entries; ``[">"]`` allows everything, an empty list nothing.
        subscribe: the same for subscriptions.
        response: how often, and for how many seconds, a reply may be sent; None if never.
    """
    lists: dict[str, Any] = {}
    for name, (allow, deny) in (("pub", publish), ("sub", subscribe)):
        if not allow:
            # An empty list counts as absent there, unless there is a deny too.
            allow, deny = [], [">"]
        side = {"allow": allow, "deny": deny}
        lists[name] = {kind: list(entries) for kind, entries in side.items() if entries}
    if response is not None:
        lists["resp"] = {"max": response[0], "ttl": round(response[1] * 1e9)}
        if not publish[0]:
            lists["pub"] = {}  # resp alone makes an empty list count, and a deny would be needless
    return lists


def user_claims(
    permissions: dict[str, Any],
    name: str,
    issuer: str,
    subject: str,
    expires: float | None,
    issuer_account: str | None,
) -> dict[str, Any]:
    """Return the claims of a user JWT, its id among them.

    Args:
        permissions: what ``permission_claims`` made.
        name: the user's name.
        issuer: the public key that signs.
        subject: the user's public key.
        expires: seconds from now until the token ends; None for never.
        issuer_account: the account's public key, if a signing key of it signs.
    """
    nats: dict[str, Any] = {**permissions, "subs": -1, "data": -1, "payload": -1}
    nats |= {"type": "user", "version": 2}
    if issuer_account is not None:
        nats["issuer_account"] = issuer_account
    return _claims(name, issuer, subject, nats, expires)


def operator_claims(name: str, key: str) -> dict[str, Any]:
    """Return the claims of an operator, which signs its own JWT.

    Args:
        name: the operator's name.
        key: its public key.
    """
    return _claims(name, key, key, {"type": "operator", "version": 2})


def account_claims(name: str, issuer: str, subject: str) -> dict[str, Any]:
    """Return the claims of an account without limits, except that JetStream is off.

    Args:
        name: the account's name.
        issuer: the public key of the operator.
        subject: the account's public key.
    """
    unlimited = ("subs", "data", "payload", "imports", "exports", "conn", "leaf")
    limits = {**dict.fromkeys(unlimited, -1), "wildcards": True}
    return _claims(name, issuer, subject, {"limits": limits, "type": "account", "version": 2})


def _claims(
    name: str, issuer: str, subject: str, nats: dict[str, Any], expires: float | None = None
) -> dict[str, Any]:
    now = int(time.time())
    body: dict[str, Any] = {"jti": "", "iat": now}
    if expires is not None:
        body["exp"] = now + round(expires)
    body |= {"iss": issuer, "name": name, "sub": subject, "nats": nats}
    digest = hashlib.new("sha512_256", _json(body)).digest()
    body["jti"] = base64.b32encode(digest).decode().rstrip("=")
    return body


def signing_input(claims: dict[str, Any]) -> bytes:
    """Return what is signed: header and claims, encoded and joined."""
    return b".".join(unpadded_base64(_json(part)) for part in (HEADER, claims))


def unpadded_base64(data: bytes) -> bytes:
    """Return base64url without padding, as JWTs have it."""
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
