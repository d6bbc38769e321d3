"""One line of nats-server's trace log (``-DV``) and what it says.

A line is a front (process id, time, level), the connection it is about, and either an operation in
brackets, a payload, or a sentence. Operation arguments are printed as the client sent them, so a
hostile subject may hold quotes and brackets: arguments are read from the left, and the closing
bracket is the last character of the line. Names of clients and users are quoted by the broker and
cannot run over. The front varies (no times, no process id, system log): it is read leniently.

Payload text is resolved here for whoever asks; the audit never does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._redaction import redact_text
from ._go_quote import unquote

#: The letters before a connection's number, and the kind of connection.
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

_TEXT = r'[^"\\]*(?:\\.[^"\\]*)*'
_CONNECTION = (
    r"(?P<peer>\S+) - (?P<kind>[crwmgl]id)(?:_ws)?:(?P<id>\d{1,19})"
    rf'(?: - "(?P<client>{_TEXT})")?(?: - "(?P<login>{_TEXT})")? - (?P<rest>.*)'
)
_TIME = r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?"
_LEVEL = r"TRC|DBG|INF|WRN|ERR|FTL"

# What the broker itself puts before a line; all of it may be switched off.
_OWN_FRONT = rf"(?:\[(?P<pid>\d{{1,10}})\] )?(?:(?P<ts>{_TIME}) )?(?:\[(?P<level>{_LEVEL})\] )?"
_OWN = re.compile(_OWN_FRONT + _CONNECTION, re.DOTALL)
# The same after what a system log, a container or a supervisor put before it.
_ANYWHERE = re.compile(r"(?<= )" + _CONNECTION, re.DOTALL)
_ANY_PID = re.compile(r"\[(\d{1,10})\](?=:? )")
_ANY_TIME = re.compile(_TIME)
_ANY_LEVEL = re.compile(rf"\[({_LEVEL})\]")
_FURTHEST = 300  # characters another program may put before the connection
# A sentence about the server as a whole: the level must follow the broker's own front, or the
# system log's tag must name the broker, else any program's log would pass.
_SENTENCE = re.compile(
    rf"(?:\[(?P<pid>\d{{1,10}})\] )?(?:(?P<ts>{_TIME}) )?\[(?P<level>{_LEVEL})\] (?P<rest>.*)",
    re.DOTALL,
)
_TAGGED = re.compile(r"[^\[\]]{0,200}nats-server\[(?P<pid>\d{1,10})\]: (?P<rest>.*)", re.DOTALL)
_FRAMED = re.compile(
    rf".{{0,200}}?\[(?P<pid>\d{{1,10}})\] (?P<ts>{_TIME}) \[(?P<level>{_LEVEL})\] (?P<rest>.*)",
    re.DOTALL,
)
# What the broker traces of itself: the system account, JetStream and the like.
_INTERNAL = re.compile(r"[A-Z][A-Z ]* - ")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

_LOGIN = re.compile(
    r"(?:(?P<account>.*?)/)?(?:[^/]*/)?(?:(?:user|jwt|nkey):(?P<user>.*)|token)\Z", re.DOTALL
)
_OPERATION = re.compile(r"(<<-|->>|<->) \[([A-Za-z+-]{1,12})(?:[ \t]+(.*))?\]\Z", re.DOTALL)
_PAYLOAD = re.compile(r'(<<-|->>|<->) MSG_PAYLOAD: \["(.*)"\]\Z', re.DOTALL)
_BLANKS = re.compile(r"[ \t]+")
# Their argument is one text: JSON, or a sentence.
_WHOLE = frozenset({"CONNECT", "INFO", "-ERR"})
_VIOLATION = re.compile(
    r"(?P<verb>Publish|Subscription) Violation(?: Too Many Tokens)? - "
    rf'(?:[A-Za-z ]+"{_TEXT}", )??(?P<what>Subject|Reply) "(?P<subject>{_TEXT})"'
    rf'(?:, Queue: "(?P<queue>{_TEXT})")?(?:, SID (?P<sid>.*))?\Z',
    re.DOTALL,
)


class Front(NamedTuple):
    """What stands before the operation: the broker's own words and the connection."""

    pid: int | None = None
    ts: str | None = None
    level: str | None = None
    peer: str | None = None
    kind: str | None = None
    id: int | None = None
    client: str | None = None
    account: str | None = None
    user: str | None = None


class Violation(NamedTuple):
    """A permissions violation the broker wrote down."""

    kind: str  # "publish", "reply" (a publish refused for its reply subject) or "subscribe"
    subject: str
    queue: str | None
    sid: str | None


@dataclass(frozen=True, slots=True)
class LogRecord:
    """What one line says. Parts the line does not have are None.

    ``kind`` and ``id`` name the connection; ``client`` is what it said of itself
    (``v1.2:lang:name``); ``direction`` is ``in``, ``out`` or ``local`` for an operation, and None
    for a sentence, which then stands in ``message``.
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
        """The name the client gave itself, or None."""
        return client_name(self.client)

    @property
    def violation(self) -> Violation | None:
        """The permissions violation this line reports, or None."""
        return None if self.message is None else violation(self.message)

    def as_dict(self) -> dict[str, Any]:
        """The record in the form of the conformance vectors (kind ``trace_log``)."""
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


def parse_line(text: str, *, reveal: bool = False) -> LogRecord | None:
    """Reads one line, without its line end; None when no nats-server wrote it, or only half of it.

    Passwords, tokens, JWTs and nkeys in CONNECT lines, payloads and sentences are replaced by
    ``[REDACTED]`` unless ``reveal``: the broker itself prints a JWT whole. Never raises. Cost: a
    few microseconds, linear in the line.
    """
    found = read_front(text)
    if found is None:
        found = _sentence(text)
        if found is None:
            return None
        return LogRecord(*found[0], message=found[1] if reveal else redact_text(found[1]))
    front, rest = found
    if rest[:3] not in DIRECTIONS:
        if front.level == "TRC":
            return None
        return LogRecord(*front, message=rest if reveal else redact_text(rest))
    operation = _OPERATION.match(rest)
    if operation is not None:
        arrow, op, arguments = operation.groups()
        if op in _WHOLE and arguments and not reveal:
            arguments = redact_text(arguments)
        return LogRecord(*front, DIRECTIONS[arrow], op, split_arguments(op, arguments or ""))
    payload = _PAYLOAD.match(rest)
    if payload is not None:
        arrow, quoted = payload.groups()
        text = unquote(quoted)
        return LogRecord(
            *front, DIRECTIONS[arrow], PAYLOAD, (), text if reveal else redact_text(text)
        )
    return None  # an operation that does not end


def read_front(text: str) -> tuple[Front, str] | None:
    """The front of a line about a connection, and the rest; None for any other line."""
    found = _OWN.match(text)
    if found is None:
        return _lenient(text)
    pid, ts, level, peer, kind, number, client, login, rest = found.groups()
    return Front(_number(pid), ts, level, peer, *_who(kind, number, client, login)), rest


def is_sentence(text: str) -> bool:
    """Is this a line of the broker about itself, no connection being named?"""
    return _sentence(text) is not None


def split_arguments(op: str, arguments: str) -> tuple[str, ...]:
    """The arguments as the broker's parser splits them: at blanks and tabs, whatever else is in."""
    if op in _WHOLE:
        return (arguments,) if arguments else ()
    if "\t" not in arguments and "  " not in arguments:
        return tuple(arguments.strip(" ").split(" ")) if arguments.strip(" ") else ()
    return tuple(part for part in _BLANKS.split(arguments) if part)


def client_name(client: str | None) -> str | None:
    """The name in ``v<version>:<language>:<name>``, or None."""
    if client is None:
        return None
    parts = client.split(":", 2)
    return parts[2] if len(parts) == 3 and parts[2] else None


def violation(message: str) -> Violation | None:
    """What a sentence says of refused permissions, or None."""
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
) -> tuple[str, int, str | None, str | None, str | None]:
    account = user = None
    if login is not None:
        found = _LOGIN.match(unquote(login))
        if found is not None:
            account, user = found["account"], found["user"]
    return KINDS[kind], int(number), None if client is None else unquote(client), account, user


def _lenient(text: str) -> tuple[Front, str] | None:
    """The same behind a front that is not the broker's own."""
    if "\x1b" in text[:_FURTHEST]:
        text = _COLOUR.sub("", text[:_FURTHEST]) + text[_FURTHEST:]
        found = _OWN.match(text)
        if found is not None:
            return read_front(text)
    found = _ANYWHERE.search(text, 0)
    if found is None or found.start() > _FURTHEST:
        return None
    before = text[: found.start()]
    peer, kind, number, client, login, rest = found.groups()
    pid, ts, level = _last(_ANY_PID, before), _last(_ANY_TIME, before), _last(_ANY_LEVEL, before)
    if pid is None and ts is None and level is None:
        return None  # nothing of the broker's in front: some other program's words
    front = Front(_number(pid), ts, level, peer, *_who(kind, number, client, login))
    return front, rest


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None


def _last(what: re.Pattern[str], text: str) -> Any:
    found = what.findall(text)
    return found[-1] if found else None


def _sentence(text: str) -> tuple[Front, str] | None:
    if "\x1b" in text[:_FURTHEST]:
        text = _COLOUR.sub("", text[:_FURTHEST]) + text[_FURTHEST:]
    found = _SENTENCE.match(text) or _FRAMED.match(text)
    if found is not None:
        if found["level"] == "TRC" and not _INTERNAL.match(found["rest"]):
            return None  # a trace line is about a connection: this is the beginning of one
        pid = found["pid"]
        return Front(_number(pid), found["ts"], found["level"]), found["rest"]
    found = _TAGGED.match(text)
    return None if found is None else (Front(int(found["pid"])), found["rest"])
