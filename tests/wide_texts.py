"""Texts beyond ASCII for tests that compare the engines, one of which counts bytes.

Orders differ too: of code points, which is that of UTF-8, and of UTF-16, where a surrogate pair
comes before U+E000 to U+FFFF.
"""

from __future__ import annotations

#: Tokens of one to four bytes a character, several of them of the same number of characters.
TOKENS = [
    "e",  # one character in one byte
    "é",  # one in two
    "\u20ac",  # one in three
    "\uff5e",  # one in three: before an emoji by code point, after it in UTF-16
    "\U0001f600",  # one in four
    "ee",  # two characters in two bytes
    "e\u0301",  # two in three: with a combining mark, looks as é does
    "日本",  # two in six
    "eeee",  # four bytes, as an emoji has
]

#: The same with letters of ASCII, which patterns share more often.
MIXED = ["a", "b", *TOKENS]

#: Tokens whose order in UTF-16 is not that of code points; one more that has fewer bytes.
IN_ANOTHER_ORDER = ["\uff5e", "\U0001f600", "é"]
