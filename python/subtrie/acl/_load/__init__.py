"""Permissions from a server configuration, a ``.creds`` file, a user JWT, or subtrie JSON.

What nats-server refuses to load is refused here, with file, line and entry; so is what it reads in
a way that cannot be foreseen.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..._core.file_errors import file_error
from ..._nats.creds_file import is_creds, jwt_in_creds, line_of
from ..._nats.jwt import kind_of_token
from ..._nats.nkey import check_secret_file
from .config_parser import parse_file
from .config_users import permissions_of_user, permissions_of_users
from .deployments import JWT, is_address, load_deployment
from .files import read_text
from .jwt import permissions_in_jwt
from .loaded import LoadedPermissions
from .snapshots import documents_in
from .subtrie_json import is_subtrie_json, permissions_in_json


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
    single = _single_user(path, account_jwt, trusted, allow_readable)
    if single is not None:
        return single
    if _several_files(path):
        users = load_all(path, allow_readable=allow_readable, env=env, root=root)
        return _chosen(users, path, user, account)
    path = Path(path)
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
    single = _single_user(path, account_jwt, trusted, allow_readable)
    if single is not None:
        return {"": single}
    if _several_files(path):
        sources = [path]
        return load_deployment(sources, env=env, root=root, allow_readable=allow_readable).users
    path = Path(path)
    folder = Path(root) if root is not None else path.parent
    document = parse_file(path, os.environ if env is None else env, folder)
    return permissions_of_users(document)


def holds_one_user(path: str | Path) -> bool:
    """Return True for a file of one user: a creds file, a user's JWT, subtrie permissions JSON."""
    if is_address(path) or Path(path).is_dir():
        return False
    text = read_text(Path(path))
    if JWT.fullmatch(text.strip()):
        return kind_of_token(text.strip(), Path(path)) not in ("account", "operator")
    return is_creds(text) or is_subtrie_json(text)


def is_configuration(path: str | Path) -> bool:
    """Return True for a file that is none of the other formats."""
    if is_address(path) or Path(path).is_dir():
        return False
    text = read_text(Path(path))
    of_token = is_creds(text) or JWT.fullmatch(text.strip()) or is_subtrie_json(text)
    return not of_token and documents_in(text) is None


def _several_files(path: str | Path) -> bool:
    """True for a running broker, its saved answers, and a folder of JWTs."""
    if is_address(path) or Path(path).is_dir():
        return True
    return documents_in(read_text(Path(path))) is not None


def _chosen(
    users: Mapping[str, LoadedPermissions], path: str | Path, user: str | None, account: str | None
) -> LoadedPermissions:
    """The user that is named, or the only one."""
    fitting = []
    for label, permissions in users.items():
        where, _, name = label.rpartition("/")
        if user in (None, name, label) and account in (None, where):
            fitting.append(permissions)
    if len(fitting) == 1:
        return fitting[0]
    reason = "several-users" if fitting else "user-unknown"
    raise file_error(reason, ", ".join(users), Path(path))


def _single_user(
    path: str | Path,
    account_jwt: str | None,
    trusted: Iterable[str],
    allow_readable: bool,
) -> LoadedPermissions | None:
    """The permissions in a file of one user; None for an input of several."""
    if is_address(path) or Path(path).is_dir():
        return None
    path = Path(path)
    text = read_text(path)
    stripped = text.strip()
    if is_creds(text):
        token = jwt_in_creds(text)
        if token is None:
            raise file_error("creds-blocks", path.name, path)
        check_secret_file(path, allow_readable=allow_readable)
        return permissions_in_jwt(token, path, account_jwt, trusted, line_of(token, text))
    if JWT.fullmatch(stripped):
        return permissions_in_jwt(stripped, path, account_jwt, trusted, line_of(stripped, text))
    if is_subtrie_json(text):
        return permissions_in_json(text, path)
    return None
