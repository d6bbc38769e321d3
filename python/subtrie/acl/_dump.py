"""Permissions as text: subtrie permissions JSON, or a block of server configuration."""

from __future__ import annotations

import json
from typing import Any

from .._core.duration import compact_duration
from .._core.errors import refusal
from ._rule_sets import RuleSets

_LISTS = ("publish_allow", "publish_deny", "subscribe_allow", "subscribe_deny")


def dump(permissions: RuleSets, format: str) -> str:
    """Return permissions as text in a format: see ``Permissions.dump``."""
    if not permissions.determined:
        raise refusal("PermissionsError", "account-decides", "the dump")
    if format == "json":
        return _json(permissions)
    if format == "conf":
        return _conf(permissions)
    raise ValueError(f"format must be 'json' or 'conf', not {format!r}")


def _json(permissions: RuleSets) -> str:
    document: dict[str, Any] = {"subtrie": 1}
    for name in _LISTS:
        entries = getattr(permissions, name)
        document[name] = None if entries is None else list(entries)
    limit = permissions.allow_responses
    document["allow_responses"] = limit and {"max": limit.max, "expires": limit.expires}
    document["dialect"] = permissions.dialect
    return json.dumps(document, indent=2) + "\n"


def _conf(permissions: RuleSets) -> str:
    """A configuration takes an empty list for absent, so "nothing" is a deny of everything."""
    block: dict[str, Any] = {}
    for verb in ("publish", "subscribe"):
        allow = getattr(permissions, f"{verb}_allow")
        deny = list(getattr(permissions, f"{verb}_deny"))
        # allow_responses alone makes an empty publish list count.
        if allow == () and not (verb == "publish" and permissions.allow_responses):
            deny = [">"]
        sides: dict[str, Any] = {}
        if allow:
            sides["allow"] = list(allow)
        elif allow is None and verb == "publish" and permissions.allow_responses:
            sides["allow"] = [">"]
        if deny:
            sides["deny"] = deny
        if sides:
            block[verb] = sides
    limit = permissions.allow_responses
    if limit is not None:
        block["allow_responses"] = {
            "max": limit.max,
            "expires": _limit_of_time(limit.expires),
        }
    return f"permissions = {_written(block, '')}\n"


def _limit_of_time(seconds: float) -> str:
    return "-1s" if seconds < 0 else compact_duration(round(seconds * 1e9))


def _written(value: Any, margin: str) -> str:
    """A value as JSON, except for escapes: the broker knows only a few."""
    inner = margin + "  "
    if isinstance(value, dict):
        rows = [f"{inner}{key}: {_written(each, inner)}\n" for key, each in value.items()]
        return "{\n" + "".join(rows) + margin + "}"
    if isinstance(value, list):
        rows = [f"{inner}{_written(each, inner)}\n" for each in value]
        return "[\n" + "".join(rows) + margin + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)
