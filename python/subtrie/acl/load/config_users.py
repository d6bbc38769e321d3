"""Users of a server configuration, and the permissions of the one that is meant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import SubtrieError
from ..entries import checked
from ..permissions import Permissions
from ..responses import ResponseLimit
from .conf import Node
from .failure import failure, placed

_PUBLISH = ("pub", "publish", "import")
_SUBSCRIBE = ("sub", "subscribe", "export")
_RESPONSES = ("publish_allow_responses", "allow_responses")
_USER = {
    "nkey": "name", "user": "name", "username": "name",
    "pass": "", "password": "", "proxy_required": "",
    "permission": "permissions", "permissions": "permissions", "authorization": "permissions",
    "allowed_connection_types": "", "connection_types": "", "clients": "",
}  # fmt: skip
_AUTHORIZATION = {
    "user": "single", "username": "single", "pass": "", "password": "", "token": "token",
    "timeout": "", "users": "users", "default_permission": "defaults",
    "default_permissions": "defaults", "permissions": "defaults",
    "auth_callout": "callout", "auth_hook": "callout", "proxy_required": "",
}  # fmt: skip
_ACCOUNT = {
    "nkey": "", "imports": "", "exports": "", "jetstream": "", "users": "users",
    "default_permissions": "defaults", "mappings": "", "maps": "", "limits": "",
    "msg_trace": "", "trace_dest": "", "cluster_traffic": "",
}  # fmt: skip
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+")
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


class _User(NamedTuple):
    name: str
    account: str | None
    permissions: Permissions
    known: bool


def chosen(document: Node, path: Path, *, user: str | None, account: str | None) -> Permissions:
    """The permissions of the user that is named, or of the only one."""
    users = _users(document)
    fitting = [
        each
        for each in users
        if (user is None or each.name == user) and (account is None or each.account == account)
    ]
    if len(fitting) == 1:
        permissions = fitting[0].permissions
        permissions.known = fitting[0].known
        return permissions
    names = [each.name if each.account is None else f"{each.account}/{each.name}" for each in users]
    if not users:
        raise failure("no-user", path.name, path)
    reason = "several-users" if fitting else "user-unknown"
    raise failure(reason, ", ".join(names), path)


def _users(document: Node) -> list[_User]:
    values = {}
    for key, node in document.value.items():
        if key.lower() in ("authorization", "accounts"):
            if key.lower() in values:
                raise failure("alias-twice", key, node.file, node.line)
            values[key.lower()] = node
    users: list[_User] = []
    if "authorization" in values:
        users += _block(values["authorization"], _AUTHORIZATION, None)
    if "accounts" in values:
        accounts = values["accounts"]
        if isinstance(accounts.value, dict):
            for name, node in accounts.value.items():
                if isinstance(node.value, dict):
                    users += _block(node, _ACCOUNT, name)
                elif not node.used:
                    raise failure("config-type", name, node.file, node.line)
        elif not isinstance(accounts.value, list):
            raise failure("config-type", "accounts", accounts.file, accounts.line)
    seen = set()
    for each in users:
        if each.name in seen:
            raise failure("user-twice", each.name, document.file)
        seen.add(each.name)
    return users


def _keys(node: Node, known: Mapping[str, str], where: str) -> dict[str, Node]:
    """The entries of a map by what their key means; keys the broker would not know are refused."""
    if not isinstance(node.value, dict):
        raise failure("config-type", where, node.file, node.line)
    found: dict[str, Node] = {}
    for key, entry in node.value.items():
        meaning = known.get(key.lower())
        if meaning is None:
            if entry.used:
                continue
            raise failure("unknown-key", key, entry.file, entry.line)
        meaning = meaning or key.lower()
        if meaning in found:
            # The broker takes either of two words for one thing, by chance.
            raise failure("alias-twice", key, entry.file, entry.line)
        found[meaning] = entry
    return found


def _block(node: Node, known: Mapping[str, str], account: str | None) -> list[_User]:
    found = _keys(node, known, account or "authorization")
    defaults = found.get("defaults")
    default = None if defaults is None else permissions_of(defaults)
    known_here = "callout" not in found
    if "users" not in found:
        # One user, or a token: neither takes the default permissions.
        for kind in ("single", "token"):
            if kind in found:
                name = _text(found[kind], kind) if kind == "single" else "token"
                return [_User(name, account, Permissions(), known_here)]
        return []
    listed = found["users"]
    if not isinstance(listed.value, list):
        raise failure("config-type", "users", listed.file, listed.line)
    users = []
    for entry in listed.value:
        fields = _keys(entry, _USER, "user")
        if "name" not in fields:
            raise failure("user-name", "users", entry.file, entry.line)
        name = _text(fields["name"], "user")
        if "permissions" in fields:
            own = permissions_of(fields["permissions"])
        elif defaults is not None and default is not None:
            own = permissions_of(defaults)
        else:
            own = Permissions()
        users.append(_User(name, account, own, known_here))
    return users


def _text(node: Node, where: str) -> str:
    if not isinstance(node.value, str) or not node.value:
        raise failure("config-type", where, node.file, node.line)
    return node.value


def permissions_of(node: Node) -> Permissions:
    """A ``permissions`` block. Empty lists count as absent in a configuration."""
    words = dict.fromkeys(_PUBLISH, "publish")
    words |= dict.fromkeys(_SUBSCRIBE, "subscribe")
    words |= dict.fromkeys(_RESPONSES, "responses")
    found = _keys(node, words, "permissions")
    lists: dict[str, Any] = {}
    sources: dict[tuple[str, str], tuple[str, int]] = {}
    for verb in ("publish", "subscribe"):
        if verb in found:
            for side, entry, line in _entries(found[verb], verb):
                lists.setdefault(f"{verb}_{side}", []).append(entry)
                place = (str(found[verb].file), line)
                sources.setdefault((f"{verb}_{side}", " ".join(entry.split())), place)
    limit = _responses(found["responses"]) if "responses" in found else None
    if limit is not None:
        # The broker then allows replies only, where no list allows more.
        lists.setdefault("publish_allow", [])
    permissions = Permissions(**lists, allow_responses=limit)
    permissions.sources = sources
    return permissions


def _entries(node: Node, verb: str) -> list[tuple[str, str, int]]:
    """Side, entry and line of each entry of one verb."""
    if not isinstance(node.value, dict):
        return _list(node, verb, "allow")
    sides = _keys(node, {"allow": "allow", "deny": "deny"}, verb)
    return [row for side, entries in sides.items() for row in _list(entries, verb, side)]


def _list(node: Node, verb: str, side: str) -> list[tuple[str, str, int]]:
    nodes = [node] if isinstance(node.value, str) else node.value
    if not isinstance(nodes, list):
        raise failure("config-type", verb, node.file, node.line)
    rows = []
    for each in nodes:
        if not isinstance(each.value, str):
            raise failure("config-type", verb, each.file, each.line)
        try:
            checked([each.value], f"{verb}_{side}", "server", verb == "subscribe")
        except SubtrieError as error:
            raise placed(error, each.file, each.line) from None
        rows.append((side, each.value, each.line))
    return rows


def _responses(node: Node) -> ResponseLimit | None:
    if isinstance(node.value, bool):
        return ResponseLimit() if node.value else None
    words = dict.fromkeys(("max", "max_msgs", "max_messages", "max_responses"), "max")
    words |= dict.fromkeys(("expires", "expiration", "ttl"), "expires")
    found = _keys(node, words, "allow_responses")
    limit = {"max": 0, "expires": 0.0}
    if "max" in found:
        entry = found["max"]
        if type(entry.value) is not int:
            raise failure("config-type", "max", entry.file, entry.line)
        limit["max"] = entry.value
    if "expires" in found:
        entry = found["expires"]
        if not isinstance(entry.value, str):
            raise failure("duration", "expires", entry.file, entry.line)
        limit["expires"] = seconds(entry.value, entry)
    return ResponseLimit(int(limit["max"]), limit["expires"])


def seconds(text: str, node: Node) -> float:
    """A duration as Go writes it, such as ``1m30s``."""
    if text in ("0", "+0", "-0"):
        return 0.0
    if not _DURATION.fullmatch(text):
        raise failure("duration", text, node.file, node.line)
    whole = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return -whole if text.startswith("-") else whole
