"""Permissions from where they stand: server configuration, ``.creds``, user JWT, our JSON.

What nats-server refuses to load is refused here, with file, line and entry; where it is unclear
what it would do, that is refused too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..._file_errors import failure
from .config_parser import parse_file
from .config_users import chosen, users_of
from .files import check_private, read_text
from .jwt import found_in_jwt
from .loaded import Found
from .subtrie_json import found_in_json

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
) -> Found:
    """Reads what a file says of one user, told apart by content. See ``Permissions.load``."""
    path = Path(path)
    text = read_text(path)
    single = _single(path, text, account_jwt, trusted)
    if single is not None:
        return single
    folder = Path(root) if root is not None else path.parent
    document = parse_file(path, os.environ if env is None else env, folder)
    return chosen(document, path, user=user, account=account)


def load_all(
    path: str | Path,
    *,
    account_jwt: str | None = None,
    trusted: Iterable[str] = (),
    env: Mapping[str, str] | None = None,
    root: str | Path | None = None,
) -> dict[str, Found]:
    """Reads what a file says of every user in it, by name. See ``Permissions.load_all``."""
    path = Path(path)
    text = read_text(path)
    single = _single(path, text, account_jwt, trusted)
    if single is not None:
        return {"": single}
    folder = Path(root) if root is not None else path.parent
    document = parse_file(path, os.environ if env is None else env, folder)
    return users_of(document)


def _single(path: Path, text: str, account_jwt: str | None, trusted: Iterable[str]) -> Found | None:
    """What a file of one user says; None where it is a server configuration."""
    stripped = text.strip()
    jwts = _BLOCK.findall(text)
    if jwts or "BEGIN NATS USER JWT" in text:
        if len(jwts) != 1 or text.count("BEGIN USER NKEY SEED") > 1:
            raise failure("creds-blocks", path.name, path)
        check_private(path)
        return found_in_jwt(jwts[0], path, account_jwt, trusted)
    if _JWT.fullmatch(stripped):
        return found_in_jwt(stripped, path, account_jwt, trusted)
    if stripped.startswith("{") and _is_own(stripped):
        return found_in_json(text, path)
    return None


def _is_own(text: str) -> bool:
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False  # perhaps a configuration
    return isinstance(document, dict) and "subtrie" in document
