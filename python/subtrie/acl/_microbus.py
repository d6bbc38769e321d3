"""Whether rules are about the subjects of Microbus: only then do its lint rules apply."""

from __future__ import annotations

from collections.abc import Iterable

from ._rule_sets import RuleSets

_LISTS = ("publish_allow", "publish_deny", "subscribe_allow", "subscribe_deny")
_ZONES = ("safe", "danger")


def about_microbus(permissions: Iterable[RuleSets]) -> bool:
    """Return True if an entry shows a plane: ``P.safe.…``, ``P.danger.…`` or ``P.reply._.…``."""
    return any(
        _shows_plane(entry)
        for each in permissions
        for name in _LISTS
        for entry in getattr(each, name) or ()
    )


def _shows_plane(entry: str) -> bool:
    tokens = entry.partition(" ")[0].split(".")
    if len(tokens) < 3 or not (tokens[0] == "*" or (tokens[0].isascii() and tokens[0].isalnum())):
        return False
    return tokens[1] in _ZONES or tokens[1:3] == ["reply", "_"]
