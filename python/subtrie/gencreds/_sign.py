"""Permissions signed with an account's key: a user JWT and its creds file.

Needs ``nkeys`` (the extra ``creds``), which signs with PyNaCl; no cryptography is implemented here.
"""

# T16, T17

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .._core.errors import refusal
from .._nats.creds_file import format_creds
from .._nats.jwt import signing_input, unpadded_base64, user_claims
from .._nats.nkey import fresh_seed, key_pair
from ..acl import Permissions
from ._size import Plan, claims_of_permissions, plan

#: The end of the names of files that are not complete yet.
_PART = ".subtrie-part"


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Creds:
    """A signed user. ``jwt`` and ``seed`` are secret: the ``repr`` shows neither.

    Attributes:
        name: the user's name.
        public_key: the user's public key (``U…``).
        jwt: the signed token.
        seed: the seed of the user's key (``SU…``).
    """

    name: str
    public_key: str
    jwt: str
    seed: str

    @property
    def text(self) -> str:
        """The text of the creds file."""
        return format_creds(self.jwt, self.seed)

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
    """Sign a user of an account with these permissions.

    Args:
        permissions: what the user may do.
        account_seed: the account's seed (``SA…``), or that of a signing key of ``issuer_account``.
        name: the user's name.
        expires: seconds from now until the token expires; None for never.
        issuer_account: the account's public key, if a signing key of it signs.
        user_seed: the seed of the user's key (``SU…``); by default a fresh one is made.

    Raises:
        PermissionsError: a seed of another kind, undetermined permissions, or a JWT with which
            CONNECT would exceed the broker's control line; the message names the costliest rules.
        ImportError: the package ``nkeys`` is missing.
    """
    if not permissions.determined:
        raise refusal("PermissionsError", "account-decides", name)
    account = key_pair(account_seed, "SA")
    user = key_pair(user_seed if user_seed is not None else fresh_seed(), "SU")
    check_size(plan(permissions, name=name, expires=expires, issuer_account=issuer_account), name)
    issuer, subject = account.public_key.decode(), user.public_key.decode()
    lists = claims_of_permissions(permissions)
    claims = user_claims(lists, name, issuer, subject, expires, issuer_account)
    signed = signing_input(claims)
    jwt = b".".join((signed, unpadded_base64(account.sign(signed)))).decode()
    return Creds(name, subject, jwt, user.seed.decode())


def check_size(planned: Plan, name: str) -> None:
    """Raise ``PermissionsError`` that names the costliest rules if the JWT does not fit.

    Args:
        planned: what ``plan`` returned.
        name: the user's name, for the message.
    """
    if planned.fits:
        return
    error = refusal("PermissionsError", "jwt-size", f"{name}: {planned}")
    costs = (f"{verb} {rule} ({cost} bytes)" for verb, rule, cost in planned.costliest)
    error.args = (f"{error.args[0]}; the costliest: {', '.join(costs)}",)
    raise error


def write(creds: Creds, path: str | Path) -> None:
    """Write a creds file with mode 0600, atomically. A link at ``path`` is replaced, not followed.

    Args:
        creds: what ``sign`` returned.
        path: the file.

    Raises:
        OSError: the file cannot be written.
    """
    write_all([(creds.text, path)])


def write_all(files: list[tuple[str, str | Path]]) -> None:
    """Write texts to files with mode 0600; all are on the disk before the first is renamed.

    What a run that was killed has left in the folders is removed. Runs that write into one folder
    wait for each other (POSIX only).

    Raises ``OSError``; then no file is changed unless renaming itself failed.
    """
    paths = [Path(given) for _, given in files]
    with ExitStack() as locks:
        for folder in sorted({path.parent for path in paths}):
            locks.enter_context(_locked(folder))
            for left in folder.glob(f".*{_PART}"):
                left.unlink(missing_ok=True)
        _write_and_rename([(text, path) for (text, _), path in zip(files, paths, strict=True)])


def _write_and_rename(files: list[tuple[str, Path]]) -> None:
    parts: list[tuple[Path, Path]] = []
    try:
        for number, (text, path) in enumerate(files):
            if path.is_dir() and not path.is_symlink():
                raise IsADirectoryError(f"{path} is a folder")
            part = path.with_name(f".{path.name}.{number}{_PART}")
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


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which ends with the process however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows, where a folder cannot be locked
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
