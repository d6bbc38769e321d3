"""Parse lines of nats-server's trace log (``-DV``).

A line is a prefix (process id, time, level), the connection, and an operation in brackets, a
payload, or a message. Operation arguments are printed as the client sent them, so a hostile subject
may contain quotes and brackets: arguments are parsed from the left, and the closing bracket is the
last character of the line. Names of clients and users are quoted by the broker, so they cannot be
confused with the rest. The prefix varies (no time, no process id, system log), so it is parsed
leniently.

The escapes of payloads are resolved here; the audit does not use payloads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._core.redaction import redact_text
from .._nats.container_lines import unwrapped
from ._go_quote import unquote

__all__ = [
    "LogRecord",
    "Violation",
    "parse_line",
    "violation",
]

#: The kind of connection, by the letters before its number.
KINDS = {
    "cid": "client",
    "wid": "websocket",
    "mid": "mqtt",
    "rid": "route",
    "gid": "gateway",
    "lid": "leaf",
}
DIRECTIONS = {"<<-": "in", "->>": "out", "<->": "local"}
PAYLOAD = "MSG_PAYLOAD"
#: How the message begins that a connection reads more slowly than the server sends to it.
SLOW_CONSUMER = "Slow Consumer Detected: "

_TEXT = r'[^"\\]*(?:\\.[^"\\]*)*'
_CONNECTION = (
    r"(?P<peer>\S+) - (?P<kind>[crwmgl]id)(?:_ws)?:(?P<id>\d{1,19})"
    rf'(?: - "(?P<client>{_TEXT})")?(?: - "(?P<login>{_TEXT})")? - (?P<rest>.*)'
)
_TIME = r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?"
_LEVEL = r"TRC|DBG|INF|WRN|ERR|FTL"

# The prefix of the broker; each part can be disabled in its configuration.
_OWN_PREFIX = rf"(?:\[(?P<pid>\d{{1,10}})\] )?(?:(?P<ts>{_TIME}) )?(?:\[(?P<level>{_LEVEL})\] )?"
_OWN = re.compile(_OWN_PREFIX + _CONNECTION, re.DOTALL | re.ASCII)
# The same after the prefix of a system log, a container or a supervisor.
_ANYWHERE = re.compile(r"(?<= )" + _CONNECTION, re.DOTALL | re.ASCII)
_ANY_PID = re.compile(r"\[(\d{1,10})\](?=:? )", re.ASCII)
_ANY_TIME = re.compile(_TIME, re.ASCII)
_ANY_LEVEL = re.compile(rf"\[({_LEVEL})\]")
_MAX_FOREIGN_PREFIX = 300  # characters that another program may put before the connection
# A message about the server as a whole. The level must follow the broker's prefix, or the tag of
# the system log must name the broker, else the log of any program would match.
_MESSAGE = re.compile(
    rf"(?:\[(?P<pid>\d{{1,10}})\] )?(?:(?P<ts>{_TIME}) )?\[(?P<level>{_LEVEL})\] (?P<rest>.*)",
    re.DOTALL | re.ASCII,
)
_TAGGED = re.compile(
    r"[^\[\]]{0,200}nats-server\[(?P<pid>\d{1,10})\]: (?P<rest>.*)", re.DOTALL | re.ASCII
)
_FRAMED = re.compile(
    rf".{{0,200}}?\[(?P<pid>\d{{1,10}})\] (?P<ts>{_TIME}) \[(?P<level>{_LEVEL})\] (?P<rest>.*)",
    re.DOTALL | re.ASCII,
)
# Trace lines of the broker's own clients: the system account, JetStream and others.
_INTERNAL = re.compile(r"[A-Z][A-Z ]* - ")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

# The account ends at the first slash, and one tag may stand after it: a user name that holds
# slashes cannot pretend to be another one.
_LOGIN = re.compile(
    r"(?:(?!user:|jwt:|nkey:)(?P<account>[^/]*)/(?:[^/]*/)??)?(?:(?P<login>user|jwt|nkey):(?P<user>.*)|token)\Z",
    re.DOTALL,
)
_OPERATION = re.compile(r"(<<-|->>|<->) \[([A-Za-z+-]{1,12})(?:[ \t]+(.*))?\]\Z", re.DOTALL)
_PAYLOAD = re.compile(r'(<<-|->>|<->) MSG_PAYLOAD: \["(.*)"\]\Z', re.DOTALL)
_BLANKS = re.compile(r"[ \t]+")
# Operations whose argument is one text: JSON or an error message.
_WHOLE = frozenset({"CONNECT", "INFO", "-ERR"})
_VIOLATION = re.compile(
    r"(?P<verb>Publish|Subscription) Violation(?: Too Many Tokens)? - "
    rf'(?:[A-Za-z ]+"{_TEXT}", )??(?P<what>Subject|Reply) "(?P<subject>{_TEXT})"'
    rf'(?:, Queue: "(?P<queue>{_TEXT})")?(?:, SID (?P<sid>.*))?\Z',
    re.DOTALL,
)


class LinePrefix(NamedTuple):
    """The part of a line before the operation: process, time, level and connection."""

    pid: int | None = None
    ts: str | None = None
    level: str | None = None
    peer: str | None = None
    kind: str | None = None
    id: int | None = None
    client: str | None = None
    account: str | None = None
    user: str | None = None
    #: What the user is: ``user``, ``jwt`` or ``nkey``; ``token`` names none.
    login: str | None = None

    def record(self, **parts: Any) -> LogRecord:
        """Return the record of a line with this prefix."""
        return LogRecord(
            self.pid,
            self.ts,
            self.level,
            self.peer,
            self.kind,
            self.id,
            self.client,
            self.account,
            self.user,
            **parts,
        )


class Violation(NamedTuple):
    """A permissions violation that the broker logged."""

    kind: str  # "publish", "reply" (a publish refused for its reply subject) or "subscribe"
    subject: str
    queue: str | None
    sid: str | None


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One line of the log. Parts that the line does not have are None.

    Attributes:
        pid: The process id of the broker.
        ts: The time as printed.
        level: The level, such as ``TRC``.
        peer: The address of the other side of the connection.
        kind: The kind of the connection, a value of ``KINDS``.
        id: The number of the connection.
        client: The client's description of itself (``v1.2:lang:name``).
        account: The account of the client.
        user: The user of the client.
        direction: ``in``, ``out`` or ``local`` for an operation or payload.
        op: The operation; ``MSG_PAYLOAD`` for a payload.
        args: The arguments of the operation.
        payload: The payload.
        message: The text of a line that is not an operation or payload.
    """

    pid: int | None
    ts: str | None
    level: str | None
    peer: str | None
    kind: str | None
    id: int | None
    client: str | None
    account: str | None
    user: str | None
    direction: str | None = None
    op: str | None = None
    args: tuple[str, ...] = ()
    payload: str | None = None
    message: str | None = None

    @property
    def name(self) -> str | None:
        """The client's name for itself, or None."""
        return client_name(self.client)

    @property
    def violation(self) -> Violation | None:
        """The permissions violation that this line reports, or None."""
        return None if self.message is None else violation(self.message)

    def as_dict(self) -> dict[str, Any]:
        """Return the record in the form of the conformance vectors (kind ``trace_log``)."""
        row: dict[str, Any] = {
            "pid": self.pid,
            "ts": self.ts,
            "level": self.level,
            "peer": self.peer,
            "kind": self.kind,
            "id": self.id,
            "client": self.client,
            "account": self.account,
            "user": self.user,
            "direction": self.direction,
            "op": self.op,
            "args": list(self.args),
        }
        if self.payload is not None:
            row["payload"] = self.payload
        if self.message is not None:
            row["message"] = self.message
        return row


def parse_line(text: str | bytes, *, reveal: bool = False) -> LogRecord | None:
    """Parse one line, with or without its line end.

    Never raises. Cost: a few microseconds, linear in the length of the line.

    Args:
        text: The line, also as docker (``json-file``) or CRI wrapped it. Bytes are read as UTF-8;
            those that are not become lone surrogates.
        reveal: Whether passwords, tokens, JWTs and nkeys in CONNECT lines, payloads and messages
            are kept; by default they are replaced by ``[REDACTED]``.

    Returns:
        The record; None if nats-server did not write the line, or if it is incomplete.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    text = text.rstrip("\r\n")
    wrapped = unwrapped(text)
    if wrapped is not None:
        text = wrapped.text
    found = read_prefix(text)
    if found is None:
        found = _parse_message(text)
        if found is None:
            return None
        return found[0].record(message=found[1] if reveal else redact_text(found[1]))
    prefix, rest = found
    if rest[:3] not in DIRECTIONS:
        if prefix.level == "TRC":
            return None
        return prefix.record(message=rest if reveal else redact_text(rest))
    operation = _OPERATION.match(rest)
    if operation is not None:
        arrow, op, arguments = operation.groups()
        if op in _WHOLE and arguments and not reveal:
            arguments = redact_text(arguments)
        return prefix.record(
            direction=DIRECTIONS[arrow], op=op, args=split_arguments(op, arguments or "")
        )
    payload = _PAYLOAD.match(rest)
    if payload is not None:
        arrow, quoted = payload.groups()
        text = unquote(quoted)
        text = text if reveal else redact_text(text)
        return prefix.record(direction=DIRECTIONS[arrow], op=PAYLOAD, payload=text)
    return None  # an operation without a closing bracket


def read_prefix(text: str) -> tuple[LinePrefix, str] | None:
    """Return the prefix of a line about a connection, and the rest; None for any other line."""
    found = _OWN.match(text)
    if found is None:
        return _lenient(text)
    pid, ts, level, peer, kind, number, client, login, rest = found.groups()
    return LinePrefix(_number(pid), ts, level, peer, *_who(kind, number, client, login)), rest


def is_message(text: str) -> bool:
    """Return whether this is a line of the broker that names no connection."""
    return _parse_message(text) is not None


def split_arguments(op: str, arguments: str) -> tuple[str, ...]:
    """Split arguments at spaces and tabs, as the parser of the broker does.

    Args:
        op: The operation; CONNECT, INFO and -ERR have one argument.
        arguments: The text after the operation.
    """
    if op in _WHOLE:
        return (arguments,) if arguments else ()
    if "\t" not in arguments and "  " not in arguments:
        return tuple(arguments.strip(" ").split(" ")) if arguments.strip(" ") else ()
    return tuple(part for part in _BLANKS.split(arguments) if part)


def client_name(client: str | None) -> str | None:
    """Return the name in ``v<version>:<language>:<name>``, or None."""
    if client is None:
        return None
    parts = client.split(":", 2)
    return parts[2] if len(parts) == 3 and parts[2] else None


def violation(message: str) -> Violation | None:
    """Return the permissions violation that a message reports, or None."""
    found = _VIOLATION.match(message)
    if found is None:
        return None
    kind = "subscribe" if found["verb"] == "Subscription" else "publish"
    if found["what"] == "Reply":
        kind = "reply"
    queue = found["queue"]
    return Violation(
        kind,
        unquote(found["subject"]),
        None if queue is None else unquote(queue),
        found["sid"],
    )


def _who(
    kind: str, number: str, client: str | None, login: str | None
) -> tuple[str, int, str | None, str | None, str | None, str | None]:
    """Return kind, number, client, account and user of a connection, and what the user is."""
    account = user = how = None
    if login is not None:
        found = _LOGIN.match(unquote(login))
        if found is not None:
            account, user = found["account"], found["user"]
            how = found["login"] or "token"
    told = None if client is None else unquote(client)
    return KINDS[kind], int(number), told, account, user, how


def _lenient(text: str) -> tuple[LinePrefix, str] | None:
    """Parse a prefix that another program put before that of the broker."""
    if "\x1b" in text[:_MAX_FOREIGN_PREFIX]:
        text = _COLOUR.sub("", text[:_MAX_FOREIGN_PREFIX]) + text[_MAX_FOREIGN_PREFIX:]
        found = _OWN.match(text)
        if found is not None:
            return read_prefix(text)
    found = _ANYWHERE.search(text, 0)
    if found is None or found.start() > _MAX_FOREIGN_PREFIX:
        return None
    before = text[: found.start()]
    peer, kind, number, client, login, rest = found.groups()
    pid, ts, level = _last(_ANY_PID, before), _last(_ANY_TIME, before), _last(_ANY_LEVEL, before)
    if pid is None and ts is None and level is None:
        return None  # no part of the broker's prefix: a line of another program
    prefix = LinePrefix(_number(pid), ts, level, peer, *_who(kind, number, client, login))
    return prefix, rest


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None


def _last(what: re.Pattern[str], text: str) -> Any:
    """Return the last match of a pattern, or None."""
    found = what.findall(text)
    return found[-1] if found else None


def _parse_message(text: str) -> tuple[LinePrefix, str] | None:
    """Return prefix and text of a line that names no connection, or None."""
    if "\x1b" in text[:_MAX_FOREIGN_PREFIX]:
        text = _COLOUR.sub("", text[:_MAX_FOREIGN_PREFIX]) + text[_MAX_FOREIGN_PREFIX:]
    found = _MESSAGE.match(text) or _FRAMED.match(text)
    if found is not None:
        if found["level"] == "TRC" and not _INTERNAL.match(found["rest"]):
            return None  # trace lines are about connections, so this one is incomplete
        pid = found["pid"]
        return LinePrefix(_number(pid), found["ts"], found["level"]), found["rest"]
    found = _TAGGED.match(text)
    return None if found is None else (LinePrefix(int(found["pid"])), found["rest"])
