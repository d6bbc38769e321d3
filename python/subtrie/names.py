"""Names of streams, consumers, accounts, queues, keys and buckets: may this be one?

``check_name`` answers with a report: which production of ADR-6 fails, at which byte, and what would
be legal there. Three things beside the grammar are separate answers of the report: ``.reserved``
(the name lies in somebody's own space), ``.portable`` (Windows keeps device names for itself) and
the level, which says whose check it is.
"""

from __future__ import annotations

from typing import NamedTuple

from . import _engine
from ._errors import refusal


class Source(NamedTuple):
    """Where a rule stands."""

    title: str
    date: str
    author: str
    status: str
    tags: tuple[str, ...]


class NameRule(NamedTuple):
    """One production: its name, what it is made of, what it allows, where it stands."""

    name: str
    production: str
    legal: str
    used: bool  # does another production of ADR-6 use it, or is it a name itself?
    source: Source


class Reserved(NamedTuple):
    """A space that belongs to somebody: ``prefix``, whose it is, and since or until when."""

    prefix: str
    owner: str
    era: str


#: S2-001: what ADR-6 says of itself.
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
# A43: on the page, and in no other production of it.
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

#: Every kind ``check_name`` knows, and the production it stands for.
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
    "go-client": "any text without '.' that is not empty; the rest is the server's to judge",
    "cli": "any text without '.', '*', '>', '/', '\\' that is not empty",
    "any-character": "text that UTF-8 can carry",
}
_FILES = frozenset({"stream-name", "durable-name", "consumer-name", "account-name"})
_DEVICES = frozenset(
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"]
    + [f"{port}{number}" for port in ("COM", "LPT") for number in "123456789"]
)

#: Prefixes of subjects that belong to somebody (A62: ``_SYS.`` and ``$SYS.`` alike).
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
    """The answer of ``check_name``: truthy when the name is fine.

    ``rule`` is the production that fails, ``reason`` a code of ``docs/errors.md``, ``position`` the
    byte offset into the UTF-8 of ``text``; all three are None when it is fine.
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
        """What would be legal in a name of this kind, in words."""
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
        """False where the name would be a file and Windows keeps it for a device (A42)."""
        if KINDS[self.kind] not in (*_FILES, "filename-safe"):
            return True
        stem = self.text.split(".", 1)[0].rstrip(" ").upper()
        return stem not in _DEVICES and self.text[-1:] not in (" ", ".")

    @property
    def reserved(self) -> Reserved | None:
        """Whose space the name lies in, or None. A reserved name is still a valid one (A40)."""
        production = KINDS[self.kind]
        if production == "kv-key-name":
            return _KV if self.text.startswith(_KV.prefix) else None
        if production in ("subject", "message-subject", "reply-to"):
            return reserved(self.text)
        return None

    def require(self) -> str:
        """The text, or ``InvalidName`` with what is wrong, where, and what would be legal."""
        if self.reason is None:
            return self.text
        error = refusal("InvalidName", self.reason, self.text, self.position)
        error.hint = f"legal: {self.legal}"
        raise error


def check_name(text: str, kind: str, *, level: str = "adr6", windows: bool = False) -> NameReport:
    """Is the text a name of this kind?

    ``kind``: ``subject``, ``pattern``, ``reply-to``, ``stream``, ``durable``, ``consumer``,
    ``account``, ``queue``, ``js-internal-prefix``, ``js-user-prefix``, ``kv-key``, ``kv-bucket``,
    ``os-bucket``, ``os-object``, or a production of ADR-6 by its own name (``term``,
    ``filename-safe``, …). ``level``: ``adr6``, or ``go-client`` or ``cli``, which look at streams,
    durables and consumers only and less closely. ``windows``: file names as Windows allows them.

    Raises ``ValueError`` for a kind or level nobody knows, ``TypeError`` for what is no text; what
    the text holds never raises. Cost: one pass. S2-008 to S2-049, A32, A38 to A45a.
    """
    report: NameReport = _engine.check_name(text, kind, level=level, windows=windows)
    return report


def rules() -> tuple[NameRule, ...]:
    """Every production of ADR-6 with its source, in the order of the page."""
    singles = ((name, f"{text!r}", f"{text!r} alone") for name, text in _SINGLES.items())
    others = ((name, *both) for name, both in _PRODUCTIONS.items())
    return tuple(
        NameRule(name, production, legal, name not in _UNUSED, ADR6)
        for name, production, legal in (*singles, *others)
    )


def reserved(subject: str) -> Reserved | None:
    """Whose space a subject or pattern lies in, or None (S4-007, A62)."""
    return next((space for space in RESERVED if subject.startswith(space.prefix)), None)


def adr6_literal(text: str) -> bool:
    """Is the text a ``message-subject`` exactly as ADR-6 prints the production?

    Kept for the record (A32): read so, ``foo*`` passes and ``foo.*``, ``*`` and ``>`` do not.
    """
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
    "ADR6",
    "KINDS",
    "LEVELS",
    "RESERVED",
    "NameReport",
    "NameRule",
    "Reserved",
    "Source",
    "adr6_literal",
    "check_name",
    "reserved",
    "rules",
]
