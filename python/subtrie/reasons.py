"""Every reason for which an input is refused: the code, the sentence, the hint, the HTTP status.

One table for both engines and for the docs. A sentence is filled with what was refused: ``{value}``
(shortened, quoted), ``{field}`` (the argument). Codes are stable: code may branch on them.
"""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """One rule that can refuse an input."""

    sentence: str
    hint: str
    status: int = 400


GRAMMAR: dict[str, Reason] = {
    "empty": Reason("it is empty", "a subject has at least one token"),
    "empty-token": Reason("a token is empty", "remove the leading, trailing or double dot"),
    "whitespace": Reason("it holds whitespace", "subjects hold no blank of any kind"),
    "control": Reason(
        "it holds a control character", "use printable characters, or dialect='server'"
    ),
    "non-ascii": Reason(
        "it holds a character beyond ASCII",
        "percent-encode it, or use dialect='server', which gives no guarantees",
    ),
    "surrogate": Reason(
        "it holds a lone surrogate, which no UTF-8 can carry",
        "decode the bytes it came from properly",
    ),
    "partial-wildcard": Reason(
        "a wildcard is part of a longer token",
        "a wildcard stands alone between dots; dialect='server' takes it as text",
    ),
    "wildcard": Reason(
        "it holds a wildcard token, and a subject is concrete",
        "use Pattern for what is subscribed to",
    ),
    "tail-not-last": Reason(
        "'>' is not the last token", "use '*' for a single token in the middle"
    ),
    "too-long": Reason("it is too long", "1,024 bytes in strict, 4,096 in server", 414),
    "too-many-tokens": Reason("it has too many tokens", "64 in strict", 414),
}

INDEX: dict[str, Reason] = {
    "queue-empty": Reason("a queue name is never empty", "leave it out for no queue"),
    "queue-whitespace": Reason(
        "a queue name holds no whitespace", "on the wire a blank would end the name"
    ),
    "queue-wildcard": Reason(
        "a queue name holds no wildcard token", "'*' and '>' stand for nothing here"
    ),
    "index-full": Reason("the index is full", "spread the patterns over several indexes", 507),
}

#: The areas, as the docs show them.
AREAS: dict[str, dict[str, Reason]] = {"Subjects and patterns": GRAMMAR, "Index": INDEX}

#: Every reason by its code.
REASONS: dict[str, Reason] = {code: rule for area in AREAS.values() for code, rule in area.items()}
