"""Paths as tokens: one token for each segment.

One leading slash is dropped; an empty segment is ``_``, and so is an empty path. Path arguments are
wildcards, in subscriptions only.
"""

# S0-013, S0-014, S0-059 to S0-063, S0-073, A13

from __future__ import annotations

import string

from ._arguments import RuleViolation, argument, byte_at, text
from ._escape import escape_segment, segment_of

_NAME = string.ascii_letters + string.digits


def path_tokens(path: str) -> list[str]:
    """Return the tokens of the path of a request; wildcards and braces are text."""
    # S0-070, S0-071
    return [escape_segment(part) or "_" for part in path.removeprefix("/").split("/")]


def path_of(tokens: list[str], starts: list[int]) -> str:
    """Return the path of canonical tokens, with a leading slash; ``_`` alone is ``/``."""  # A13
    return "/" + "/".join(
        _segment(token, start) for token, start in zip(tokens, starts, strict=False)
    )


def _segment(token: str, start: int) -> str:
    try:
        return segment_of(token)
    except RuleViolation as violation:
        raise RuleViolation(violation.reason, start + (violation.position or 0)) from None


def check_route_path(path: str) -> str:
    """Return the path with one leading slash if its arguments are well formed."""
    with argument("path", text(path, "path")):
        route_tokens(path)
        return "/" + path.removeprefix("/")


def route_tokens(path: str) -> list[str]:
    """Return the tokens of the path of a route: ``*`` for an argument, ``>`` for a greedy one."""
    at = 1 if path.startswith("/") else 0
    tokens = []
    for part in path[at:].split("/"):
        last = at + len(part) == len(path)
        try:
            tokens.append(_route_token(part, last))
        except RuleViolation as violation:
            raise RuleViolation(
                violation.reason, byte_at(path, at) + (violation.position or 0)
            ) from None
        at += len(part) + 1
    return tokens


def _route_token(part: str, last: bool) -> str:
    if "{" not in part and "}" not in part:
        return "*" if part == "*" else escape_segment(part) or "_"  # S0-072
    name = part[1:-1]
    if not (part.startswith("{") and part.endswith("}") and len(part) > 1) or (
        "{" in name or "}" in name
    ):
        raise RuleViolation("argument", 0)  # A15
    greedy = name.endswith("...")
    name = name.removesuffix("...")
    if name and (name[0] not in string.ascii_lowercase or any(c not in _NAME for c in name)):
        raise RuleViolation("argument-name", 1)
    if greedy and not last:
        raise RuleViolation("greedy", 0)  # S0-063, S0-086
    return ">" if greedy else "*"


def route_path_of(tokens: list[str], starts: list[int]) -> str:
    """Return the path of canonical pattern tokens, with arguments without names."""
    parts = []
    for token, start in zip(tokens, starts, strict=False):
        if token in ("*", ">"):
            parts.append("{}" if token == "*" else "{...}")
            continue
        part = _segment(token, start)
        if part == "*" or "{" in part or "}" in part:
            raise RuleViolation("not-canonical", start)  # the encoder writes a wildcard
        parts.append(part)
    return "/" + "/".join(parts)
