"""The events of a capture: traffic between clients and a server, in the order of the tap.

A tap sees a message when its publisher sent it, and each delivery after that. So a publish has a
window of one second, and a subscriber (a queue group, else a subscription) takes the earliest open
message of the same subject, reply and size. Whether a message without a delivery was undelivered
can be said only if every client of the server was connected through the tap (``complete``).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..._core.redaction import redact_text, redacted
from ...wire import OperationRow, StreamError, read_capture_operations, read_records
from .._identity import Who, as_read, who_connected
from .jetstream_answers import rows_of_acknowledgement, rows_of_answer
from .log_files import shown_path

_WHO = ("identity", "identity_source", "user", "client")
#: Nanoseconds in which a message is delivered.
_WINDOW = 1_000_000_000
#: The rows of a connection that wait for the server to say its account: some servers never do.
_WAITING = 64
#: The bits of a position that count the operations of one input.
INPUT_BITS = 40
_VIOLATION = re.compile(
    r"Permissions Violation for (Publish with Reply of|Publish to|Subscription to) "
    r'"(.*?)"(?: using queue "(.*)")?\'?\Z',
    re.DOTALL | re.IGNORECASE,
)
_REFUSED = {"publish with reply of": "reply", "publish to": "publish",
            "subscription to": "subscribe"}  # fmt: skip
#: What a server sends to a client whose CONNECT it accepted: until then it proved nothing.
_PROOF = frozenset({"PONG", "MSG", "HMSG", "+OK"})
_KEYS = ("subject", "reply", "size")

Row = dict[str, Any]


@dataclass(slots=True)
class _Subscription:
    pattern: str
    queue: str | None
    position: int
    left: int | None = None
    delivered: int = 0


@dataclass(slots=True)
class _CapturedConnection:
    name: str
    server: str | None = None
    account: str | None = None
    #: The options of CONNECT, and whether the server checks them; None if it did not say.
    options: dict[str, Any] = field(default_factory=dict)
    checked: bool | None = None
    #: The most bytes of a message, as the server says.
    max_payload: int | None = None
    who: Who = field(default_factory=Who)
    #: The claim that was told last.
    told: str | None = None
    subscriptions: dict[str, _Subscription] = field(default_factory=dict)
    #: The messages that this connection published and whose window is open.
    open: deque[_Message] = field(default_factory=deque)
    #: The rows before the server said which account it is of.
    waiting: list[Row] = field(default_factory=list)

    def told_account(self) -> Iterator[Row]:
        """Yield the rows that wait, with the account of the connection."""
        for row in self.waiting:
            row["account"] = row.get("account") or self.account
            yield row
        self.waiting.clear()


@dataclass(slots=True, eq=False)
class _Message:
    row: Row
    conn: _CapturedConnection
    ends: int
    takers: set[Any] = field(default_factory=set)


def capture_events(path: str, number: int = 0, *, complete: bool = False) -> Iterator[Row]:
    """Yield the events of a file or directory that ``subtrie tap`` wrote.

    Memory: the messages of one second, and the subscriptions.

    Args:
        path: The capture.
        number: The number of the input among several; positions of one input are together.
        complete: Whether all clients of the server were connected through the tap.
    """
    operations = read_capture_operations(read_records(Path(path)), closings=True)
    return _Events(path, number, complete).read(operations)


def capture_payloads(path: str, number: int = 0) -> Iterator[tuple[str, int, bytes]]:
    """Yield server, position and payload (headers included) of each publish in a capture.

    Server and position are those of its event. Payloads are not redacted.
    """
    operations = read_capture_operations(read_records(Path(path)), closings=True)
    events = _Events(path, number, False)
    events.payloads = deque()
    for _ in events.read(operations):
        while events.payloads:
            yield events.payloads.popleft()


class _Events:
    """Reads the operations of a capture in order."""

    def __init__(self, path: str, number: int, complete: bool) -> None:
        self._path = path
        self._complete = complete
        self._position = number << INPUT_BITS
        self._connections: dict[Any, _CapturedConnection] = {}
        #: The position of the latest operation that can change the subscriptions.
        self._changed = number << INPUT_BITS
        self._by_key: dict[Any, list[_Message]] = {}
        self._open: deque[_Message] = deque()
        #: Receives the payload of each publish, if there is one.
        self.payloads: deque[tuple[str, int, bytes]] | None = None

    def read(self, found: Iterator[OperationRow | StreamError]) -> Iterator[Row]:
        """Yield the rows: those of messages when it is known what became of them."""
        for item in found:
            self._position += 1
            if isinstance(item, StreamError):
                known = self._connections.get(item.conn)
                server = "-" if known is None else known.server or "-"
                yield {
                    "file": shown_path(self._path),
                    "server": server,
                    "offset": item.position or 0,
                    "position": self._position,
                    "reason": item.reason,
                    "_corrupt_record": redact_text(item.message),
                }
                continue
            at = item.time if isinstance(item.time, int) else 0
            yield from self._expired(at)
            conn = self._connection(item)
            conn.waiting += self._operation(item, at)
            if conn.account or len(conn.waiting) >= _WAITING or item.conn not in self._connections:
                yield from conn.told_account()
        for conn in self._connections.values():
            yield from conn.told_account()
        while self._open:
            yield from self._expired(self._open[0].ends + 1)

    def _operation(self, item: OperationRow, at: int) -> Iterator[Row]:
        conn = self._connection(item)
        parts = item.parts
        name = parts["op"]
        if name in ("INFO", "CONNECT"):
            self._learn(conn, name, parts.get("json") or {})
        if conn.who.claimed != conn.told and name in _PROOF:
            conn.told = conn.who.claimed
            if conn.told is not None:
                yield self._claim(conn, item, at)
                self._position += 1
        row: Row = {
            "server": conn.server or "-",
            "file": shown_path(self._path),
            "position": self._position,
            "offset": 0 if item.op is None else item.op.offset,
            "time": at // 1000 if at else None,
            "conn": conn.name,
            "account": parts.get("account") or conn.account,
            **redacted(conn.who.columns),
            "op": name,
        }
        if item.direction is not None:
            row["direction"] = "in" if item.direction == "c2s" else "out"
        shown = redacted({key: parts.get(key) for key in ("subject", "reply", "queue", "sid")})
        row |= {key: value for key, value in shown.items() if value}
        if parts.get("size") is not None:
            row["size"] = parts["size"]
        if name in ("SUB", "UNSUB", "CLOSED"):
            self._changed = self._position
        match name, row.get("direction"):
            case (("PUB" | "HPUB"), "in"):
                self._published(conn, row, at)
                if conn.max_payload is not None and row["size"] > conn.max_payload:
                    row["refused"] = "payload"
                    yield self._violation(row, "payload", row.get("subject"))
                payload = b"" if item.op is None else bytes(item.op.payload or b"")
                if self.payloads is not None and payload:
                    self.payloads.append((row["server"], row["position"], payload))
                told = rows_of_acknowledgement(row.get("subject", ""), payload)
                yield from self._remarks(row, told)
                return
            case (("MSG" | "HMSG"), "out"):
                yield from self._delivered(conn, row)
                if item.op is not None and item.op.payload:
                    yield from self._remarks(row, rows_of_answer(bytes(item.op.payload)))
                return
            case "SUB", "in":
                found = _Subscription(row["subject"], row.get("queue"), self._position)
                conn.subscriptions.setdefault(row["sid"], found)
            case "UNSUB", "in":
                self._unsubscribed(conn, row, parts.get("max"))
            case "-ERR", "out":
                yield from self._refused(conn, row, parts.get("message") or "")
            case "CLOSED", _:
                self._connections.pop(item.conn, None)
        yield row

    def _claim(self, conn: _CapturedConnection, item: OperationRow, at: int) -> Row:
        """Return the row of a client that claims another user than the server proved."""
        return {
            "server": conn.server or "-",
            "file": shown_path(self._path),
            "position": self._position,
            "offset": 0 if item.op is None else item.op.offset,
            "time": at // 1000 if at else None,
            "conn": conn.name,
            "account": conn.account,
            **redacted(conn.who.columns),
            "op": "CLAIM",
            "subject": redacted(conn.who.claimed),
        }

    def _connection(self, item: OperationRow) -> _CapturedConnection:
        known = self._connections.get(item.conn)
        if known is None:
            kind = "client" if item.op is None else item.op.conn
            kind = {"server_to_client": "client", "route_legacy": "route"}.get(kind, kind)
            known = _CapturedConnection(f"-/{kind}:tap-{item.conn}")
            self._connections[item.conn] = known
        return known

    def _learn(self, conn: _CapturedConnection, name: str, options: Mapping[str, Any]) -> None:
        """Take over what the server or the client says about the connection."""
        if name == "CONNECT":
            conn.options |= as_read(options)
        else:
            self._learn_of_server(conn, options)
        conn.who = who_connected(conn.options, conn.account, checked=conn.checked is not False)

    def _learn_of_server(self, conn: _CapturedConnection, options: Mapping[str, Any]) -> None:
        """Take over the options of INFO."""
        if conn.checked is None:
            conn.checked = bool(options.get("auth_required"))
        server, number = options.get("server_id"), options.get("client_id")
        if isinstance(server, str):
            conn.server = server
        if isinstance(options.get("max_payload"), int):
            conn.max_payload = options["max_payload"]
        if isinstance(number, int):
            conn.name = f"{conn.name.rpartition(':')[0]}:{number}"
        if isinstance(options.get("remote_account"), str):
            conn.account = options["remote_account"]

    def _published(self, conn: _CapturedConnection, row: Row, at: int) -> None:
        row |= {"deliveries": 0, "forwarded": 0, "ambiguous": False, "subscription": self._changed}
        message = _Message(row, conn, at + _WINDOW)
        self._open.append(message)
        conn.open.append(message)
        self._by_key.setdefault(_key(row), []).append(message)

    def _delivered(self, conn: _CapturedConnection, row: Row) -> Iterator[Row]:
        """Give a delivery to the earliest message that its subscriber has not received."""
        found = conn.subscriptions.get(row.get("sid", ""))
        taker: Any = (conn.name, row.get("sid"))
        ended = None
        if found is not None:
            row["subscription"] = found.position
            if found.queue is not None:
                row["queue"] = taker = found.queue
            found.delivered += 1
            if found.left is not None and found.delivered >= found.left:
                conn.subscriptions.pop(row["sid"])
                ended = {key: row[key] for key in ("server", "file", "time", "conn", "sid")}
        waiting = [m for m in self._by_key.get(_key(row), ()) if taker not in m.takers]
        if waiting:
            waiting[0].takers.add(taker)
            waiting[0].row["deliveries"] += 1
        if len(waiting) > 1:
            for message in waiting:
                message.row["ambiguous"] = True
        yield row
        if ended is not None:  # the server ended the subscription after its last message
            self._position += 1
            self._changed = self._position
            yield {**ended, "position": self._position, "offset": row["offset"],
                   "direction": "local", "op": "DELSUB"}  # fmt: skip

    def _remarks(self, row: Row, found: Iterable[dict[str, str]]) -> Iterator[Row]:
        """Yield what the payload of a message says about streams and consumers."""
        names = ("server", "file", "offset", "time", "conn", "account", *_WHO)
        for told in found:
            self._position += 1
            shown = {key: redacted(value) for key, value in told.items()}
            yield {**{name: row.get(name) for name in names}, **shown, "position": self._position}

    def _unsubscribed(self, conn: _CapturedConnection, row: Row, count: int | None) -> None:
        found = conn.subscriptions.get(row.get("sid", ""))
        if found is not None and count and count > found.delivered:
            found.left = count
            row["size"] = count - found.delivered
        else:
            conn.subscriptions.pop(row.get("sid", ""), None)

    def _refused(self, conn: _CapturedConnection, row: Row, message: str) -> Iterator[Row]:
        """Yield what a permissions violation refused."""
        told = _VIOLATION.search(message)
        if told is None:
            return
        kind = _REFUSED[told[1].casefold()]
        subject = told[2]
        column = "reply" if kind == "reply" else "subject"
        sid = None
        if kind == "subscribe":
            for sid, found in conn.subscriptions.items():
                if found.pattern == subject and found.queue == told[3]:
                    conn.subscriptions.pop(sid)
                    break
            else:
                sid = None
        else:
            for each in conn.open:
                if each.row.get(column) == subject and "refused" not in each.row:
                    each.row["refused"] = kind
                    break
        yield self._violation(row, kind, subject, sid)

    def _violation(self, row: Row, kind: str, subject: str | None, sid: str | None = None) -> Row:
        """Return the row of what the server refused."""
        names = ("server", "file", "offset", "time", "conn", "account", *_WHO)
        self._position += 1
        self._changed = self._position
        told = {"op": "VIOLATION", "subject": subject, "sid": sid, "refused": kind}
        return {**{name: row.get(name) for name in names}, **told, "position": self._position}

    def _expired(self, now: int) -> Iterator[Row]:
        """Yield the messages whose window has ended."""
        while self._open and self._open[0].ends < now:
            message = self._open.popleft()
            row = message.row
            same = self._by_key[_key(row)]
            same.remove(message)
            if not same:
                del self._by_key[_key(row)]
            message.conn.open.popleft()
            row["account"] = row["account"] or message.conn.account
            row["until"] = self._position
            if "refused" in row or not (row["deliveries"] or self._complete):
                for name in ("deliveries", "forwarded", "ambiguous"):
                    row.pop(name)
            yield row


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in _KEYS)
