"""A ``permissions`` block of a server configuration, as nats-server reads it."""

from __future__ import annotations

from typing import Any

from ..._core.errors import SubtrieError
from ..._core.file_errors import Mistakes, file_error, located
from ..._findings.finding import Place
from .._response_limit import ResponseLimit
from .._rule_entry import checked_entries
from .config_keys import keys_of, nanoseconds
from .config_parser import Node
from .loaded import LoadedPermissions

_WORDS = {
    **dict.fromkeys(("pub", "publish", "import"), "publish"),
    **dict.fromkeys(("sub", "subscribe", "export"), "subscribe"),
    **dict.fromkeys(("publish_allow_responses", "allow_responses"), "responses"),
}
_LIMIT = {
    **dict.fromkeys(("max", "max_msgs", "max_messages", "max_responses"), "max"),
    **dict.fromkeys(("expires", "expiration", "ttl"), "expires"),
}


def permissions_of(node: Node) -> LoadedPermissions:
    """Return what a block grants; empty lists count as absent in a configuration."""
    words = keys_of(node, _WORDS, "permissions")
    loaded = LoadedPermissions()
    lists: dict[str, list[str]] = {}
    mistakes = Mistakes()
    for verb in ("publish", "subscribe"):
        try:
            rows = _entries(words[verb], verb) if verb in words else []
        except SubtrieError as error:
            mistakes.add(error)
            continue
        for side, entry, place in rows:
            name = f"{verb}_{side}"
            lists.setdefault(name, []).append(entry)
            loaded.sources.setdefault((name, entry), place)
    mistakes.check()
    for name, entries in lists.items():
        setattr(loaded, name, tuple(entries))
    if "responses" in words:
        loaded.allow_responses = _responses(words["responses"])
    if loaded.allow_responses is not None and loaded.publish_allow is None:
        loaded.publish_allow = ()  # then the broker allows replies only
    return loaded


def _entries(node: Node, verb: str) -> list[tuple[str, str, Place]]:
    """Side, entry and place of each entry of one verb."""
    if not isinstance(node.value, dict):
        return _side_entries(node, verb, "allow")
    sides = keys_of(node, {"allow": "allow", "deny": "deny"}, verb)
    return [row for side, entries in sides.items() for row in _side_entries(entries, verb, side)]


def _side_entries(node: Node, verb: str, side: str) -> list[tuple[str, str, Place]]:
    """The same for one side of a verb."""
    nodes = [node] if isinstance(node.value, str) else node.value
    if not isinstance(nodes, list):
        raise file_error("config-type", verb, node.file, node.line)
    rows = []
    mistakes = Mistakes()
    for each in nodes:
        if not isinstance(each.value, str):
            mistakes.add(file_error("config-type", verb, each.file, each.line))
            continue
        try:
            entries = checked_entries([each.value], f"{verb}_{side}", "server", verb == "subscribe")
        except SubtrieError as error:
            mistakes.add(located(error, each.file, each.line))
            continue
        rows += [(side, entry, place_of(each)) for entry in entries or ()]
    mistakes.check()
    return rows


def place_of(node: Node) -> Place:
    """Return where a value stands."""
    return Place(str(node.file), node.line, node.column)


def _responses(node: Node) -> ResponseLimit | None:
    if isinstance(node.value, bool):
        return ResponseLimit() if node.value else None
    found = keys_of(node, _LIMIT, "allow_responses")
    limit: dict[str, Any] = {"max": 0, "expires": 0.0}
    if "max" in found:
        entry = found["max"]
        if type(entry.value) is not int:
            raise file_error("config-type", "max", entry.file, entry.line)
        limit["max"] = entry.value
    if "expires" in found:
        entry = found["expires"]
        if not isinstance(entry.value, str):
            raise file_error("duration", "expires", entry.file, entry.line)
        limit["expires"] = nanoseconds(entry.value, entry) / 1e9
    return ResponseLimit(**limit)
