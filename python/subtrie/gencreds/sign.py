"""Permissions signed with an account's key: a user JWT and its creds file (T16, T17).

Needs ``nkeys`` (the extra ``creds``), which signs with PyNaCl; there is no cryptography of our own.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from ..acl import Permissions
from ..acl.lint import CONTROL_LINE
from ..errors import refusal

_CREDS = """-----BEGIN NATS USER JWT-----
{jwt}
------END NATS USER JWT------

************************* IMPORTANT *************************
The seed below is a secret: whoever has it is this user.

-----BEGIN USER NKEY SEED-----
{seed}
------END USER NKEY SEED------

*************************************************************
"""


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Creds:
    """A signed user. ``jwt`` and ``seed`` are secret: printing this shows neither."""

    name: str
    public_key: str
    jwt: str
    seed: str

    @property
    def text(self) -> str:
        """The creds file."""
        return _CREDS.format(jwt=self.jwt, seed=self.seed)

    def __repr__(self) -> str:
        return f"Creds(name={self.name!r}, public_key={self.public_key!r}, ***)"


def sign(
    permissions: Permissions,
    account_seed: str,
    *,
    name: str,
    expires: float | None = None,
    issuer_account: str | None = None,
    user_seed: str | None = None,
) -> Creds:
    """A user of the account with these permissions.

    ``account_seed`` is the account's (``SA…``), or that of a signing key of ``issuer_account``;
    ``expires`` is a number of seconds from now; ``user_seed`` keeps the user's key, a fresh one is
    made otherwise. Raises ``PermissionsError`` for a seed of another kind, for unknown permissions
    and for a JWT beyond the broker's control line, ``ImportError`` without ``nkeys``.
    """
    if not permissions.known:
        raise refusal("PermissionsError", "account-decides", name)
    account = _key(account_seed, "SA")
    user = _key(user_seed if user_seed is not None else _fresh_seed(), "SU")
    now = int(time.time())
    claims: dict[str, Any] = {"jti": "", "iat": now}
    if expires is not None:
        claims["exp"] = now + round(expires)
    nats: dict[str, Any] = {**_lists(permissions), "subs": -1, "data": -1, "payload": -1}
    nats |= {"type": "user", "version": 2}
    if issuer_account is not None:
        nats["issuer_account"] = issuer_account
    claims |= {"iss": account.public_key.decode(), "name": name}
    claims |= {"sub": user.public_key.decode(), "nats": nats}
    digest = hashlib.new("sha512_256", _json(claims)).digest()
    claims["jti"] = base64.b32encode(digest).decode().rstrip("=")
    header = {"typ": "JWT", "alg": "ed25519-nkey"}
    signed = b".".join(_base64(_json(part)) for part in (header, claims))
    jwt = b".".join((signed, _base64(account.sign(signed)))).decode()
    if len(jwt) > CONTROL_LINE:
        raise refusal("PermissionsError", "jwt-size", f"{name}: {len(jwt)} bytes")
    return Creds(name, user.public_key.decode(), jwt, user.seed.decode())


def write(creds: Creds, path: str | Path) -> None:
    """Writes the creds file: readable by its owner alone, whole or not at all.

    Raises ``OSError``. A link at ``path`` is replaced, not followed.
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(creds.text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _key(seed: str, kind: str) -> Any:
    """The key of a seed of this kind. The seed itself is never part of a message."""
    nkeys = _nkeys()
    if not isinstance(seed, str):
        raise TypeError(f"a seed must be str, not {type(seed).__name__}")
    seed = seed.strip()
    if not seed.startswith(kind):
        raise refusal("PermissionsError", "seed-kind", f"a seed other than {kind}…")
    try:
        key = nkeys.from_seed(seed.encode())
        again = nkeys.encode_seed(nkeys.decode_seed(seed.encode())[1], _PREFIX[kind])
    except Exception:  # whatever is wrong with it, its text stays out of the report
        raise refusal("PermissionsError", "seed", f"the seed {kind}…") from None
    if again.decode() != seed:
        raise refusal("PermissionsError", "seed", f"the seed {kind}…")
    return key


#: The first byte of a key, by the first letters of its seed.
_PREFIX = {"SA": 0, "SU": 20 << 3}


def _fresh_seed() -> str:
    seed: bytes = _nkeys().encode_seed(os.urandom(32), _PREFIX["SU"])
    return seed.decode()


def _nkeys() -> Any:
    try:
        import nkeys
    except ImportError:
        raise ImportError("signing needs nkeys: pip install 'subtrie[creds]'") from None
    return nkeys


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


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
