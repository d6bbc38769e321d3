"""Hosts and path parts as tokens, and back: only the one canonical spelling is read.

A host: each dot becomes ``_``, then every byte beyond ``[A-Za-z0-9_-]`` becomes ``%xx`` (S0-028 to
S0-030). A path part: every byte beyond ``[A-Za-z0-9-]`` becomes ``%xx`` (S0-064 to S0-067). Hex is
lower case (A4). What the encoder would have written otherwise does not decode (A7).
"""

from __future__ import annotations

import string

from ._arguments import Broken, of, text
from ._case_folding import fold, folded

_SEGMENT = frozenset((string.ascii_letters + string.digits + "-").encode())
_HOST = _SEGMENT | frozenset(b"_")
_HEX = "0123456789abcdef"


def flatten_host(host: str) -> str:
    """The token of a host, in lower case."""
    return _escaped(fold(text(host, "host")).replace(".", "_"), _HOST)


def escape_segment(segment: str) -> str:
    """The token of one path part; an empty part gives empty text, which encoders write ``_``."""
    return _escaped(text(segment, "segment"), _SEGMENT)


def _escaped(plain: str, keep: frozenset[int]) -> str:
    return "".join(chr(byte) if byte in keep else f"%{byte:02x}" for byte in plain.encode())


def unflatten_host(token: str) -> str:
    """The host of a canonical token."""
    with of("token", text(token, "token")):
        if token == "_":
            raise Broken("placeholder", 0)  # A7: written where there is no source
        return host_of(token)


def unescape_segment(token: str) -> str:
    """The path part of a canonical token; ``_`` is the empty part (A13)."""
    with of("token", text(token, "token")):
        return segment_of(token)


def host_of(token: str) -> str:
    """The host a token stands for; ``_`` is always a dot (A5)."""
    host = []
    at = 0
    while at < len(token):
        char, end = token[at], at + 1
        if char == "%":
            char, end = _escape_at(token, at)
            # What is written plainly, or folded away, is never written as an escape.
            if char in "._-" or _is_alphanumeric(char) or folded(char) != char:
                raise Broken("not-canonical", at)
        elif char == "_":
            char = "."
        elif char != "-" and not (_is_alphanumeric(char) and folded(char) == char):
            raise Broken("not-canonical", at)
        host.append(char)
        at = end
    return "".join(host)


def segment_of(token: str) -> str:
    """The path part a token stands for."""
    if token == "_":
        return ""
    segment = []
    at = 0
    while at < len(token):
        char, end = token[at], at + 1
        if char == "%":
            char, end = _escape_at(token, at)
            # A slash separates parts and so is never inside one (A14).
            if char in "-/" or _is_alphanumeric(char):
                raise Broken("not-canonical", at)
        elif char != "-" and not _is_alphanumeric(char):
            raise Broken("not-canonical", at)
        segment.append(char)
        at = end
    return "".join(segment)


def _is_alphanumeric(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _escape_at(token: str, at: int) -> tuple[str, int]:
    """The character whose bytes are escaped from ``at`` on, and where its escapes end (A73)."""
    first = _byte_at(token, at)
    if first is None:
        raise Broken("escape", at)
    data = bytearray([first])
    for _ in range(_length(first) - 1):
        byte = _byte_at(token, at + 3 * len(data))
        if byte is None:
            break
        data.append(byte)
    try:
        char = data.decode()
    except UnicodeDecodeError:
        raise Broken("utf8", at) from None
    return char, at + 3 * len(data)


def _length(first: int) -> int:
    """How many bytes the character has that begins with this one."""
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def _byte_at(token: str, at: int) -> int | None:
    """The byte of the escape at ``at``, or None where there is none."""
    digits = token[at + 1 : at + 3]
    if token[at : at + 1] != "%" or len(digits) != 2 or any(d not in _HEX for d in digits):
        return None
    return int(digits, 16)
