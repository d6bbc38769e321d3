"""Permissions from where they stand: server configuration, ``.creds``, user JWT, our JSON.

What nats-server refuses to load is refused here, with file, line and entry; where it is unclear
what it would do, that is refused too.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..permissions import Permissions
from .conf import parse_file
from .config_users import chosen
from .failure import failure
from .jwt import permissions_of_jwt
from .own import from_json

#: The largest file that is read, in bytes.
MAX_FILE = 16 * 1024 * 1024

_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_BLOCK = re.compile(
    r"-{3,}\s*BEGIN NATS USER JWT\s*-{3,}\s*([A-Za-z0-9_.=-]+)\s*-{3,}\s*END NATS USER JWT\s*-{3,}"
)


def load(
    path: str | Path,
    *,
    user: str | None = None,
    account: str | None = None,
    account_jwt: str | None = None,
    trusted: Iterable[str] = (),
    env: Mapping[str, str] | None = None,
    root: str | Path | None = None,
) -> Permissions:
    """Reads permissions from a file, told apart by content. See ``Permissions.load``."""
    path = Path(path)
    text = read_text(path)
    stripped = text.strip()
    jwts = _BLOCK.findall(text)
    if jwts or "BEGIN NATS USER JWT" in text:
        if len(jwts) != 1 or text.count("BEGIN USER NKEY SEED") > 1:
            raise failure("creds-blocks", path.name, path)
        check_private(path)
        return permissions_of_jwt(jwts[0], path, account_jwt, trusted)
    if _JWT.fullmatch(stripped):
        return permissions_of_jwt(stripped, path, account_jwt, trusted)
    if stripped.startswith("{"):
        own = _own(stripped)
        if own is not None:
            return from_json(own, path)
    folder = Path(root) if root is not None else path.parent
    document = parse_file(path, os.environ if env is None else env, folder)
    return chosen(document, path, user=user, account=account)


def read_text(path: Path) -> str:
    """The text of a file of bearable size. Raises ``OSError`` or ``PermissionsError``."""
    with path.open("rb") as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise failure("file-size", path.name, path)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise failure("utf8", path.name, path) from None


def check_private(path: Path) -> None:
    """A file with a seed is its owner's alone, and no link that leaves its folder (A30)."""
    if path.is_symlink() and path.resolve().parent != path.parent.resolve():
        raise failure("creds-link", path.name, path)
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise failure("creds-mode", path.name, path)


def _own(text: str) -> dict[str, Any] | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None  # perhaps a configuration
    return document if isinstance(document, dict) and "subtrie" in document else None
