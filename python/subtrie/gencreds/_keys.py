"""Keys of NATS: which kind a seed is, and the files that hold them (T16, T17).

A seed is never part of a message. Files that others may read are refused, and links that leave
their folder.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

from .._errors import refusal
from .._file_errors import failure

#: The first byte of a key, by the first letters of its seed.
_PREFIX = {"SA": 0, "SU": 20 << 3}
_KINDS = {
    "SA": "an account's seed",
    "SO": "an operator's seed",
    "SU": "a user's seed",
    "SN": "a server's seed",
    "SC": "a cluster's seed",
    "SX": "a curve's seed",
}
_SEED = re.compile(rb"^\s*(S[A-Z][A-Z2-7]{20,})\s*$", re.M)
_MOST_BYTES = 65_536


def key_of(seed: str, kind: str) -> Any:
    """The key of a seed of this kind, ``SA`` or ``SU``. Raises ``PermissionsError``."""
    nkeys = needed()
    if not isinstance(seed, str):
        raise TypeError(f"a seed must be str, not {type(seed).__name__}")
    seed = seed.strip()
    if not seed.startswith(kind):
        what = _KINDS.get(seed[:2], "something that is no seed")
        raise refusal("PermissionsError", "seed-kind", f"{what} in the place of {_KINDS[kind]}")
    try:
        key = nkeys.from_seed(seed.encode())
        again = nkeys.encode_seed(nkeys.decode_seed(seed.encode())[1], _PREFIX[kind])
    except Exception:  # whatever is wrong with it, its text stays out of the report
        raise refusal("PermissionsError", "seed", f"the seed {kind}…") from None
    if again.decode() != seed:
        raise refusal("PermissionsError", "seed", f"the seed {kind}…")
    return key


def fresh_seed() -> str:
    """The seed of a new user."""
    seed: bytes = needed().encode_seed(os.urandom(32), _PREFIX["SU"])
    return seed.decode()


def needed() -> Any:
    """The package that signs. Raises ``ImportError``."""
    try:
        import nkeys
    except ImportError:
        raise ImportError("signing needs nkeys: pip install 'subtrie[creds]'") from None
    return nkeys


def seed_in(path: str | Path) -> str:
    """The one seed in a file, bare or between dashed lines.

    Raises ``PermissionsError``: others may read the file (``creds-mode``), it is a link that leaves
    its folder (``creds-link``), there is not one seed (``seed``); ``OSError``.
    """
    path = Path(path)
    status = path.stat()
    piped = stat.S_ISFIFO(status.st_mode)  # as a shell hands over: nobody else reads that
    if not piped:
        if path.is_symlink() and path.resolve().parent != path.parent.resolve():
            raise failure("creds-link", path.name, path)
        if os.name == "posix" and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise failure("creds-mode", path.name, path)
    with path.open("rb") as file:
        return seed_of(file.read(_MOST_BYTES), path)


def seed_of(data: bytes, path: Path | None = None) -> str:
    """The one seed in a text. Raises ``PermissionsError``."""
    found = _SEED.findall(data)
    if len(found) != 1:
        raise failure("seed", f"{len(found)} seeds where one is expected", path)
    seed: bytes = found[0]
    return seed.decode()
