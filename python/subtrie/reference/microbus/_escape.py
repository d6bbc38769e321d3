"""Escaping of hosts and path segments as tokens; only canonical tokens decode.

In a host, dots become ``_``, then all bytes but ``[A-Za-z0-9_-]`` become ``%xx``. In a path
segment, all bytes but ``[A-Za-z0-9-]`` become ``%xx``. Hexadecimal digits are lower case.
"""

# S0-028 to S0-030, S0-064 to S0-067, A4, A7

from __future__ import annotations

import string

from ._arguments import RuleViolation, argument, text
from ._case_folding import fold_case, fold_character

_SEGMENT = frozenset((string.ascii_letters + string.digits + "-").encode())
_HOST = _SEGMENT | frozenset(b"_")
_HEX = "0123456789abcdef"


def flatten_host(host: str) -> str:
    """Return the token of a host: lower case, dots as ``_``, other characters as ``%xx``."""
    return _escaped(fold_case(text(host, "host")).replace(".", "_"), _HOST)


def escape_segment(segment: str) -> str:
    """Return the token of one path segment; an empty segment stays empty."""
    return _escaped(text(segment, "segment"), _SEGMENT)


def _escaped(plain: str, keep: frozenset[int]) -> str:
    return "".join(chr(byte) if byte in keep else f"%{byte:02x}" for byte in plain.encode())


def unflatten_host(token: str) -> str:
    """Return the host of a canonical token, or raise ``AddressError``."""
    with argument("token", text(token, "token")):
        if token == "_":
            raise RuleViolation("placeholder", 0)  # A7: it stands for an absent token
        return host_of(token)


def unescape_segment(token: str) -> str:
    """Return the path segment of a canonical token; ``_`` is the empty segment."""  # A13
    with argument("token", text(token, "token")):
        return segment_of(token)


def host_of(token: str) -> str:
    """Return the host of a token; ``_`` always stands for a dot."""  # A5
    host = []
    at = 0
    while at < len(token):
        char, end = token[at], at + 1
        if char == "%":
            char, end = _escape_at(token, at)
            # A character that the encoder writes literally, or folds, is never escaped.
            if char in "._-" or _is_alphanumeric(char) or fold_character(char) != char:
                raise RuleViolation("not-canonical", at)
        elif char == "_":
            char = "."
        elif char != "-" and not (_is_alphanumeric(char) and fold_character(char) == char):
            raise RuleViolation("not-canonical", at)
        host.append(char)
        at = end
    return "".join(host)


def segment_of(token: str) -> str:
    """Return the path segment of a token."""
    if token == "_":
        return ""
    segment = []
    at = 0
    while at < len(token):
        char, end = token[at], at + 1
        if char == "%":
            char, end = _escape_at(token, at)
            # A slash separates segments and so is never part of one (A14).
            if char in "-/" or _is_alphanumeric(char):
                raise RuleViolation("not-canonical", at)
        elif char != "-" and not _is_alphanumeric(char):
            raise RuleViolation("not-canonical", at)
        segment.append(char)
        at = end
    return "".join(segment)


def _is_alphanumeric(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _escape_at(token: str, at: int) -> tuple[str, int]:
    """Return the character whose escaped bytes begin at ``at``, and where they end."""  # A73
    first = _byte_at(token, at)
    if first is None:
        raise RuleViolation("escape", at)
    data = bytearray([first])
    for _ in range(_length(first) - 1):
        byte = _byte_at(token, at + 3 * len(data))
        if byte is None:
            break
        data.append(byte)
    try:
        char = data.decode()
    except UnicodeDecodeError:
        raise RuleViolation("utf8", at) from None
    return char, at + 3 * len(data)


def _length(first: int) -> int:
    """Return the number of bytes of the UTF-8 character with this first byte."""
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def _byte_at(token: str, at: int) -> int | None:
    """Return the byte of the escape at ``at``, or None if there is no escape."""
    digits = token[at + 1 : at + 3]
    if token[at : at + 1] != "%" or len(digits) != 2 or any(d not in _HEX for d in digits):
        return None
    return int(digits, 16)
