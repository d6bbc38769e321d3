"""The users of a server configuration, and what each of them is granted."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ..._core.errors import SubtrieError
from ..._core.file_errors import Mistakes, file_error
from ..._nats.nkey import ACCOUNT_KEY, CURVE_KEY, USER_KEY, is_public_key
from .._account import GLOBAL
from .config_keys import (
    CONNECTIONS,
    FLAG,
    SECONDS,
    TEXT,
    keys_of,
    of_kind,
    texts,
    top_level,
)
from .config_parser import Node, UnknownText
from .config_permissions import permissions_of, place_of
from .connections import (
    ANYONE,
    NO_AUTH_USER,
    NO_AUTHORIZATION,
    OPERATORS,
    OTHER_USERS,
    USERS_NOT_GIVEN,
    listener_logins,
    needs_certificate,
    no_auth_users,
    system_account_alone,
)
from .loaded import LoadedPermissions

_USER = {
    "nkey": "nkey", "user": "user", "username": "user", "pass": "password", "password": "password",
    "permission": "permissions", "permissions": "permissions", "authorization": "permissions",
    "allowed_connection_types": "connections", "connection_types": "connections",
    "clients": "connections", "proxy_required": "proxy",
}  # fmt: skip
_AUTHORIZATION = {
    "user": "user", "username": "user", "pass": "password", "password": "password",
    "token": "token", "timeout": "timeout", "users": "users", "proxy_required": "proxy",
    "default_permission": "defaults", "default_permissions": "defaults",
    "permissions": "defaults", "auth_callout": "callout", "auth_hook": "callout",
}  # fmt: skip
_ACCOUNT = {
    "nkey": "nkey", "imports": "", "exports": "", "jetstream": "", "users": "users",
    "default_permissions": "defaults", "mappings": "", "maps": "", "limits": "",
    "msg_trace": "", "trace_dest": "",
}  # fmt: skip
_CALLOUT = {
    "issuer": "issuer", "account": "account", "acc": "account", "auth_users": "users",
    "users": "users", "xkey": "xkey", "key": "xkey", "allowed_accounts": "accounts",
}  # fmt: skip


@dataclasses.dataclass(slots=True)
class _ConfigUser:
    name: str
    account: str | None
    permissions: LoadedPermissions

    @property
    def label(self) -> str:
        return self.name if self.account is None else f"{self.account}/{self.name}"


@dataclasses.dataclass(slots=True)
class _Listed(_ConfigUser):
    """A user that the configuration lists, and where."""

    node: Node


def permissions_of_user(
    document: Node, path: Path, *, user: str | None, account: str | None
) -> LoadedPermissions:
    """Return what one user is granted: the one that is named, or the only one.

    Args:
        document: the parsed configuration.
        path: its file, for messages.
        user: the user's name; None for the only one.
        account: the account; None for any.

    Raises:
        PermissionsError: no user, an unknown one, or several.
    """
    values = top_level(document)
    users = _users(values)
    if OPERATORS.intersection(values):
        raise file_error("operator-mode", path.name, path)
    fitting = [
        each
        for each in users
        if user in (None, each.name, each.label) and account in (None, each.account)
    ]
    if len(fitting) > 1 and user is None:
        fitting = [each for each in fitting if each.name != OTHER_USERS]
    if len(fitting) == 1:
        return fitting[0].permissions
    reason = "several-users" if fitting else "user-unknown"
    raise file_error(reason, ", ".join(each.label for each in users), path)


def permissions_of_users(document: Node) -> dict[str, LoadedPermissions]:
    """Return what each user is granted, by ``user`` or ``account/user``."""
    return {each.label: each.permissions for each in _users(top_level(document))}


def users_of_accounts(values: dict[str, Node]) -> list[tuple[str, str, LoadedPermissions]]:
    """Return the label of each user, its account, and what it is granted.

    Users whom an authorization callout admits may be in any account. In operator mode, the JWTs
    of accounts tell whose users are not given.

    Args:
        values: the values of the configuration by key.
    """
    rows = []
    for each in [] if OPERATORS.intersection(values) else _users(values):
        rows.append((each.label, each.account or GLOBAL, each.permissions))
        if each.name == OTHER_USERS:
            names = _account_names(values)
            rows += [(f"{name}/{OTHER_USERS}", name, each.permissions) for name in names]
    return rows


def _users(values: dict[str, Node]) -> list[_ConfigUser]:
    users: list[_Listed] = []
    callout: _Callout | None = None
    mistakes = Mistakes()
    of_accounts: list[_Listed] = []
    try:
        if "authorization" in values:
            users, callout = _authorization(values["authorization"])
    except SubtrieError as error:
        mistakes.add(error)
    try:
        if "accounts" in values:
            of_accounts = _accounts(values["accounts"])
    except SubtrieError as error:
        mistakes.add(error)
    mistakes.check()
    _check_allowed(values, callout)
    single = len(users) == 1 and users[0].node is values["authorization"]
    if single and of_accounts:
        _mixed(of_accounts[0].node)
    users += of_accounts
    seen = set()
    for each in users:
        if each.name in seen:
            raise file_error("user-twice", each.name, each.node.file, each.node.line)
        seen.add(each.name)
        if callout is not None and callout.decides_about(each):
            each.permissions.determined = False
            each.permissions.decided_by = _decider(callout)
        elif callout is not None and (each.account or GLOBAL) == callout.account:
            each.permissions.deny_callout()
    for operator in OPERATORS.intersection(values):
        if "accounts" in values or users:
            _mixed(values[operator])
    _no_auth_user(values, users, single)
    return [*users, *_not_listed(values, users, callout)]


def _not_listed(
    values: dict[str, Node], users: list[_Listed], callout: _Callout | None
) -> list[_ConfigUser]:
    """The users that the broker has beside those that the configuration lists."""
    without, certified = no_auth_users(values), needs_certificate(values)
    for each in users:
        if each.name in without and (callout is None or not callout.decides_about(each)):
            each.permissions.anonymous = NO_AUTH_USER
            each.permissions.certified = certified
    if OPERATORS.intersection(values) or callout is not None:
        who = USERS_NOT_GIVEN if callout is None else _decider(callout)
        unknown = LoadedPermissions.undetermined(who)
        return [_ConfigUser(OTHER_USERS, None, unknown)]
    found = []
    if not users or (not without and system_account_alone(values, _account_names(values))):
        everything = LoadedPermissions(anonymous=NO_AUTHORIZATION, certified=certified)
        found.append(_ConfigUser(ANYONE, None, everything))
    for name, node in listener_logins(values):
        if name not in [each.name for each in users]:
            found.append(_ConfigUser(name, None, LoadedPermissions(place=place_of(node))))
    return found


def _check_allowed(values: dict[str, Node], callout: _Callout | None) -> None:
    """Refuse an authorization callout for accounts that are not defined."""
    if callout is None or callout.accounts is None:
        return
    if unknown := sorted(callout.accounts - {*_account_names(values)}):
        node = values["authorization"]
        raise file_error("account-name", unknown[0], node.file, node.line)


def _decider(callout: _Callout) -> str:
    return f"the authorization callout of {callout.account}"


def _account_names(values: dict[str, Node]) -> list[str]:
    """The accounts of the block ``accounts``."""
    blocks = values["accounts"].value if "accounts" in values else []
    if isinstance(blocks, dict):
        return [name for name, node in blocks.items() if not node.used]
    return [str(each.value) for each in blocks]


def _mixed(node: Node) -> None:
    raise file_error("auth-mix", "the configuration", node.file, node.line)


def _no_auth_user(values: dict[str, Node], users: list[_Listed], single: bool) -> None:
    named = values.get("no_auth_user")
    if named is not None and named.value:
        names = [] if single else [each.name for each in users]
        if named.value not in names:
            raise file_error("user-unknown", "no_auth_user", named.file, named.line)


@dataclasses.dataclass(frozen=True, slots=True)
class _Callout:
    """An authorization callout.

    Attributes:
        account: the account of those that answer it.
        exempt: the users about whom it does not decide.
        accounts: the accounts about whose users it decides, beside ``$G``; None for all.
    """

    account: str
    exempt: frozenset[str]
    accounts: frozenset[str] | None

    def decides_about(self, user: _ConfigUser) -> bool:
        """Return True if it decides about a user, whatever the configuration says."""
        here = user.account or GLOBAL
        delegated = self.accounts is None or here == GLOBAL or here in self.accounts
        return delegated and user.name not in self.exempt


def _authorization(node: Node) -> tuple[list[_Listed], _Callout | None]:
    """The users of the block, and its authorization callout."""
    found = keys_of(node, _AUTHORIZATION, "authorization")
    for key, kind in (
        ("user", TEXT), ("password", TEXT), ("token", TEXT), ("timeout", SECONDS), ("proxy", FLAG),
    ):  # fmt: skip
        if key in found:
            of_kind(found[key], kind, key)
    callout = _callout(found["callout"]) if "callout" in found else None
    default = permissions_of(found["defaults"]) if "defaults" in found else None
    given = {key for key in ("user", "password", "token") if key in found and found[key].value}
    if "token" in given and (len(given) > 1 or "users" in found):
        _mixed(found["token"])
    if "user" in given and "users" in found:
        _mixed(found["user"])
    if "users" in found:
        return _listed(found["users"], default, None), callout
    # One user, or a token: neither takes the default permissions.
    for key in ("user", "token"):
        if key in given:
            name = found["user"].value if key == "user" else "token"
            return [_Listed(name, None, LoadedPermissions(), node)], callout
    return [], callout


def _callout(node: Node) -> _Callout:
    found = keys_of(node, _CALLOUT, "auth_callout")
    if "issuer" not in found or "users" not in found:
        raise file_error("callout", "auth_callout", node.file, node.line)
    for key, prefix in (("issuer", ACCOUNT_KEY), ("xkey", CURVE_KEY)):
        if key in found:
            _public_key(found[key], prefix, key)
    if "account" in found:
        of_kind(found["account"], TEXT, "account")
    for key in ("users", "accounts"):
        if key in found:
            if not isinstance(found[key].value, list):
                raise file_error("config-type", key, found[key].file, found[key].line)
            texts(found[key], key)
    exempt = frozenset(each.value for each in found["users"].value)
    if not exempt:
        raise file_error("callout", "auth_callout", node.file, node.line)
    listed = [str(each.value) for each in found["accounts"].value] if "accounts" in found else []
    account = str(found["account"].value) if "account" in found else GLOBAL
    return _Callout(account, exempt, frozenset(listed) if listed else None)


def _public_key(node: Node, prefix: int, key: str) -> None:
    of_kind(node, TEXT, key)
    if not isinstance(node.value, UnknownText) and not is_public_key(node.value, prefix):
        raise file_error("nkey", key, node.file, node.line)


def _accounts(node: Node) -> list[_Listed]:
    if isinstance(node.value, list):
        names = [of_kind(each, TEXT, "accounts") for each in node.value]
        for each in node.value:
            if each.value == GLOBAL or names.count(each.value) > 1:
                raise file_error("account-name", each.value, each.file, each.line)
        return []
    if not isinstance(node.value, dict):
        raise file_error("config-type", "accounts", node.file, node.line)
    users: list[_Listed] = []
    mistakes = Mistakes()
    for name, each in node.value.items():
        if each.used:
            continue  # a variable, not an account
        try:
            users += _account(name, each)
        except SubtrieError as error:
            mistakes.add(error)
    mistakes.check()
    return users


def _account(name: str, node: Node) -> list[_Listed]:
    """The users of one account."""
    found = keys_of(node, _ACCOUNT, name)
    if name == GLOBAL:
        raise file_error("account-name", name, node.file, node.line)
    if "nkey" in found:
        _public_key(found["nkey"], ACCOUNT_KEY, "nkey")
    default = permissions_of(found["defaults"]) if "defaults" in found else None
    return _listed(found["users"], default, name) if "users" in found else []


def _listed(listed: Node, default: LoadedPermissions | None, account: str | None) -> list[_Listed]:
    """The users of an array."""
    if not isinstance(listed.value, list):
        raise file_error("config-type", "users", listed.file, listed.line)
    users = []
    mistakes = Mistakes()
    for entry in listed.value:
        try:
            users.append(_user(entry, default, account))
        except SubtrieError as error:
            mistakes.add(error)
    mistakes.check()
    return users


def _user(entry: Node, default: LoadedPermissions | None, account: str | None) -> _Listed:
    fields = keys_of(entry, _USER, "user")
    for key, kind in (("nkey", TEXT), ("user", TEXT), ("password", TEXT), ("proxy", FLAG)):
        if key in fields:
            of_kind(fields[key], kind, key)
    types = _connections(fields["connections"]) if "connections" in fields else ()
    given = {key: fields[key].value for key in ("nkey", "user", "password") if key in fields}
    name = given.get("nkey") or given.get("user")
    if not name:
        raise file_error("user-name", "users", entry.file, entry.line)
    if given.get("nkey"):
        _public_key(fields["nkey"], USER_KEY, "nkey")
        if given.get("user") or given.get("password"):
            _mixed(entry)
    if "permissions" in fields:
        own = permissions_of(fields["permissions"])
    else:
        own = LoadedPermissions() if default is None else dataclasses.replace(default)
    own.place, own.connection_types = place_of(entry), types
    return _Listed(name, account, own, entry)


def _connections(node: Node) -> tuple[str, ...]:
    """The types of connections that a user may make."""
    found = []
    for each in texts(node, "allowed_connection_types"):
        if each.value.upper() not in CONNECTIONS:
            raise file_error("connection-type", each.value, each.file, each.line)
        found.append(each.value.upper())
    return tuple(found)
