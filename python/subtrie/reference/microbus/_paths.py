"""A path as tokens, and back: one token for each part (S0-013, S0-014, S0-059).

One leading slash is dropped; an empty part is ``_``, and so is an empty path (S0-060, S0-061, A13).
Arguments are wildcards in subscriptions only (S0-062, S0-063, S0-073).
"""

from __future__ import annotations

import string

from ._arguments import Broken, byte_at, of, text
from ._escape import escape_segment, segment_of

_NAME = string.ascii_letters + string.digits


def path_tokens(path: str) -> list[str]:
    """The tokens of a path that is published: wildcards and braces are text (S0-070, S0-071)."""
    return [escape_segment(part) or "_" for part in path.removeprefix("/").split("/")]


def path_of(tokens: list[str], starts: list[int]) -> str:
    """The path of canonical tokens, with a leading slash; a sole ``_`` is ``/`` (A13)."""
    return "/" + "/".join(
        _segment(token, start) for token, start in zip(tokens, starts, strict=False)
    )


def _segment(token: str, start: int) -> str:
    try:
        return segment_of(token)
    except Broken as broken:
        raise Broken(broken.reason, start + (broken.position or 0)) from None


def check_route_path(path: str) -> str:
    """The path with one leading slash, if its arguments are well formed."""
    with of("path", text(path, "path")):
        route_tokens(path)
        return "/" + path.removeprefix("/")


def route_tokens(path: str) -> list[str]:
    """The tokens of a path that is subscribed to: ``*`` for an argument, ``>`` for a greedy one."""
    at = 1 if path.startswith("/") else 0
    tokens = []
    for part in path[at:].split("/"):
        last = at + len(part) == len(path)
        try:
            tokens.append(_route_token(part, last))
        except Broken as broken:
            raise Broken(broken.reason, byte_at(path, at) + (broken.position or 0)) from None
        at += len(part) + 1
    return tokens


def _route_token(part: str, last: bool) -> str:
    if "{" not in part and "}" not in part:
        return "*" if part == "*" else escape_segment(part) or "_"  # S0-072
    name = part[1:-1]
    if not (part.startswith("{") and part.endswith("}") and len(part) > 1) or (
        "{" in name or "}" in name
    ):
        raise Broken("argument", 0)  # A15
    greedy = name.endswith("...")
    name = name.removesuffix("...")
    if name and (name[0] not in string.ascii_lowercase or any(c not in _NAME for c in name)):
        raise Broken("argument-name", 1)
    if greedy and not last:
        raise Broken("greedy", 0)  # S0-063, S0-086
    return ">" if greedy else "*"


def route_path_of(tokens: list[str], starts: list[int]) -> str:
    """The path of canonical pattern tokens; arguments come back without their names."""
    parts = []
    for token, start in zip(tokens, starts, strict=False):
        if token in ("*", ">"):
            parts.append("{}" if token == "*" else "{...}")
            continue
        part = _segment(token, start)
        if part == "*" or "{" in part or "}" in part:
            raise Broken("not-canonical", start)  # it would be subscribed to as a wildcard
        parts.append(part)
    return "/" + "/".join(parts)
