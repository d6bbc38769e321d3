"""The rules of the audit in plain Python: one process, whole logs in memory, no index.

It is the executable specification of ``docs/audit.md``. It shares with the pipeline only the
grammar of a line's prefix (``subtrie.wire.log``) and of subjects (``subtrie.reference``).
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from subtrie.wire import log

CLIENTS = ("client", "websocket", "mqtt")
LONGEST = 65_536  # bytes of a line
WINDOW = timedelta(seconds=1)
WORD = re.compile(r"[A-Za-z+-]{1,12}\Z")
ARITY = {
    "PUB": (3, 4), "HPUB": (4, 5), "MSG": (4, 5), "HMSG": (5, 6),
    "SUB": (3, 4), "UNSUB": (2, 3), "DELSUB": (2, 2),
}  # fmt: skip


@dataclass(eq=False)
class Subscription:
    log: int
    conn: str
    sid: str
    pattern: str
    queue: str | None
    identity: tuple[str | None, str | None]
    account: str | None
    start: int
    started: datetime | None
    end: int | None = None
    ended: datetime | None = None
    delivered: int = 0


@dataclass(eq=False)
class Message:
    """A message that a broker received, with its window."""

    log: int
    pos: int
    conn: str
    client: bool
    account: str | None
    user: str | None
    name: str | None
    # subject, reply and account; two readings of some lines between brokers
    keys: list[tuple[str, str, str | None]]
    size: int
    time: datetime | None
    limit: datetime | None
    end: int | None = None
    refused: str | None = None
    delivered: int = 0
    hops: list[int] = field(default_factory=list)
    ambiguous: bool = False
    state: str = ""

    @property
    def subject(self) -> str:
        return self.keys[0][0]


@dataclass(eq=False)
class Line:
    """A message that a broker sent: to a client, or to another broker."""

    pos: int
    conn: str
    subject: str
    reply: str
    size: int
    sid: str | None  # None between brokers
    account: str | None = None
    subscription: Subscription | None = None
    taken: bool = False


class Log:
    """One log, read from its first line to its last."""

    def __init__(self, number: int, data: bytes) -> None:
        self.number = number
        self.counts = Counter(operations=0, payloads=0, server=0, unparseable_lines=0)
        self.subscriptions: list[Subscription] = []
        self.messages: list[Message] = []
        self.lines: list[Line] = []
        self.hops: list[Line] = []
        self.refusals: list[tuple[Any, str, str, Any]] = []  # who, subject, kind, time
        self.slow: list[tuple[Any, Any]] = []  # who, time
        self.unparseable: list[dict[str, Any]] = []
        self._active: dict[tuple[str, str], Subscription] = {}
        self._last: dict[tuple[str, str], Subscription] = {}  # for deliveries still in flight
        self._open: dict[str, Message] = {}
        self._limits: list[tuple[datetime, int, Message]] = []
        pos = 0
        pieces = data.split(b"\n")
        if pieces[-1] == b"":
            pieces.pop()
        for raw in pieces:
            self._read(pos, raw)
            pos += len(raw) + 1
        for message in self._open.values():
            message.end = len(data)

    def _read(self, pos: int, raw: bytes) -> None:
        line = raw.removesuffix(b"\r").decode("utf-8", "surrogateescape")
        reason = self._parse(pos, line, len(raw))
        if reason is not None:
            self.counts["unparseable_lines"] += 1
            text = raw.removesuffix(b"\r")[:512].decode("utf-8", "backslashreplace")
            self.unparseable.append(
                {"log": self.number, "offset": pos, "reason": reason, "text": text}
            )

    def _parse(self, pos: int, line: str, length: int) -> str | None:
        """Read a line; return why it cannot be parsed."""
        found = log.read_prefix(line)
        if found is None:
            if not log.is_message(line):
                return "not a nats-server line"
            record = log.parse_line(line)
            assert record is not None
            return self._server(pos, record.pid, record.ts, None, record.message or "")
        prefix, rest = found
        conn = f"{'-' if prefix.pid is None else prefix.pid}/{prefix.kind}:{prefix.id}"
        arrow = rest[:3]
        if arrow not in log.DIRECTIONS:
            if prefix.level == "TRC":
                return "incomplete line"
            return self._server(pos, prefix.pid, prefix.ts, (conn, prefix), rest)
        if rest[4:].startswith("MSG_PAYLOAD: ["):
            if not (line.endswith('"]') or length > LONGEST):
                return "incomplete line"
            try:
                time = self._time(prefix.ts, pos)
            except ValueError:
                return "bad time"
            self.counts["payloads"] += 1
            message = self._open.get(conn)
            if arrow == "<<-" and message is not None and time is not None:
                message.limit = time + WINDOW
                heapq.heappush(self._limits, (message.limit, message.pos, message))
            return None
        if rest[3:5] != " [":
            return "incomplete line" if len(rest) < 5 else "not an operation"
        if length > LONGEST:
            return "line too long"
        if not line.endswith("]"):
            return "incomplete line"
        words = [escaped(word) for word in rest[5:-1].replace("\t", " ").split(" ") if word]
        client = prefix.kind in CLIENTS
        reason = arity(words) if client else between_brokers(arrow, words)
        if reason is not None:
            return reason
        try:
            time = self._time(prefix.ts, pos)
        except ValueError:
            return "bad time"
        self.counts["operations"] += 1
        if arrow == "<<-":
            self._close(conn, pos)
        if client:
            self._client(pos, conn, arrow, words, time, prefix)
        elif words[0] in ("RMSG", "HMSG", "LMSG", "MSG") and arrow != "<->":
            keys, size = broker_message(words, prefix.account, leaf=prefix.kind == "leaf")
            if arrow == "<<-":
                self._message(pos, conn, False, prefix, keys, size, time)
            else:
                for subject, reply, account in keys:
                    self.hops.append(Line(pos, conn, subject, reply, size, None, account))
        return None

    def _server(self, pos: int, pid: int | None, ts: str | None, about: Any, text: str) -> Any:
        """Read what the broker says itself: refusals, closed connections, its own start."""
        try:
            time = self._time(ts, pos)
        except ValueError:
            return "bad time"
        self.counts["server"] += 1
        if about is None:
            if text == "Starting nats-server":
                front = f"{'-' if pid is None else pid}/"
                for key in [key for key in self._active if key[0].startswith(front)]:
                    self._end(key, pos, time)
                for conn in list(self._open):
                    self._close(conn, pos)
            return None
        conn, prefix = about
        violation = log.violation(text)
        if violation is None:
            if text.startswith("Slow Consumer Detected"):
                self.slow.append((_who(prefix, conn), time))
            if prefix.kind in CLIENTS and re.match(r"\w+ connection closed", text):
                for key in [key for key in self._active if key[0] == conn]:
                    self._end(key, pos, time)
            return None
        subject = escaped(violation.subject)
        who = _who(prefix, conn)
        if violation.kind == "subscribe":
            found = self._active.pop((conn, str(violation.sid)), None)
            if found is not None:
                self.subscriptions.remove(found)
            self.refusals.append((who, subject, "subscribe", time))
            return None
        message = self._open.get(conn)
        if message is not None and (violation.kind == "reply" or message.subject == subject):
            message.refused = violation.kind
            self._close(conn, pos)
            if violation.kind == "reply":
                subject, time = message.subject, message.time
        self.refusals.append((who, subject, "publish", time))
        return None

    def _client(
        self, pos: int, conn: str, arrow: str, words: list[str], time: Any, prefix: Any
    ) -> None:
        op = words[0]
        if arrow == "<<-" and op in ("PUB", "HPUB"):
            reply = words[2] if len(words) == ARITY[op][1] else ""
            keys = [(words[1], reply, prefix.account)]
            self._message(pos, conn, True, prefix, keys, int(words[-1]), time)
        elif arrow == "<<-" and op == "SUB":
            key = (conn, words[-1])
            if key not in self._active:
                queue = words[2] if len(words) == 4 else None
                who = (prefix.user, log.client_name(prefix.client))
                account = prefix.account
                found = Subscription(self.number, *key, words[1], queue, who, account, pos, time)
                self._active[key] = self._last[key] = found
                self.subscriptions.append(found)
        elif (op == "DELSUB" and arrow != "->>") or (arrow == "<<-" and op == "UNSUB"):
            if len(words) == 2 or not words[2].strip("0"):
                self._end((conn, words[1]), pos, time)
        elif arrow == "->>" and op in ("MSG", "HMSG"):
            reply = words[3] if len(words) == ARITY[op][1] else ""
            line = Line(pos, conn, words[1], reply, int(words[-1]), words[2], prefix.account)
            line.subscription = self._last.get((conn, words[2]))
            if line.subscription is not None:
                line.subscription.delivered += 1
            self.lines.append(line)

    def _message(
        self, pos: int, conn: str, client: bool, prefix: Any, keys: Any, size: int, time: Any
    ) -> None:
        limit = None if time is None else time + WINDOW
        name = log.client_name(prefix.client)
        message = Message(
            *(self.number, pos, conn, client, prefix.account, prefix.user, name),
            *(keys, size, time, limit),
        )
        self._open[conn] = message
        self.messages.append(message)
        if limit is not None:
            heapq.heappush(self._limits, (limit, pos, message))

    def _time(self, ts: str | None, pos: int) -> datetime | None:
        """Return the time of a line, and end the windows that it is too late for."""
        if ts is None:
            return None
        second, _, fraction = ts.partition(".")
        time = _second(second)
        time += timedelta(microseconds=int(fraction[:6].ljust(6, "0")))
        while self._limits and self._limits[0][0] < time:
            limit, _, message = heapq.heappop(self._limits)
            if message.end is None and message.limit == limit:
                self._close(message.conn, pos)
        return time

    def _close(self, conn: str, pos: int) -> None:
        message = self._open.pop(conn, None)
        if message is not None:
            message.end = pos

    def _end(self, key: tuple[str, str], pos: int, time: datetime | None) -> None:
        found = self._active.pop(key, None)
        if found is not None:
            found.end, found.ended = pos, time


def _who(prefix: Any, conn: str) -> tuple[str | None, ...]:
    """Return account, user, client name and connection."""
    return prefix.account, prefix.user, log.client_name(prefix.client), conn


@lru_cache(16)
def _second(text: str) -> datetime:
    return datetime.strptime(text, "%Y/%m/%d %H:%M:%S").replace(tzinfo=UTC)


def escaped(text: str) -> str:
    r"""Return a text with escapes such as ``\xff`` for bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def arity(words: list[str]) -> str | None:
    """Return why the words are not an operation of a client connection."""
    if not words:
        return "not an operation"
    allowed = ARITY.get(words[0])
    if allowed is None:
        return None if WORD.match(words[0]) else "not an operation"
    if not allowed[0] <= len(words) <= allowed[1]:
        return "wrong number of arguments"
    sized = words[0] in ("PUB", "HPUB", "MSG", "HMSG")
    if sized and not (words[-1].isdecimal() and len(words[-1]) < 18):
        return "size is not a number"
    return None


def between_brokers(arrow: str, words: list[str]) -> str | None:
    """Return why the words are not an operation between brokers."""
    if not words or not WORD.match(words[0]):
        return "not an operation"
    if words[0] not in ("RMSG", "HMSG", "LMSG", "MSG") or arrow == "<->":
        return None
    if len(words) < 3 or not words[-1].isdecimal() or len(words[-1]) >= 18:
        return "wrong number of arguments"
    return None


def broker_message(
    words: list[str], account: str | None, leaf: bool
) -> tuple[list[tuple[str, str, str | None]], int]:
    """Return the readings (subject, reply, account) and the size of a message between brokers."""
    op, *rest, size = words
    if op in ("HMSG", "LMSG") and len(rest) > 1 and rest[-1].isdecimal():
        rest.pop()
    if op == "LMSG" and not leaf and len(rest) > 1:
        rest.pop(0)  # the cluster of the leaf node that the message comes from
    for i, word in enumerate(rest):
        of = rest[i - 2] if i > 1 else account
        if i and word == "|":
            return [(rest[i - 1], "", of)], int(size)
        if i and word == "+" and i + 1 < len(rest):
            return [(rest[i - 1], rest[i + 1], of)], int(size)
    if leaf and len(rest) == 2:
        # A leaf node has one account, which is not printed.
        return [(rest[0], rest[1], account)], int(size)
    keys = [(rest[-1], "", rest[-2] if len(rest) > 1 else account)]
    if len(rest) > 1:
        keys.append((rest[-2], rest[-1], rest[-3] if len(rest) > 2 else account))
    return keys, int(size)


def settle(found: Log) -> int:
    """Give each message its deliveries; return how many lines no window took."""
    opened: dict[tuple[str, str, int], dict[str, list[Message]]] = defaultdict(dict)
    windows: dict[tuple[Any, ...], list[Message]] = defaultdict(list)
    for message in found.messages:
        for subject, reply, account in message.keys:
            of = opened[subject, reply, message.size]
            of.setdefault(global_as_none(account), []).append(message)
            if message.refused is None:
                windows[subject, reply, message.size, global_as_none(account)].append(message)
    sent: dict[tuple[Any, ...], list[Line]] = defaultdict(list)
    for line in (*found.lines, *found.hops):
        key = (line.subject, line.reply, line.size)
        sent[*key, account_of(line, opened[key])].append(line)
    unmatched = 0
    for key, lines in sent.items():
        competing = sorted(windows.get(key, ()), key=lambda m: (m.end, m.pos))
        free: dict[str, list[Line]] = defaultdict(list)
        for line in sorted(lines, key=lambda line: line.pos):
            free[subscriber(line)].append(line)
            if line.sid is not None:
                inside = [m for m in competing if m.pos < line.pos < (m.end or 0)]
                if len(inside) > 1:
                    for message in inside:
                        message.ambiguous = True
        for message in competing:
            for some in free.values():
                for line in some:
                    if message.pos < line.pos < (message.end or 0):
                        some.remove(line)
                        line.taken = True
                        if line.sid is None:
                            message.hops.append(line.pos)
                        else:
                            message.delivered += 1
                        break
        unmatched += sum(line.sid is not None and not line.taken for line in lines)
    for message in found.messages:
        if message.refused is None:
            message.state = (
                "delivered" if message.delivered else "forwarded" if message.hops else "undelivered"
            )
    return unmatched


def global_as_none(account: str | None) -> str:
    """Return the text of an account; clients without a login are in the global one."""
    return "" if account in (None, "$G") else account


def account_of(line: Line, opened: dict[str, list[Message]]) -> str:
    """Return the account in whose windows a line takes part: its own, or the latest other one."""
    latest = {}
    for account, messages in opened.items():
        at = [m.pos for m in messages if m.pos < line.pos < (m.end or 0)]
        if at:
            latest[account] = max(at)
    own = global_as_none(line.account)
    return own if own in latest or not latest else max(latest, key=latest.__getitem__)


def subscriber(line: Line) -> str:
    """Return who receives a line: a queue group, a subscription, or another broker."""
    if line.sid is None:
        return f"hop {line.conn}"
    queue = None if line.subscription is None else line.subscription.queue
    if queue:
        return f"queue {queue} {global_as_none(line.account)}"
    return f"client {line.conn} {line.sid}"


def cross_broker(logs: Sequence[Log]) -> None:
    """Follow forwarded messages into the other logs.

    Each message that left, the earliest first, takes the earliest free ones that arrived elsewhere,
    no two at one broker.
    """

    def moment(message: Message) -> tuple[datetime, int, int]:
        return message.time or datetime.min, message.log, message.pos

    arrived: dict[tuple[str, str, int], list[tuple[str | None, Message]]] = defaultdict(list)
    everything = [m for each in logs for m in each.messages if m.refused is None]
    for message in sorted(everything, key=moment):
        if not message.client:
            for subject, reply, account in message.keys:
                arrived[subject, reply, message.size].append((account, message))
    outcomes: dict[int, list[bool | None]] = defaultdict(list)
    for message in sorted(everything, key=moment):
        if not message.client or not message.hops:
            continue
        ((subject, reply, of),) = message.keys
        there, taken = arrived[subject, reply, message.size], {message.log}
        sent = len(message.hops)
        for account, other in list(there):
            if None not in (of, account) and of != account and "/leaf:" not in other.conn:
                continue
            if len(outcomes[id(message)]) < sent and other.log not in taken:
                taken.add(other.log)
                there.remove((account, other))
                outcomes[id(message)].append(other.delivered > 0)
                sent += len(other.hops)  # it was sent on
        missing = sent - len(outcomes[id(message)])
        outcomes[id(message)] += [None] * missing
    for message in (m for each in logs for m in each.messages):
        if message.state == "forwarded":
            if any(outcomes[id(message)]):
                message.state = "delivered remotely"
            elif None not in outcomes[id(message)]:
                message.state = "undelivered"


def read(contents: Sequence[bytes]) -> tuple[list[Log], int]:
    """Read and settle logs; return them and the number of unmatched deliveries."""
    logs = [Log(number, data) for number, data in enumerate(contents)]
    unmatched = sum(settle(each) for each in logs)
    if len(logs) > 1:
        cross_broker(logs)
    return logs, unmatched


def all_messages(logs: Sequence[Log]) -> Iterator[Message]:
    """Yield the messages of clients."""
    for each in logs:
        yield from (message for message in each.messages if message.client)
