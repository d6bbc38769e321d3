"""Permissions from a server configuration, a ``.creds`` file, a user JWT, or subtrie JSON.

What nats-server refuses to load is refused here, with file, line and entry; so is what it reads in
a way that cannot be foreseen.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..._file_errors import file_error
from ..._nats.creds_file import is_creds, jwt_in_creds
from ..._nats.nkey import check_secret_file
from .config_parser import parse_file
from .config_users import permissions_of_user, permissions_of_users
from .files import read_text
from .jwt import permissions_in_jwt
from .loaded import LoadedPermissions
from .subtrie_json import permissions_in_json

_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


def load(
    path: str | Path,
    *,
    user: str | None = None,
    account: str | None = None,
    account_jwt: str | None = None,
    trusted: Iterable[str] = (),
    allow_readable: bool = False,
    env: Mapping[str, str] | None = None,
    root: str | Path | None = None,
) -> LoadedPermissions:
    """Read what a file grants one user, in any format: see ``Permissions.load``."""
    path = Path(path)
    text = read_text(path)
    single = _single_user(path, text, account_jwt, trusted, allow_readable)
    if single is not None:
        return single
    folder = Path(root) if root is not None else path.parent
    document = parse_file(path, os.environ if env is None else env, folder)
    return permissions_of_user(document, path, user=user, account=account)


def load_all(
    path: str | Path,
    *,
    account_jwt: str | None = None,
    trusted: Iterable[str] = (),
    allow_readable: bool = False,
    env: Mapping[str, str] | None = None,
    root: str | Path | None = None,
) -> dict[str, LoadedPermissions]:
    """Read what a file grants each user in it, by name: see ``Permissions.load_all``."""
    path = Path(path)
    text = read_text(path)
    single = _single_user(path, text, account_jwt, trusted, allow_readable)
    if single is not None:
        return {"": single}
    folder = Path(root) if root is not None else path.parent
    document = parse_file(path, os.environ if env is None else env, folder)
    return permissions_of_users(document)


def _single_user(
    path: Path,
    text: str,
    account_jwt: str | None,
    trusted: Iterable[str],
    allow_readable: bool,
) -> LoadedPermissions | None:
    """The permissions in a file of one user; None for a server configuration."""
    stripped = text.strip()
    if is_creds(text):
        token = jwt_in_creds(text)
        if token is None:
            raise file_error("creds-blocks", path.name, path)
        check_secret_file(path, allow_readable=allow_readable)
        return permissions_in_jwt(token, path, account_jwt, trusted)
    if _JWT.fullmatch(stripped):
        return permissions_in_jwt(stripped, path, account_jwt, trusted)
    if stripped.startswith("{") and _is_subtrie_json(stripped):
        return permissions_in_json(text, path)
    return None


def _is_subtrie_json(text: str) -> bool:
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False  # perhaps a configuration
    return isinstance(document, dict) and "subtrie" in document
