"""Case folding, character by character, so that the number of characters is kept.

Hosts are folded by the simple mappings of Unicode 14, the version of the oldest supported Python;
letters that were added later are kept, whatever version the interpreter has. Identities, slots and
methods are ASCII.
"""

# S0-069

from __future__ import annotations

import string

# Letters with a lower case that Unicode 16 and 17 added.
_ADDED_AFTER_UNICODE_14 = (
    (0x1C89, 0x1C89),
    (0xA7CB, 0xA7CC),
    (0xA7CE, 0xA7CE),
    (0xA7D2, 0xA7D2),
    (0xA7D4, 0xA7D4),
    (0xA7DA, 0xA7DA),
    (0xA7DC, 0xA7DC),
    (0x10D50, 0x10D65),
    (0x16EA0, 0x16EB8),
)

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)


def ascii_lower(text: str) -> str:
    """Return the text with A to Z in lower case."""
    return text.translate(_LOWER)


def ascii_upper(text: str) -> str:
    """Return the text with a to z in upper case."""
    return text.translate(_UPPER)


def fold_case(text: str) -> str:
    """Return the host in lower case."""
    return "".join(map(fold_character, text))


def fold_character(char: str) -> str:
    """Return one character in lower case, which is always one character."""
    if any(low <= ord(char) <= high for low, high in _ADDED_AFTER_UNICODE_14):
        return char
    # Only U+0130 becomes two: 'i' and a combining dot. Its simple mapping is 'i'.
    return char.lower()[0]
