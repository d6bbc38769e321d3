"""Permissions signed with an account's key: a user JWT and its creds file (T16, T17).

Needs ``nkeys`` (the extra ``creds``), which signs with PyNaCl; there is no cryptography of our own.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from .._errors import refusal
from ..acl import Permissions
from ._keys import fresh_seed, key_of
from ._size import HEADER, Plan, claims, encoded, plan, unpadded

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
    and for a JWT with which CONNECT would be longer than the
    broker's control line (the costliest rules are named), ``ImportError`` without ``nkeys``.
    """
    if not permissions.known:
        raise refusal("PermissionsError", "account-decides", name)
    account = key_of(account_seed, "SA")
    user = key_of(user_seed if user_seed is not None else fresh_seed(), "SU")
    check_size(plan(permissions, name=name, expires=expires, issuer_account=issuer_account), name)
    issuer, subject = account.public_key.decode(), user.public_key.decode()
    body = claims(permissions, name, issuer, subject, expires, issuer_account)
    signed = b".".join(encoded(part) for part in (HEADER, body))
    jwt = b".".join((signed, unpadded(account.sign(signed)))).decode()
    return Creds(name, subject, jwt, user.seed.decode())


def check_size(planned: Plan, name: str) -> None:
    """Raises ``PermissionsError`` that names the costliest rules where the JWT does not fit."""
    if planned.fits:
        return
    error = refusal("PermissionsError", "jwt-size", f"{name}: {planned}")
    costs = (f"{verb} {rule} ({cost} bytes)" for verb, rule, cost in planned.costliest)
    error.args = (f"{error.args[0]}; the costliest: {', '.join(costs)}",)
    raise error


def write(creds: Creds, path: str | Path) -> None:
    """Writes the creds file: readable by its owner alone, whole or not at all.

    Raises ``OSError``. A link at ``path`` is replaced, not followed.
    """
    write_all([(creds.text, path)])


def write_all(files: list[tuple[str, str | Path]]) -> None:
    """Writes texts to files of mode 0600. All are on the disk before the first takes its name.

    Raises ``OSError``.
    """
    parts: list[tuple[Path, Path]] = []
    try:
        for number, (text, given) in enumerate(files):
            path = Path(given)
            if path.is_dir() and not path.is_symlink():
                raise IsADirectoryError(f"{path} is a folder")
            part = path.with_name(f".{path.name}.{os.getpid()}.{number}.part")
            part.unlink(missing_ok=True)
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            parts.append((part, path))
            with os.fdopen(handle, "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        for part, path in parts:
            part.replace(path)
    finally:
        for part, _ in parts:
            part.unlink(missing_ok=True)
