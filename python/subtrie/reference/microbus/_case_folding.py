"""Lower case, character by character, so that no text grows and both engines agree (S0-069).

Hosts fold by the simple mappings of Unicode 14, the tables of the oldest Python supported: younger
letters stay as they are, whatever tables the interpreter brings. Identities, slots and methods are
ASCII and fold as such.
"""

from __future__ import annotations

import string

# Letters with a lower case that came after Unicode 14 (in 16 and 17).
_YOUNGER = (
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
    """A to Z in lower case, all else as it is."""
    return text.translate(_LOWER)


def ascii_upper(text: str) -> str:
    """a to z in upper case, all else as it is."""
    return text.translate(_UPPER)


def fold(text: str) -> str:
    """The host in lower case."""
    return "".join(map(folded, text))


def folded(char: str) -> str:
    """One character in lower case: always one character."""
    if any(low <= ord(char) <= high for low, high in _YOUNGER):
        return char
    # Only U+0130 has two: 'i' and a combining dot. Its simple mapping is 'i'.
    return char.lower()[0]
