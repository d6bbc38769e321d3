"""Accounts and users from any input: configurations, JWTs, a store of nsc, a running broker."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..._core.errors import SubtrieError
from ..._core.file_errors import file_error
from ..._nats.creds_file import is_creds, jwt_in_creds, line_of
from ..._nats.jwt import claims_of, is_revoked, kind_of_token
from ..._nats.nkey import check_secret_file
from .._account import GLOBAL, Account, Import, add_implied
from .account_jwt import account_in_jwt, issued_by_account
from .admission import admission_of
from .config_accounts import accounts_of, system_of
from .config_keys import texts, top_level
from .config_links import cluster_of, links_of
from .config_parser import Node, parse_file
from .config_users import users_of_accounts
from .connections import OPERATORS, OTHER_USERS, USERS_NOT_GIVEN
from .files import STANDARD_INPUT, read_text
from .jwt import permissions_in_jwt
from .loaded import LoadedDeployment, LoadedPermissions
from .snapshots import (
    NOT_TOLD,
    account_in_snapshot,
    connections_in,
    documents_at,
    documents_in,
    shown_address,
)

#: A JWT.
JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")

#: Most files of a store that are read.
MAX_FILES = 100_000


def is_address(source: str | Path) -> bool:
    """Return True if an input is the address of a running broker."""
    return str(source).startswith(("http://", "https://"))


def tokens_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield every JWT below a folder, as nsc keeps them, with its file.

    Raises:
        PermissionsError: no JWT, or too many.
    """
    found = 0
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".jwt"):
                found += 1
                if found > MAX_FILES:
                    raise file_error("store-files", f"{MAX_FILES:,} files", folder)
                path = Path(base, name)
                yield read_text(path).strip(), path
    if not found:
        raise file_error("store-empty", folder.name, folder)


def load_deployment(
    sources: Iterable[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    root: str | Path | None = None,
    allow_readable: bool = False,
) -> LoadedDeployment:
    """Read accounts and users: see ``Deployment.load``."""
    reader = _DeploymentReader(os.environ if env is None else env, root, allow_readable)
    for each in sources:
        reader.read(each)
    return reader.finished()


class _DeploymentReader:
    """Collects what several inputs hold."""

    def __init__(
        self, env: Mapping[str, str], root: str | Path | None, allow_readable: bool
    ) -> None:
        self._env, self._root, self._allow_readable = env, root, allow_readable
        self._loaded = LoadedDeployment()
        #: The names of accounts by public key, and their JWTs.
        self._names: dict[str, str] = {}
        self._tokens: dict[str, tuple[str, Path]] = {}
        self._users: list[tuple[str, Path, int]] = []
        #: The public keys of users that share a name in an account.
        self._keys: dict[tuple[str, str], set[str]] = {}
        #: Why an account cannot be read, by its key.
        self._unread: dict[str, str] = {}
        self._connections: list[tuple[dict[str, Any], Path]] = []
        self._configured = False
        #: True if users have JWTs.
        self._operated = False
        #: The accounts all of whose users are given: their keys.
        self._complete: set[str] = set()

    def read(self, source: str | Path) -> None:
        """Read one input."""
        if is_address(source):
            for document in documents_at(str(source)):
                self._snapshot(document, Path(shown_address(str(source))))
            return
        path = Path(source)
        if path != STANDARD_INPUT and path.is_dir():
            self._store(path)
            return
        text = read_text(path)
        if is_creds(text):
            token = jwt_in_creds(text)
            if token is None:
                raise file_error("creds-blocks", path.name, path)
            check_secret_file(path, allow_readable=self._allow_readable)
            self._token(token, path, line_of(token, text))
        elif JWT.fullmatch(token := text.strip()):
            self._token(token, path, line_of(token, text))
        elif (documents := documents_in(text)) is not None:
            for document in documents:
                self._snapshot(document, path)
        else:
            self._configuration(path)

    def _configuration(self, path: Path) -> None:
        folder = Path(self._root) if self._root is not None else path.parent
        values = top_level(parse_file(path, self._env, folder))
        loaded, self._configured = self._loaded, True
        loaded.cluster, loaded.system = cluster_of(values), system_of(values)
        loaded.links += links_of(values)
        loaded.admission = admission_of(values)
        if (named := values.get("no_auth_user")) is not None and named.value:
            loaded.no_auth_user = str(named.value)
        rows = users_of_accounts(values)
        if "resolver_preload" in values:
            self._preload(values["resolver_preload"], path)
        if not OPERATORS.isdisjoint(values):
            self._operated = True
            self._operators(values, path)
            return
        accounts = accounts_of(values)
        self._complete |= set(accounts)
        loaded.accounts |= accounts
        for label, account, permissions in rows:
            loaded.users[label] = permissions
            loaded.account_of[label] = account

    def _operators(self, values: dict[str, Node], path: Path) -> None:
        """Read the JWTs of operators that the configuration holds."""
        for key in OPERATORS.intersection(values):
            for each in texts(values[key], key):
                if JWT.fullmatch(each.value) and not {"system_account", "system"} & set(values):
                    self._operator(each.value, path)

    def _operator(self, token: str, path: Path) -> None:
        system = claims_of(token, path, "operator")["nats"].get("system_account")
        if isinstance(system, str) and system:
            self._loaded.system = system

    def _preload(self, node: Node, path: Path) -> None:
        if not isinstance(node.value, dict):
            raise file_error("config-type", "resolver_preload", node.file, node.line)
        for key, each in node.value.items():
            try:
                claims_of(str(each.value), path, "account")
                self._token(str(each.value), path)
            except SubtrieError as error:
                # The others count; what this one exports and imports is not known.
                self._loaded.accounts[key] = Account(key, known=False)
                where = f"{each.file}:{each.line}"
                reason = str(error).removeprefix(f"{path}: ")
                self._unread[key] = f"the account {key} cannot be read ({where}): {reason}"

    def _store(self, folder: Path) -> None:
        """Every JWT below a folder."""
        for token, path in tokens_below(folder):
            self._token(token, path)

    def _token(self, token: str, path: Path, line: int = 1) -> None:
        kind = kind_of_token(token, path)
        if kind == "account":
            key, name, account = account_in_jwt(token, path)
            self._loaded.accounts[key] = account
            self._names[key], self._tokens[key] = name, (token, path)
        elif kind == "operator":
            self._operator(token, path)
        else:
            self._users.append((token, path, line))
        self._operated = True

    def _snapshot(self, document: dict[str, Any], path: Path) -> None:
        try:
            self._read_snapshot(document, path)
        except SubtrieError:
            raise
        except (TypeError, AttributeError, KeyError, ValueError):  # a value of another type
            raise file_error("snapshot", "the answer", path) from None

    def _read_snapshot(self, document: dict[str, Any], path: Path) -> None:
        system = document.get("system_account")
        if isinstance(system, str) and system and not self._configured:
            self._loaded.system = system
        detail = document.get("account_detail")
        if isinstance(detail, dict):
            self._told(detail, path)
        if "connections" in document:
            self._connections += [(row, path) for row in connections_in(document, path)]

    def _told(self, detail: dict[str, Any], path: Path) -> None:
        """An account of a running broker; of its JWT if it has one."""
        token, name = detail.get("jwt"), detail.get("account_name")
        if isinstance(token, str) and token:
            self._token(token, path)
            self._loaded.accounts[str(name)].jetstream = detail.get("jetstream_enabled") is True
        elif not self._configured:
            account, ignored = account_in_snapshot(detail, path)
            self._loaded.accounts[account.name] = account
            self._loaded.ignored += ignored

    def finished(self) -> LoadedDeployment:
        """Return what was read, with users joined to accounts and names for public keys."""
        loaded = self._loaded
        loaded.accounts.setdefault(GLOBAL, Account(GLOBAL))
        if not self._configured:
            self._without_system_rows()
        self._note_keys()
        for token, path, line in self._users:
            self._user(token, path, line)
        for row, path in self._connections:
            self._connected(row, path)
        for account in list(loaded.accounts.values()):
            for taken in account.imports:
                loaded.accounts.setdefault(taken.account, Account(taken.account, known=False))
        self._authorised()
        self._renamed()
        self._not_seen()
        if not self._configured or self._tokens:
            stored = any(each.jetstream for each in loaded.accounts.values())
            add_implied(loaded.accounts, loaded.system, stored=stored)
        return loaded

    def _user(self, token: str, path: Path, line: int) -> None:
        claims = claims_of(token, path, "user")
        key = str(claims["nats"].get("issuer_account") or claims["iss"])
        self._complete.add(key)
        name = str(claims.get("name") or claims["sub"])
        if not self._revoked(claims, key, name):
            self._add(key, self._user_name(claims, key, name), token, path, line)

    def _note_keys(self) -> None:
        """Note the keys of users that share a name in an account, but of those it has revoked."""
        rows = [(token, path, None, None) for token, path, _ in self._users]
        rows += [(row["jwt"], path, row["account"], row["user"]) for row, path in self._connections]
        found: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        for token, path, account, user in rows:
            if isinstance(token, str) and token:
                claims = claims_of(token, path, "user")
                key = account or str(claims["nats"].get("issuer_account") or claims["iss"])
                name = str(claims.get("name") or user or claims["sub"])
                found.setdefault((key, name), {})[str(claims["sub"])] = claims
        for (key, name), some in found.items():
            if len(some) > 1:
                left = {sub for sub, claims in some.items() if not self._is_revoked(claims, key)}
                self._keys[key, name] = left

    def _user_name(self, claims: dict[str, Any], key: str, name: str) -> str:
        """The name of a user of an account; its public key if another one has the name too."""
        return str(claims["sub"]) if len(self._keys.get((key, name), ())) > 1 else name

    def _is_revoked(self, claims: dict[str, Any], key: str) -> bool:
        if key not in self._tokens:
            return False
        token, path = self._tokens[key]
        return is_revoked(claims, claims_of(token, path, "account"), path)

    def _revoked(self, claims: dict[str, Any], key: str, name: str) -> bool:
        """Return whether the account, if it is given, has revoked a user; say so."""
        revoked = self._is_revoked(claims, key)
        if revoked:
            self._loaded.ignored.append(f"{self._name(key)}/{name}: the user is revoked")
        return revoked

    def _add(self, key: str, name: str, token: str, path: Path, line: int | None) -> str:
        """Add a user by its JWT, which begins in a line of a file; None in an answer."""
        account = self._tokens.get(key, (None, path))[0]
        permissions = permissions_in_jwt(token, path, account, (), line or 1)
        if line is None:
            permissions.place = None
        label = f"{self._name(key)}/{name}"
        self._loaded.users[label] = permissions
        self._loaded.account_of[label] = key
        self._loaded.accounts.setdefault(key, Account(key, known=False))
        return label

    def _not_seen(self) -> None:
        """Name the accounts that are not given; where users may be too, add one that is unknown."""
        loaded = self._loaded
        if self._operated and not (self._tokens or self._unread):
            loaded.unseen.append("the accounts are JWTs, which are not given")
        for name, account in loaded.accounts.items():
            if account.key in self._unread:
                loaded.unseen.append(self._unread[account.key])
            elif not account.known:
                loaded.unseen.append(
                    f"the account {name} is not given: what it exports and imports"
                )
            if account.key in self._complete or (name == GLOBAL and self._operated):
                continue  # in operator mode, $G has no users
            told = account.known and account.key not in self._tokens
            label = OTHER_USERS if name == GLOBAL else f"{name}/{OTHER_USERS}"
            who = NOT_TOLD if told else USERS_NOT_GIVEN
            loaded.users[label] = LoadedPermissions.undetermined(who)
            loaded.account_of[label] = name

    def _connected(self, row: dict[str, Any], path: Path) -> None:
        loaded, key = self._loaded, row["account"]
        token = row["jwt"]
        label = row["user"] if key == GLOBAL else f"{self._name(key)}/{row['user']}"
        if isinstance(token, str) and token:
            claims = claims_of(token, path, "user")
            name = str(claims.get("name") or row["user"])
            if self._revoked(claims, key, name):  # the broker is about to close it
                return
            label = self._add(key, self._user_name(claims, key, name), token, path, None)
        elif label not in loaded.users:
            loaded.users[label] = LoadedPermissions.undetermined(NOT_TOLD)
            loaded.account_of[label] = key
            loaded.accounts.setdefault(key, Account(key, known=False))
        loaded.subscriptions.setdefault(label, set()).update(row["subscriptions"])

    def _name(self, key: str) -> str:
        """The name of an account; its public key if another one has the name too."""
        name = self._names.get(key, key)
        return key if list(self._names.values()).count(name) > 1 else name

    def _without_system_rows(self) -> None:
        """Leave out the imports and exports of the system account that every broker has."""
        system = self._loaded.system
        for account in self._loaded.accounts.values():
            if account.name == system:
                account.exports = [e for e in account.exports if not _own(e.subject)]
            account.imports = [
                e for e in account.imports if not (e.account == system and _own(e.local))
            ]

    def _authorised(self) -> None:
        """Leave out imports that no export allows, as a broker in operator mode does."""
        for key in self._tokens:
            account = self._loaded.accounts[key]
            kept = []
            for given in account.imports:
                taken = self._activated(given)
                exporter = self._loaded.accounts[taken.account]
                what = f"the {taken.kind} import {taken.subject} of {self._name(taken.account)}"
                if not exporter.known or any(e.allows(taken, key) for e in exporter.exports):
                    kept.append(taken)
                    if taken.activation is not None and not taken.activation.verified:
                        message = f"the signature of the activation token for {what}"
                        self._loaded.unverified.append(f"{self._name(key)}: {message}")
                else:
                    self._loaded.ignored.append(f"{self._name(key)}: no export allows {what}")
            account.imports = kept

    def _activated(self, taken: Import) -> Import:
        """The import, without its activation token if the exporting account did not issue it."""
        exporter = self._tokens.get(taken.account)
        if taken.activation is None or exporter is None:
            return taken
        if issued_by_account(taken.activation, *exporter):
            return taken
        return dataclasses.replace(taken, activation=None)

    def _renamed(self) -> None:
        """Name accounts by their names in place of their public keys."""
        loaded = self._loaded
        names = {key: self._name(key) for key in loaded.accounts}
        accounts = {}
        for key, account in loaded.accounts.items():
            account.key, account.name = key, names[key]
            account.imports = [_of_account(each, names[each.account]) for each in account.imports]
            accounts[names[key]] = account
        loaded.accounts = accounts
        loaded.account_of = {label: names[key] for label, key in loaded.account_of.items()}
        if loaded.system is not None:
            loaded.system = names.get(loaded.system, loaded.system)


def _own(subject: str) -> bool:
    return subject.startswith(("$SYS.REQ.", "$JS.API.", "$SYS.DEBUG."))


def _of_account(taken: Import, account: str) -> Import:
    return dataclasses.replace(taken, account=account)
