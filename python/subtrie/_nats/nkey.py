"""NKeys: Ed25519 keys in base32, whose first letters say what they are for.

A seed is never part of a message. Signing needs the package ``nkeys`` (the extra ``creds``).
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from pathlib import Path
from typing import Any

from .._core.errors import refusal
from .._core.extras import install_command
from .._core.file_errors import file_error
from .secret_file import secret_file_fault

#: First bytes of public keys: of an operator (O), an account (A), a user (U), a curve key (X).
OPERATOR_KEY, ACCOUNT_KEY, USER_KEY, CURVE_KEY = 14 << 3, 0, 20 << 3, 23 << 3

#: The first byte of a key, by the first letters of its seed.
_PREFIX = {"SO": OPERATOR_KEY, "SA": ACCOUNT_KEY, "SU": USER_KEY}
_KINDS = {
    "SA": "an account seed",
    "SO": "an operator seed",
    "SU": "a user seed",
    "SN": "a server seed",
    "SC": "a cluster seed",
    "SX": "a curve seed",
}
_SEED = re.compile(rb"^[ \t]*(S[A-Z][A-Z2-7]{20,})[ \t\r]*$", re.M)
_SEED_ANYWHERE = re.compile(r"S[A-Z][A-Z2-7]{30,}")
_MOST_BYTES = 65_536


def is_public_key(text: str, prefix: int) -> bool:
    """Return True for a public key of this kind: base32 of prefix, 32 bytes and checksum."""
    try:
        raw = base64.b32decode(text + "=" * (-len(text) % 8))
    except (ValueError, binascii.Error):
        return False
    checksum = int.from_bytes(raw[-2:], "little")
    return len(raw) == 35 and raw[0] == prefix and binascii.crc_hqx(raw[:-2], 0) == checksum


def public_bytes(public_key: str) -> bytes:
    """Return the 32 bytes of a public key. Raises ``ValueError`` if it is not base32."""
    return base64.b32decode(public_key + "=" * (-len(public_key) % 8))[1:33]


def holds_seed(text: str) -> bool:
    """Return True if the text contains a seed of any kind."""
    return _SEED_ANYWHERE.search(text) is not None


def key_pair(seed: str, kind: str) -> Any:
    """Return the key pair of a seed.

    Args:
        seed: the text of the seed.
        kind: ``SO`` for an operator, ``SA`` for an account, ``SU`` for a user.

    Raises:
        PermissionsError: a seed of another kind (``seed-kind``), or not a seed (``seed``).
        ImportError: the package ``nkeys`` is missing.
    """
    nkeys = nkeys_package()
    if not isinstance(seed, str):
        raise TypeError(f"a seed must be str, not {type(seed).__name__}")
    seed = seed.strip()
    if not seed.startswith(kind):
        given = _KINDS.get(seed[:2], "something else")
        raise refusal("PermissionsError", "seed-kind", f"{given} in place of {_KINDS[kind]}")
    try:
        key = nkeys.from_seed(seed.encode())
        again = nkeys.encode_seed(nkeys.decode_seed(seed.encode())[1], _PREFIX[kind])
    except Exception:  # whatever is wrong with it, its text stays out of the report
        raise refusal("PermissionsError", "seed", f"the seed {kind}…") from None
    if again.decode() != seed:
        raise refusal("PermissionsError", "seed", f"the seed {kind}…")
    return key


def fresh_seed(kind: str = "SU") -> str:
    """Return the seed of a new key.

    Args:
        kind: ``SU`` for a user, ``SA`` for an account, ``SO`` for an operator.

    Raises:
        ImportError: the package ``nkeys`` is missing.
    """
    seed: bytes = nkeys_package().encode_seed(os.urandom(32), _PREFIX[kind])
    return seed.decode()


def nkeys_package() -> Any:
    """Import the package that signs. Raises ``ImportError`` that says how to install it."""
    try:
        import nkeys
    except ImportError:
        raise ImportError(f"signing needs nkeys: {install_command('creds')}") from None
    return nkeys


def seed_in(path: str | Path) -> str:
    """Return the one seed in a file, bare or between dashed lines.

    Raises:
        PermissionsError: the group or others may read the file (``creds-mode``), it is a link that
            ends outside its folder (``creds-link``), or it does not hold one seed (``seed``).
        OSError: the file cannot be read.
    """
    path = Path(path)
    check_secret_file(path)
    with path.open("rb") as file:
        return seed_of(file.read(_MOST_BYTES), path)


def seed_of(data: bytes, path: Path | None = None) -> str:
    """Return the one seed in a text.

    Args:
        data: the text, as bytes.
        path: the file it was read from, for the message.

    Raises:
        PermissionsError: there is not exactly one seed (``seed``).
    """
    found = _SEED.findall(data)
    if len(found) != 1:
        raise file_error("seed", f"{len(found)} seeds where one is expected", path)
    seed: bytes = found[0]
    return seed.decode()


def check_secret_file(path: Path, *, allow_readable: bool = False) -> None:
    """Raise ``PermissionsError`` if a file with a seed may not be used: see ``secret_file``."""
    fault = secret_file_fault(path, allow_readable=allow_readable)
    if fault is not None:
        raise file_error("creds-link" if fault == "link" else "creds-mode", path.name, path)
