"""User JWTs: the claims, what they leave to the account, and the chain where keys are given.

Reading needs base64 and JSON only. Checking signatures needs ``nkeys`` (the extra ``creds``).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...errors import SubtrieError
from ..permissions import Permissions
from ..responses import ResponseLimit
from .failure import failure, placed

_BLANK = re.compile("[ \t]")

#: Most bytes of a token that are decoded.
MAX_JWT = 1024 * 1024


def permissions_of_jwt(
    token: str, path: Path, account_jwt: str | None, trusted: Iterable[str]
) -> Permissions:
    """What a user's JWT grants. Unknown where the account decides and is not given."""
    claims = claims_of(token, path, "user")
    nats = claims["nats"]
    account = None if account_jwt is None else claims_of(account_jwt, path, "account")
    trusted = tuple(trusted)
    if account is not None and account_jwt is not None:
        owner = nats.get("issuer_account") or claims.get("iss")
        if account.get("sub") != owner:
            raise failure("jwt-chain", "the account JWT", path)
        keys = {account["sub"], *(_key(each) for each in _list(account["nats"], "signing_keys"))}
        _verify(token, claims, keys, path)
        if trusted:
            _verify(account_jwt, account, set(trusted), path)
    elif trusted:
        raise failure("jwt-chain", "the chain", path)
    if not _silent(nats):
        if account is not None and _scope(account, claims) is not None:
            # Whoever is signed by a scoped key has no lists of its own.
            raise failure("jwt-scoped", "the token", path)
        return _lists(nats, path)
    if account is None:
        permissions = Permissions()
        permissions.known = False
        return permissions
    scope = _scope(account, claims)
    if scope is not None:
        return _granted(scope.get("template") or {}, path)
    return _granted(account["nats"].get("default_permissions") or {}, path)


def _granted(lists: dict[str, Any], path: Path) -> Permissions:
    """What an account grants; templates are filled at login only, so they stay unknown."""
    if "{{" in json.dumps(lists):
        permissions = Permissions()
        permissions.known = False
        return permissions
    return _lists(lists, path)


def _scope(account: dict[str, Any], claims: dict[str, Any]) -> dict[str, Any] | None:
    """The scoped signing key of the account that signed these claims."""
    for each in _list(account["nats"], "signing_keys"):
        if isinstance(each, dict) and each.get("key") == claims.get("iss"):
            return each
    return None


def _key(each: Any) -> Any:
    return each.get("key") if isinstance(each, dict) else each


def claims_of(token: str, path: Path, kind: str) -> dict[str, Any]:
    """The claims of a token of this kind. Raises ``PermissionsError`` for any other."""
    parts = token.strip().split(".")
    if len(parts) != 3 or len(token) > MAX_JWT:
        raise failure("jwt", "the token", path)
    header, claims = (_json(part, path) for part in parts[:2])
    if str(header.get("typ")).lower() != "jwt" or header.get("alg") != "ed25519-nkey":
        raise failure("jwt-kind", "the header", path)
    nats = claims.get("nats")
    if not isinstance(nats, dict) or nats.get("type") != kind or nats.get("version") != 2:
        raise failure("jwt-kind", f"the token ({kind} expected)", path)
    return claims


def _json(part: str, path: Path) -> dict[str, Any]:
    try:
        data = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
        value = json.loads(data)
    except (ValueError, binascii.Error, RecursionError):
        raise failure("jwt", "the token", path) from None
    if not isinstance(value, dict):
        raise failure("jwt", "the token", path)
    return value


def _list(nats: dict[str, Any], name: str) -> list[Any]:
    value = nats.get(name)
    return value if isinstance(value, list) else []


def _silent(nats: dict[str, Any]) -> bool:
    """Does the user say nothing of its own, so that the account decides?"""
    sides = [nats.get(verb) or {} for verb in ("pub", "sub")]
    named = any(side.get(name) for side in sides if isinstance(side, dict) for name in side)
    return not named and nats.get("resp") is None


def _lists(nats: dict[str, Any], path: Path) -> Permissions:
    lists: dict[str, Any] = {}
    dead = []
    for verb, name in (("publish", "pub"), ("subscribe", "sub")):
        side = nats.get(name) or {}
        if not isinstance(side, dict):
            raise failure("jwt", name, path, field=name)
        for kind in ("allow", "deny"):
            entries = side.get(kind)
            if entries is None:
                continue
            if not isinstance(entries, list) or not all(isinstance(e, str) for e in entries):
                raise failure("jwt", f"{name}.{kind}", path, field=name)
            field = f"{verb}_{kind}"
            for entry in entries:
                if len(_BLANK.split(entry)) > 2:  # one blank or tab, where a configuration has many
                    raise failure("queue-words", entry, path, field=field)
            alive = [entry for entry in entries if not _dead(entry, verb)]
            dead += [(field, entry) for entry in entries if _dead(entry, verb)]
            if entries or (field == "publish_allow" and side.get("deny")):
                lists[field] = alive
    limit = nats.get("resp")
    if limit is not None:
        if not isinstance(limit, dict):
            raise failure("jwt", "resp", path, field="resp")
        limit = ResponseLimit(int(limit.get("max") or 0), (limit.get("ttl") or 0) / 1e9)
        lists.setdefault("publish_allow", [])
    try:
        permissions = Permissions(**lists, allow_responses=limit)
    except SubtrieError as error:
        raise placed(error, path, None) from None
    permissions.dead = tuple(dead)
    return permissions


def _dead(entry: str, verb: str) -> bool:
    """``>`` before the end loads from a JWT, and matches nothing."""
    subject = entry.split(" ")[0] if verb == "subscribe" else entry
    return ">" in subject.split(".")[:-1]


def _verify(token: str, claims: dict[str, Any], keys: set[Any], path: Path) -> None:
    """The token is signed by its issuer, and the issuer is one of the keys."""
    issuer = claims.get("iss")
    if issuer not in keys or not isinstance(issuer, str):
        raise failure("jwt-chain", "the issuer", path)
    try:
        import nacl.exceptions
        import nacl.signing
    except ImportError:
        raise ImportError("checking a chain needs PyNaCl: pip install 'subtrie[creds]'") from None
    signed, _, signature = token.strip().rpartition(".")
    try:
        key = base64.b32decode(issuer + "=" * (-len(issuer) % 8))[1:33]
        raw = base64.b64decode(signature + "=" * (-len(signature) % 4), altchars=b"-_")
        nacl.signing.VerifyKey(key).verify(signed.encode(), raw)
    except (ValueError, binascii.Error, nacl.exceptions.CryptoError):
        raise failure("jwt-signature", "the token", path) from None
