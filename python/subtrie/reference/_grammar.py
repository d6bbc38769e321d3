"""The grammar of subjects and patterns, and the relations between them."""

from __future__ import annotations

import operator
from collections.abc import Callable

from .._core.errors import SubtrieError, refusal

_Refuse = Callable[[str, int], SubtrieError]

# A37: maximum tokens and bytes; nats-server limits the bytes of a line and so the tokens.
_BOUNDS: dict[str, tuple[int | None, int]] = {"strict": (64, 1024), "server": (None, 4096)}

# S1-015, S1-016, A36. Vertical tab and form feed are whitespace, but not for nats-server.
_BLANKS = {"strict": b" \t\r\n\x0b\x0c", "server": b" \t\r\n"}


def check_subject(
    text: str,
    dialect: str = "strict",
    max_tokens: int | None = None,
    max_length: int | None = None,
) -> None:
    """Raise ``SubjectError`` unless the text is a valid subject."""
    _check(text, "SubjectError", dialect, max_tokens, max_length)


def check_pattern(
    text: str,
    dialect: str = "strict",
    max_tokens: int | None = None,
    max_length: int | None = None,
) -> None:
    """Raise ``PatternError`` unless the text is a valid pattern."""
    _check(text, "PatternError", dialect, max_tokens, max_length)


def encoded(text: object, kind: str, name: str = "text", field: str | None = None) -> bytes:
    """Return the UTF-8 of a text, or raise if it contains a lone surrogate."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be str, not {type(text).__name__}")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise refusal(kind, "surrogate", text, field=field) from None


def bounds(dialect: str, max_tokens: int | None, max_length: int | None) -> tuple[int | None, int]:
    """Return the limits of tokens and bytes: those given, else those of the dialect."""  # A37
    if not isinstance(dialect, str):
        raise TypeError(f"dialect must be str, not {type(dialect).__name__}")
    if dialect not in _BOUNDS:
        raise ValueError(f"dialect must be 'strict' or 'server', not '{dialect}'")
    tokens, length = _BOUNDS[dialect]
    return (
        tokens if max_tokens is None else max_tokens,
        length if max_length is None else max_length,
    )


def bound(name: str, given: int | None) -> int | None:
    """Return a given limit, which must be at least 1, within 64 bits."""
    if given is None:
        return None
    given = operator.index(given)
    if given < 1:
        raise ValueError(f"{name} must be at least 1")
    return min(given, 2**64 - 1)


def _check(
    text: str,
    kind: str,
    dialect: str,
    max_tokens: int | None,
    max_length: int | None,
) -> None:
    """Validate the tokens from left to right and raise for the first violated rule."""

    def refuse(reason: str, position: int) -> SubtrieError:
        return refusal(kind, reason, text, position)

    bounds(dialect, None, None)  # refuses an unknown dialect before anything else
    given = (bound("max_tokens", max_tokens), bound("max_length", max_length))
    most_tokens, most_bytes = bounds(dialect, *given)
    data = encoded(text, kind)
    if not data:  # S1-014, S1-027
        raise refuse("empty", 0)
    if len(data) > most_bytes:  # A37
        raise refuse("too-long", most_bytes)
    start = 0
    for index, token in enumerate(data.split(b".")):
        if most_tokens is not None and index >= most_tokens:  # A37
            raise refuse("too-many-tokens", start)
        end = start + len(token)
        if not token:  # S1-026: a token is never empty
            raise refuse("empty-token", start)
        if token in (b"*", b">"):
            if kind == "SubjectError":  # A17, A35: a subject is concrete
                raise refuse("wildcard", start)
            if token == b">" and end != len(data):  # S1-029, S1-037
                raise refuse("tail-not-last", start)
        else:
            _check_bytes(token, dialect, start, refuse)
        start = end + 1


def _check_bytes(token: bytes, dialect: str, start: int, refuse: _Refuse) -> None:
    for position, byte in enumerate(token, start):
        if byte in _BLANKS[dialect]:  # S1-015, S1-028
            raise refuse("whitespace", position)
        if dialect == "server":  # A34, A36: everything else is text for nats-server
            continue
        if byte < 0x20 or byte == 0x7F:  # S2-023, A27
            raise refuse("control", position)
        if byte >= 0x80:  # S1-032
            raise refuse("non-ascii", position)
        if byte in b"*>":  # S1-031, S1-041 to S1-046
            raise refuse("partial-wildcard", position)


def matches(pattern: str, subject: str) -> bool:
    """Return whether a pattern matches a subject; both must be valid."""
    return covers(pattern, subject)


def covers(pattern: str, other: str) -> bool:
    """Return whether a pattern matches every subject that another one matches."""
    tokens, others = pattern.split("."), other.split(".")
    for index, token in enumerate(tokens):
        if index >= len(others):
            return False  # S1-040: '>' matches at least one token
        if token == ">":
            return True  # S1-037
        if others[index] == ">":
            return False  # '>' also matches longer subjects
        if token not in ("*", others[index]):  # S1-036
            return False
    return len(tokens) == len(others)


def overlaps(pattern: str, other: str) -> str | None:
    """Return a subject that both patterns match, or None.

    A token that both patterns leave open is ``x``.
    """
    lefts, rights = pattern.split("."), other.split(".")
    witness: list[str] = []
    for index in range(max(len(lefts), len(rights))):
        if index >= len(lefts) or index >= len(rights):
            return None
        left, right = lefts[index], rights[index]
        if left == ">" or right == ">":
            witness += map(_concrete, (rights if left == ">" else lefts)[index:])
            break
        if left != right and "*" not in (left, right):
            return None
        witness.append(_concrete(right if left == "*" else left))
    return ".".join(witness)


def _concrete(token: str) -> str:
    return "x" if token in ("*", ">") else token
