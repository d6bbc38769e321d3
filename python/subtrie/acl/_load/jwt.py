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

from ..._errors import SubtrieError
from ..._file_errors import failure, placed
from .._response_limit import ResponseLimit
from .._rule_entry import checked
from .loaded import Found

_BLANK = re.compile("[ \t]")
#: The names of claims that are read here.
_NAMES = {
    "typ", "alg", "iss", "sub", "nats", "type", "version", "issuer_account", "pub", "allow", "deny",
    "resp", "max", "ttl", "signing_keys", "key", "template", "default_permissions",
}  # fmt: skip

#: Most bytes of a token that are decoded.
MAX_JWT = 1024 * 1024


def found_in_jwt(token: str, path: Path, account_jwt: str | None, trusted: Iterable[str]) -> Found:
    """What a user's JWT grants. Unknown where the account decides and is not given."""
    claims = claims_of(token, path, "user")
    nats = claims["nats"]
    own = _lists(nats, path)
    trusted = tuple(trusted)
    if account_jwt is None:
        if trusted:
            raise failure("jwt-chain", "the chain", path)
        return Found.unknown() if own is None else own
    account = claims_of(account_jwt, path, "account")
    if account["sub"] != (nats.get("issuer_account") or claims["iss"]):
        raise failure("jwt-chain", "the account JWT", path)
    scopes = _signing_keys(account["nats"], path)
    _verify(token, claims, {account["sub"], *scopes}, path)
    if trusted:
        _verify(account_jwt, account, set(trusted), path)
    scope = scopes.get(claims["iss"])
    if scope is None:
        return own or _granted(account["nats"].get("default_permissions"), path)
    if own is not None:
        # Whoever is signed by a scoped key has no lists of its own.
        raise failure("jwt-scoped", "the token", path)
    return _granted(scope.get("template"), path)


def _granted(lists: Any, path: Path) -> Found:
    """What an account grants; templates are filled at login only, so they stay unknown."""
    if "{{" in json.dumps(lists):
        return Found.unknown()
    return (_lists(_object(lists, "the account's lists", path), path)) or Found()


def _signing_keys(nats: dict[str, Any], path: Path) -> dict[str, dict[str, Any] | None]:
    """The account's signing keys, each with its scope or None."""
    found: dict[str, dict[str, Any] | None] = {}
    for each in _array(nats.get("signing_keys"), "signing_keys", path):
        key = each.get("key") if isinstance(each, dict) else each
        if not isinstance(key, str):
            raise failure("jwt", "signing_keys", path)
        found[key] = each if isinstance(each, dict) else None
    return found


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
    for name, of in (("iss", claims), ("sub", claims), ("issuer_account", nats)):
        if not isinstance(of.get(name, "" if of is nats else None), str):
            raise failure("jwt", name, path)
    return claims


def _json(part: str, path: Path) -> dict[str, Any]:
    try:
        data = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
        value = json.loads(data, object_pairs_hook=_once)
    except (ValueError, binascii.Error, RecursionError):
        raise failure("jwt", "the token", path) from None
    if not isinstance(value, dict):
        raise failure("jwt", "the token", path)
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; the broker takes names in any case, and of equal ones some of each."""
    values = dict(pairs)
    if len({name.casefold() for name in values}) < len(pairs):
        raise ValueError("a name stands twice")
    if any(name.casefold() in _NAMES and name not in _NAMES for name in values):
        raise ValueError("a name is written in another case")
    return values


def _object(value: Any, name: str, path: Path) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise failure("jwt", name, path, field=name)
    return value


def _array(value: Any, name: str, path: Path) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise failure("jwt", name, path, field=name)
    return value


def _lists(nats: dict[str, Any], path: Path) -> Found | None:
    """The lists of a user, or of what an account grants; None where none says anything."""
    found = Found()
    said = False
    for verb, name in (("publish", "pub"), ("subscribe", "sub")):
        sides = _object(nats.get(name), name, path)
        for kind in ("allow", "deny"):
            entries = _array(sides.get(kind), f"{name}.{kind}", path)
            field = f"{verb}_{kind}"
            alive: list[str] = []
            for entry in entries:
                if not isinstance(entry, str):
                    raise failure("jwt", f"{name}.{kind}", path, field=field)
                if len(_BLANK.split(entry)) > 2:  # one blank or tab, where a configuration has many
                    raise failure("queue-words", entry, path, field=field)
                if _dead(entry, verb):
                    found.dead = (*found.dead, (field, entry))
                    continue
                try:
                    alive += checked([entry], field, "server", verb == "subscribe") or ()
                except SubtrieError as error:
                    raise placed(error, path, None) from None
            said |= bool(entries)
            # An empty list counts beside a deny when it is the one of publish.
            if entries or (
                field == "publish_allow" and sides.get(kind) == [] and sides.get("deny")
            ):
                setattr(found, field, tuple(alive))
    limit = nats.get("resp")
    if limit is not None:
        limit = _object(limit, "resp", path)
        numbers = [limit.get("max", 0), limit.get("ttl", 0)]
        if any(type(number) is not int for number in numbers):
            raise failure("jwt", "resp", path, field="resp")
        found.allow_responses = ResponseLimit(numbers[0], numbers[1] / 1e9)
        if found.publish_allow is None:
            found.publish_allow = ()
    return found if said or limit is not None else None


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
