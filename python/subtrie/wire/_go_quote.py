r"""Text in Go's ``%q`` quoting, as the broker writes payloads and refused subjects.

Escapes stand for bytes (``\xff``, ``\377``), code points (``\u200b``) or control characters. The
resulting bytes are decoded as UTF-8; other bytes become lone surrogates, so that the conversion is
lossless.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL
)
_NAMED = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


def unquote(quoted: str) -> str:
    """Resolve the escapes of the text between the quotes. Never raises. Cost: one pass."""
    if "\\" not in quoted:
        return quoted
    parts: list[bytes] = []
    done = 0
    for escape in _ESCAPE.finditer(quoted):
        parts.append(_bytes(quoted[done : escape.start()]))
        parts.append(_escaped(escape))
        done = escape.end()
    parts.append(_bytes(quoted[done:]))
    return b"".join(parts).decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    """Return text without escapes as bytes."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that does not encode a byte
        return text.encode("utf-8", "replace")


def _escaped(escape: re.Match[str]) -> bytes:
    """Return the bytes of one escape."""
    byte, short, long, octal, named = escape.groups()
    if byte is not None:
        return bytes((int(byte, 16),))
    if octal is not None:
        return bytes((int(octal, 8) & 0xFF,))
    if named is not None:
        return bytes((_NAMED[named],)) if named in _NAMED else _bytes(named)
    point = int(short or long, 16)
    if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
        point = 0xFFFD  # as Go does for an invalid code point
    return chr(point).encode()
