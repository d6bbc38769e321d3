"""Path arguments of a route: ``{name}`` for one part of the path, ``{name...}`` for the rest."""

from __future__ import annotations

from typing import NamedTuple


class PathArgument(NamedTuple):
    """An argument of a route; ``name`` is empty for ``{}`` and ``{...}``."""

    name: str
    greedy: bool


def path_argument(part: str) -> PathArgument | None:
    """Return the argument that a part of a path is; None if it is plain text."""
    if not (part.startswith("{") and part.endswith("}")):
        return None
    if part.endswith("...}"):
        return PathArgument(part[1:-4], True)
    return PathArgument(part[1:-1], False)
