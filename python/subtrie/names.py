"""Validation of the names of streams, consumers, accounts, queues, keys and buckets.

``check_name`` returns a report with the production of ADR-6 that fails, the byte at which it fails
and what would be valid there. The report also tells whether the name is reserved, and whether it is
portable to Windows.
"""

from __future__ import annotations

from typing import NamedTuple

from ._core import engine
from ._core.errors import refusal


class Source(NamedTuple):
    """The document of a rule."""

    title: str
    date: str
    author: str
    status: str
    tags: tuple[str, ...]


class NameRule(NamedTuple):
    """One production: its name, its definition, what it allows, and its document."""

    name: str
    production: str
    legal: str
    used: bool  # by another production of ADR-6, or as a name
    source: Source


class Reserved(NamedTuple):
    """A reserved prefix, its owner, and the versions in which it is reserved."""

    prefix: str
    owner: str
    era: str


# S2-001
#: The header of ADR-6.
ADR6 = Source(
    "ADR-6: naming rules of subjects, streams, consumers and accounts",
    "2021-08-17",
    "@scottf",
    "Approved",
    ("server", "client"),
)

#: The levels of strictness: the rules of ADR-6, those of the Go client, those of the CLI.
LEVELS = ("adr6", "go-client", "cli")

_SINGLES = {
    "dot": ".",
    "asterisk": "*",
    "lt": "<",
    "gt": ">",
    "dollar": "$",
    "colon": ":",
    "double-quote": '"',
    "fwd-slash": "/",
    "backslash": "\\",
    "pipe": "|",
    "question-mark": "?",
    "ampersand": "&",
    "dash": "-",
    "underscore": "_",
    "equals": "=",
}
# A43: defined by ADR-6, but not used by another production.
_UNUSED = frozenset({"ampersand", "limited-term-w-sp"})

_LETTERS = "letters, digits, '-', '_'"
_FILE_LEGAL = "printable ASCII but '.', '*', '>', '/', '\\', at most 255 characters"
_PRODUCTIONS: dict[str, tuple[str, str]] = {
    "printable": ("ASCII 33 to 126", "one printable ASCII character"),
    "term": ("printable but dot, asterisk, gt; one or more", "printable ASCII but '.', '*', '>'"),
    "limited-term": (
        "letter, digit, dash, underscore, fwd-slash, equals; one or more",
        f"{_LETTERS}, '/', '='",
    ),
    "limited-term-w-sp": ("limited-term with space; one or more", f"{_LETTERS}, '/', '=', ' '"),
    "restricted-term": ("letter, digit, dash, underscore; one or more", _LETTERS),
    "prefix": (
        "printable but dot, asterisk, gt, dollar; one or more",
        "printable ASCII but '.', '*', '>', '$'",
    ),
    "filename-safe": (
        "printable but dot, asterisk, gt, fwd-slash, backslash; 1 to 255",
        _FILE_LEGAL,
    ),
    "message-subject": (
        "(token (dot token)* (dot gt)?) | gt, token = term | asterisk",
        "tokens of printable ASCII joined by single dots; '*' and a final '>' in patterns only",
    ),
    "reply-to": ("term (dot term)*", "tokens of printable ASCII joined by single dots"),
    "stream-name": ("filename-safe", _FILE_LEGAL),
    "durable-name": ("filename-safe", _FILE_LEGAL),
    "consumer-name": ("filename-safe", _FILE_LEGAL),
    "account-name": ("filename-safe", _FILE_LEGAL),
    "queue-name": ("term", "printable ASCII but '.', '*', '>'"),
    "js-internal-prefix": (
        "dollar (prefix dot)+",
        "'$', then parts without '.', '*', '>', '$', each with a dot after it",
    ),
    "js-user-prefix": (
        "(prefix dot)+",
        "parts without '.', '*', '>', '$', each with a dot after it",
    ),
    "kv-key-name": (
        "limited-term (dot limited-term)*",
        f"{_LETTERS}, '/', '=' in parts joined by single dots",
    ),
    "kv-bucket-name": ("restricted-term", _LETTERS),
    "os-bucket-name": ("restricted-term", _LETTERS),
    "os-object-name": ("any character, one or more", "any text that is not empty"),
}

#: The production of every kind.
KINDS: dict[str, str] = {
    **{name: name for name in _SINGLES},
    **{name: name for name in _PRODUCTIONS},
    "subject": "subject",
    "pattern": "message-subject",
    "stream": "stream-name",
    "durable": "durable-name",
    "consumer": "consumer-name",
    "account": "account-name",
    "queue": "queue-name",
    "kv-key": "kv-key-name",
    "kv-bucket": "kv-bucket-name",
    "os-bucket": "os-bucket-name",
    "os-object": "os-object-name",
}

_WINDOWS_LEGAL = (
    "printable ASCII but '.', '*', '<', '>', ':', '\"', '/', '\\', '|', '?', at most 255 characters"
)
_LEVEL_LEGAL = {
    "go-client": "any text without '.' that is not empty; the server checks the rest",
    "cli": "any text without '.', '*', '>', '/', '\\' that is not empty",
    "any-character": "text that UTF-8 can encode",
}
_FILES = frozenset({"stream-name", "durable-name", "consumer-name", "account-name"})
_DEVICES = frozenset(
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"]
    + [f"{port}{number}" for port in ("COM", "LPT") for number in "123456789"]
)

# A62: both ``_SYS.`` and ``$SYS.``
#: The reserved prefixes of subjects.
RESERVED = (
    Reserved("$SYS.", "the system account", "nats-server 2.0 and later"),
    Reserved("_SYS.", "messages that servers make", "before nats-server 2.0"),
    Reserved("$JS.", "JetStream", "nats-server 2.2 and later"),
    Reserved("$KV.", "key-value buckets", "nats-server 2.6 and later"),
    Reserved("$O.", "object stores", "nats-server 2.6 and later"),
    Reserved("$SRV.", "services", "clients since 2022"),
    Reserved("$MQTT.", "MQTT sessions", "nats-server 2.2 and later"),
    Reserved("$NRG.", "consensus between servers", "nats-server 2.2 and later"),
    Reserved("$JSC.", "JetStream between servers", "nats-server 2.2 and later"),
    Reserved("$LDS.", "loops of leaf nodes", "nats-server 2.0 and later"),
    Reserved("$GNR.", "gateway replies", "nats-server 2.0 and later"),
    Reserved("$GR.", "gateway replies", "nats-server 2.0"),
    Reserved("_GR_.", "gateway replies", "nats-server 2.0 and later"),
    Reserved("_R_.", "answers to imported services", "nats-server 2.0 and later"),
    Reserved("_INBOX.", "replies to requests", "all clients"),
    Reserved("_STAN.", "NATS Streaming", "until nats-streaming-server 0.25"),
)
_KV = Reserved("_kv", "the key-value store itself", "ADR-6")  # S2-046, A40


class NameReport(NamedTuple):
    """The result of ``check_name``, which is true if the name is valid.

    Attributes:
        text: The name.
        kind: Its kind.
        level: The level of the check.
        windows: Whether the rules of Windows apply to file names.
        rule: The production that fails, or None.
        reason: A code of ``docs/errors.md``, or None.
        position: The byte offset of the failure in the UTF-8 of ``text``, or None.
    """

    text: str
    kind: str
    level: str
    windows: bool
    rule: str | None
    reason: str | None
    position: int | None

    def __bool__(self) -> bool:
        return self.reason is None

    @property
    def legal(self) -> str:
        """A description of what is valid in a name of this kind."""
        rule = self.rule or KINDS[self.kind]
        if rule in _LEVEL_LEGAL:
            return _LEVEL_LEGAL[rule]
        if rule in _SINGLES:
            return f"{_SINGLES[rule]!r} alone"
        if rule == "subject":
            rule = "reply-to"
        if self.windows and _PRODUCTIONS[rule][1] == _FILE_LEGAL:
            return _WINDOWS_LEGAL
        return _PRODUCTIONS[rule][1]

    @property
    def portable(self) -> bool:
        """Whether the name can be that of a file on Windows, which reserves device names."""
        # A42
        if KINDS[self.kind] not in (*_FILES, "filename-safe"):
            return True
        stem = self.text.split(".", 1)[0].rstrip(" ").upper()
        return stem not in _DEVICES and self.text[-1:] not in (" ", ".")

    @property
    def reserved(self) -> Reserved | None:
        """The reserved prefix of the name, or None; a reserved name is still valid."""  # A40
        production = KINDS[self.kind]
        if production == "kv-key-name":
            return _KV if self.text.startswith(_KV.prefix) else None
        if production in ("subject", "message-subject", "reply-to"):
            return reserved(self.text)
        return None

    def require(self) -> str:
        """Return the text, or raise ``InvalidName`` if it is not a valid name."""
        if self.reason is None:
            return self.text
        error = refusal("InvalidName", self.reason, self.text, self.position)
        error.hint = f"valid: {self.legal}"
        raise error


def check_name(text: str, kind: str, *, level: str = "adr6", windows: bool = False) -> NameReport:
    """Return whether the text is a valid name of a kind; no content of the text raises.

    Args:
        text: The name.
        kind: ``subject``, ``pattern``, ``reply-to``, ``stream``, ``durable``, ``consumer``,
            ``account``, ``queue``, ``js-internal-prefix``, ``js-user-prefix``, ``kv-key``,
            ``kv-bucket``, ``os-bucket``, ``os-object``, or a production of ADR-6 by its name
            (``term``, ``filename-safe``, …).
        level: ``adr6``; or ``go-client`` or ``cli``, whose rules for streams, durables and
            consumers are looser.
        windows: Whether to restrict file names to what Windows allows.

    Raises:
        ValueError: The kind or the level is unknown.

    Example:
        >>> check_name("ORDERS.EU", "stream").position
        6
    """
    # S2-008 to S2-049, A32, A38 to A45a
    return engine.check_name(text, kind, level=level, windows=windows)


def rules() -> tuple[NameRule, ...]:
    """Return every production of ADR-6 with its document, in the order of the document."""
    singles = ((name, f"{text!r}", f"{text!r} alone") for name, text in _SINGLES.items())
    others = ((name, *both) for name, both in _PRODUCTIONS.items())
    return tuple(
        NameRule(name, production, legal, name not in _UNUSED, ADR6)
        for name, production, legal in (*singles, *others)
    )


def reserved(subject: str) -> Reserved | None:
    """Return the reserved prefix of a subject or pattern, or None."""  # S4-007, A62
    return next((space for space in RESERVED if subject.startswith(space.prefix)), None)


def adr6_literal(text: str) -> bool:
    """Return whether the text matches the production ``message-subject`` literally.

    By the production as ADR-6 prints it, ``foo*`` is valid and ``foo.*``, ``*`` and ``>`` are not.
    ``check_name`` does not use it.
    """
    # A32
    term = _printed_term(text, 0)
    if term == 0:
        return False
    at = term
    while at < len(text):
        if text[at] == "*":
            at += 1
            continue
        if text[at] != ".":
            return False
        if text[at + 1 :] == ">":
            return True
        length = _printed_term(text, at + 1)
        if length == 0:
            return False
        at += 1 + length
    return True


def _printed_term(text: str, start: int) -> int:
    end = start
    while end < len(text) and 33 <= ord(text[end]) <= 126 and text[end] not in ".*>":
        end += 1
    return end - start


__all__ = [
    "check_name",
    "reserved",
    "rules",
]
