"""Leaf nodes, gateways and routes of a server configuration, as far as they carry subjects."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ..._core.file_errors import file_error
from .._account import GLOBAL
from .config_keys import texts
from .config_parser import Node
from .config_permissions import permissions_of
from .loaded import LoadedLink, LoadedPermissions

_DENIED = {
    "deny_imports": "subscribe_deny", "deny_import": "subscribe_deny",
    "deny_exports": "publish_deny", "deny_export": "publish_deny",
}  # fmt: skip


def links_of(values: dict[str, Node]) -> list[LoadedLink]:
    """Return the connections to other brokers that a configuration defines.

    Args:
        values: the values of the configuration by key.
    """
    found: list[LoadedLink] = []
    for key in ("leaf", "leafnodes"):
        if key in values:
            found += _leaf_nodes(values[key])
    if "cluster" in values:
        found += _routes(values["cluster"])
    if "gateway" in values:
        found += _gateways(values["gateway"])
    return found + _listeners(values)


#: Blocks whose listener brings in clients that the configuration does not hold, or by other means.
_LISTENERS = {
    "leaf": "leaf listener", "leafnodes": "leaf listener", "gateway": "gateway listener",
    "websocket": "websocket listener", "ws": "websocket listener", "mqtt": "mqtt listener",
}  # fmt: skip


def _listeners(values: dict[str, Node]) -> list[LoadedLink]:
    return [
        _link(kind, key, None, LoadedPermissions(), values[key])
        for key, kind in _LISTENERS.items()
        if key in values and {"port", "listen"} & set(_fields(values[key]))
    ]


def _link(
    kind: str, name: str, account: str | None, permissions: LoadedPermissions, node: Node
) -> LoadedLink:
    return LoadedLink(kind, name, account, permissions, node.line, str(node.file))


def cluster_of(values: dict[str, Node]) -> str | None:
    """Return the name of the broker's cluster; empty without one, None if it is not told."""
    for key in ("cluster", "gateway"):
        if key in values and (name := _fields(values[key]).get("name")) is not None:
            return str(name.value)
    alone = not {"cluster", "gateway", "leaf", "leafnodes"} & set(values)
    return "" if alone else None


def _fields(node: Node) -> dict[str, Node]:
    if not isinstance(node.value, dict):
        return {}
    return {key.lower(): each for key, each in node.value.items()}


def _rows(node: Node | None) -> list[Node]:
    value: Any = None if node is None else node.value
    return value if isinstance(value, list) else []


def _leaf_nodes(node: Node) -> list[LoadedLink]:
    fields = _fields(node)
    found = []
    for each in _rows(fields.get("remotes")):
        remote = _fields(each)
        loaded = LoadedPermissions()
        for key, name in _DENIED.items():
            if key in remote:
                entries = tuple(str(text.value) for text in texts(remote[key], key))
                setattr(loaded, name, entries)
        found.append(_link("leaf", address_of(remote), _account(remote), loaded, each))
    authorization = _fields(fields["authorization"]) if "authorization" in fields else {}
    users = _rows(authorization.get("users"))
    if not users and {"user", "username", "nkey"} & set(authorization):
        users = [fields["authorization"]]
    for each in users:
        user = _fields(each)
        named = user.get("user") or user.get("username") or user.get("nkey")
        label = "" if named is None else str(named.value)
        found.append(_link("leaf user", label, _account(user), LoadedPermissions(), each))
    return found


def _account(fields: dict[str, Node]) -> str:
    for key in ("account", "local"):
        if key in fields:
            return str(fields[key].value)
    return GLOBAL


def address_of(fields: dict[str, Node]) -> str:
    """Return the first address of a leaf node without user and password; empty without one."""
    node = fields.get("url") or fields.get("urls")
    texts_of = [node] if node is not None and isinstance(node.value, str) else _rows(node)
    if not texts_of:
        return ""
    first = texts_of[0]
    try:
        address = urlsplit(str(first.value))
    except ValueError:  # brackets of an IPv6 address that do not match
        raise file_error("config-type", "url", first.file, first.line) from None
    return address.netloc.rpartition("@")[2] or address.path


def _routes(node: Node) -> list[LoadedLink]:
    fields = _fields(node)
    name = str(fields["name"].value) if "name" in fields else "cluster"
    loaded = LoadedPermissions()
    if "permissions" in fields:
        loaded = permissions_of(fields["permissions"])
        if loaded.allow_responses is not None:
            raise file_error("config-type", "permissions", node.file, node.line)
    # Imported subjects are received from the other brokers, exported ones sent to them.
    loaded = LoadedPermissions(
        loaded.subscribe_allow, loaded.subscribe_deny, loaded.publish_allow, loaded.publish_deny
    )
    return [_link("route", name, None, loaded, node)]


def _gateways(node: Node) -> list[LoadedLink]:
    rows = _rows(_fields(node).get("gateways"))
    names = [(_fields(each).get("name"), each) for each in rows]
    return [
        _link("gateway", str(name.value), None, LoadedPermissions(), each)
        for name, each in names
        if name is not None
    ]
