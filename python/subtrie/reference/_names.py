"""Names of streams, consumers, accounts, queues, keys and buckets by ADR-6.

The module implements the productions of ADR-6 and the two looser levels that it mentions. A name is
validated from left to right, and the first byte that is not allowed is reported.
"""

from __future__ import annotations

from ..names import KINDS, LEVELS, NameReport

_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_DIGITS = frozenset(b"0123456789")

_PRINTABLE = frozenset(range(33, 127))  # S2-023
_TERM = _PRINTABLE - frozenset(b".*>")  # S2-024
_PREFIX = _TERM - frozenset(b"$")  # S2-028, A38
_RESTRICTED = _LETTERS | _DIGITS | frozenset(b"-_")  # S2-027
_LIMITED = _RESTRICTED | frozenset(b"/=")  # S2-025
_LIMITED_OR_SPACE = _LIMITED | frozenset(b" ")  # S2-026
_FILE = _TERM - frozenset(b"/\\")  # S2-029, S2-043
_WINDOWS_FILE = _FILE - frozenset(b'<:"|?')  # S2-044
_NO_DOT = frozenset(range(256)) - frozenset(b".")  # S2-047
_NO_PATH = frozenset(range(256)) - frozenset(b".*>/\\")  # S2-049

_FILE_LENGTH = 255  # A41: bytes and characters are the same here

# S2-008 to S2-022: one character each.
_SINGLE = {
    "dot": b".",
    "asterisk": b"*",
    "lt": b"<",
    "gt": b">",
    "dollar": b"$",
    "colon": b":",
    "double-quote": b'"',
    "fwd-slash": b"/",
    "backslash": b"\\",
    "pipe": b"|",
    "question-mark": b"?",
    "ampersand": b"&",
    "dash": b"-",
    "underscore": b"_",
    "equals": b"=",
}

# The character classes; a name has one or more of their bytes.
_RUNS = {
    "term": _TERM,
    "limited-term": _LIMITED,
    "limited-term-w-sp": _LIMITED_OR_SPACE,
    "restricted-term": _RESTRICTED,
    "prefix": _PREFIX,
}

_Violation = tuple[str, str, int] | None


def check_name(text: str, kind: str, *, level: str = "adr6", windows: bool = False) -> NameReport:
    """Return whether the text is a valid name of a kind; see ``subtrie.check_name``."""
    for name, given, wanted in (("text", text, str), ("kind", kind, str), ("level", level, str)):
        if not isinstance(given, wanted):
            raise TypeError(f"{name} must be str, not {type(given).__name__}")
    if not isinstance(windows, bool):
        raise TypeError(f"windows must be bool, not {type(windows).__name__}")
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} is not one of {', '.join(KINDS)}")
    if level not in LEVELS:
        raise ValueError(f"level must be 'adr6', 'go-client' or 'cli', not {level!r}")
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        position = len(text[: error.start].encode())
        return NameReport(text, kind, level, windows, "any-character", "surrogate", position)
    violation = _violation_in(data, KINDS[kind], level, windows)
    return NameReport(text, kind, level, windows, *(violation or (None, None, None)))


def _violation_in(data: bytes, production: str, level: str, windows: bool) -> _Violation:
    """Return the production that fails, the reason and the position, or None."""
    rule, most = production, None
    if production in ("stream-name", "durable-name", "consumer-name"):  # S2-032 to S2-034
        rule = {"adr6": "filename-safe", "go-client": "go-client", "cli": "cli"}[level]
    elif production == "account-name":  # S2-035
        rule = "filename-safe"
    elif production == "queue-name":  # S2-036, A39
        rule = "term"
    elif production in ("kv-bucket-name", "os-bucket-name"):  # S2-040, S2-041
        rule = "restricted-term"
    elif production == "subject":
        rule = "message-subject"
    if not data:
        return rule, "name-empty", 0
    if rule == "printable" or rule in _SINGLE:
        return _one(data, rule)
    if rule == "message-subject":  # S2-030, A32
        return _dotted(data, rule, "term", production == "message-subject")
    if rule == "reply-to":  # S2-031
        return _dotted(data, rule, "term", False)
    if rule == "kv-key-name":  # S2-039, A40
        return _dotted(data, rule, "limited-term", False)
    if rule in ("js-internal-prefix", "js-user-prefix"):  # S2-037, S2-038
        return _prefixes(data, rule)
    if rule == "os-object-name":  # S2-042, A44
        return None
    if rule == "filename-safe":
        members, most = _WINDOWS_FILE if windows else _FILE, _FILE_LENGTH
    elif rule == "go-client":  # S2-047, S2-048
        members = _NO_DOT
    elif rule == "cli":
        members = _NO_PATH
    else:
        members = _RUNS[rule]
    return _run(data, rule, members, most)


def _one(data: bytes, rule: str) -> _Violation:
    members = _PRINTABLE if rule == "printable" else _SINGLE[rule]
    if data[0] not in members:
        return rule, "name-character", 0
    return (rule, "name-single", 1) if len(data) > 1 else None


def _run(data: bytes, rule: str, members: frozenset[int], most: int | None) -> _Violation:
    for position, byte in enumerate(data):
        if position == most:
            return rule, "name-too-long", position
        if byte not in members:
            return rule, "name-character", position
    return None


def _dotted(data: bytes, rule: str, part: str, wildcards: bool) -> _Violation:
    start = 0
    for token in data.split(b"."):
        end = start + len(token)
        if not token:
            return rule, "name-empty-token", start
        if part == "term" and token in (b"*", b">"):
            if not wildcards:
                return rule, "name-wildcard", start
            if token == b">" and end != len(data):
                return rule, "name-tail-not-last", start
        else:
            for position, byte in enumerate(token, start):
                if byte not in _RUNS[part]:
                    return part, "name-character", position
        start = end + 1
    return None


def _prefixes(data: bytes, rule: str) -> _Violation:
    """Validate parts that each end with a dot."""
    start = 0
    if rule == "js-internal-prefix":
        if data[0] != ord("$"):
            return rule, "name-no-dollar", 0
        start = 1
    parts = data[start:].split(b".")
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if not part and last and index:
            return None
        if not part:
            return rule, "name-empty-token", start
        for position, byte in enumerate(part, start):
            if byte not in _PREFIX:
                return "prefix", "name-character", position
        if last:
            return rule, "name-no-final-dot", len(data)
        start += len(part) + 1
    return None
