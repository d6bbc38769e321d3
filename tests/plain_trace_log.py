"""The events of a trace log in plain Python: the specification of the native reader of logs.

It has the rows of ``subtrie.spark.EVENTS`` without ``server`` and ``file``, for a whole log in
memory. The grammar of a line's prefix is that of ``subtrie.wire.log``.

A message that the server received has a *window*, which ends at the next operation that its
connection sent (payload lines aside), at its refusal, at a start of the server, or at the first
line more than one second of log time after its payload line. Windows of one account, subject, reply
and size are served in the order of their ends: of the lines of each subscriber, a window takes the
earliest inside it that is free. A line of an account without an open window takes part in those of
the account with the latest one.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from plain_logins import Logins
from subtrie._core.redaction import redact_text
from subtrie._nats.container_lines import whole_lines
from subtrie.wire import log
from subtrie.wire._go_quote import unquote

__all__ = ["read_events"]

Row = dict[str, Any]
Key = tuple[str, str, int, str]

COLUMNS = (
    *("offset", "until", "time", "conn", "account", "identity"),
    *("identity_source", "user", "client", "direction", "op", "subject"),
    *("reply", "queue", "sid", "size", "deliveries", "refused", "forwarded", "ambiguous"),
    *("subscription", "position", "reason", "_corrupt_record"),
)
_CLIENTS = ("client", "websocket", "mqtt")
_LONGEST = 65_536  # bytes of a line
_SHOWN = 512  # bytes of an unparseable line
_WINDOW = timedelta(seconds=1)
_NAME = re.compile(r"[A-Za-z+-]{1,12}\Z")
_NUMBER = re.compile(r"[0-9]{1,17}\Z")
_DIGITS = re.compile(r"[0-9]+\Z")
_CLOSING = re.compile(r"[A-Za-z0-9_]+ connection closed")
_DENIED = re.compile(
    "authentication |authorization timeout|maximum connections exceeded", re.IGNORECASE
)
_STATES = {
    "Server is ready": "ready", "Reloaded server configuration": "reload",
    "Entering lame duck mode": "lame duck", "Initiating Shutdown": "stop",
}  # fmt: skip
_ARITY = {
    "PUB": (3, 4), "HPUB": (4, 5), "MSG": (4, 5), "HMSG": (5, 6),
    "SUB": (3, 4), "UNSUB": (2, 3), "DELSUB": (2, 2),
}  # fmt: skip


@dataclass(eq=False)
class _Window:
    row: Row
    keys: list[Key]
    limit: datetime | None
    end: int | None = None
    refused: str | None = None


@dataclass(eq=False)
class _Line:
    """A message that the server sent, to a client (then it has a subscriber) or to a server."""

    position: int
    key: Key
    taker: tuple[Any, ...]
    to_client: bool


@dataclass
class _Subscription:
    start: int
    queue: str
    active: bool = True


@dataclass
class _Log:
    rows: list[Row] = field(default_factory=list)
    counts: Counter[str] = field(
        default_factory=lambda: Counter(
            operations=0, payloads=0, server=0, unparseable_lines=0, unmatched=0
        )
    )
    windows: list[_Window] = field(default_factory=list)
    lines: list[_Line] = field(default_factory=list)


class _Refused(Exception):
    """A line cannot be parsed, for this reason."""


def read_events(data: bytes) -> tuple[list[Row], dict[str, int]]:
    """Return the events of a log, and the number of its lines by category.

    Cost: some ten microseconds a line, and the whole log in memory.

    Args:
        data: The log.

    Returns:
        The rows in the order of their lines, with the columns ``COLUMNS``; the counts
        ``operations``, ``payloads``, ``server``, ``unparseable_lines`` and ``unmatched`` (the
        deliveries that no window took).
    """
    reader = _Reader()
    position = 0
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    placed = []
    for raw in lines:
        placed.append((position, raw[: _LONGEST + 1].decode("utf-8", "surrogateescape")))
        position += len(raw) + 1
    for at, line in whole_lines(placed):
        reader.line(at, line.encode("utf-8", "surrogateescape"))
    reader.finish(len(data))
    _serve(reader.found)
    return reader.found.rows, dict(reader.found.counts)


class _Reader:
    """Reads the lines in order."""

    def __init__(self) -> None:
        self.found = _Log()
        self._open: dict[str, _Window] = {}
        self._open_keys: dict[Key, list[int]] = {}
        self._limits: list[tuple[datetime, int, _Window]] = []
        self._subscriptions: dict[tuple[str, str], _Subscription] = {}
        #: The position of the latest line that can change the subscriptions.
        self._changed = 0
        self._logins = Logins()

    def line(self, position: int, raw: bytes) -> None:
        """Read one line, without its LF."""
        long = len(raw) > _LONGEST
        raw = raw.removesuffix(b"\r")
        try:
            self._read(position, raw.decode("utf-8", "surrogateescape"), long)
        except _Refused as refused:
            self.found.counts["unparseable_lines"] += 1
            text = _shown(raw[:_SHOWN].decode("utf-8", "surrogateescape"))
            self._add(position, reason=str(refused), _corrupt_record=text)

    def finish(self, position: int) -> None:
        """Close the windows that are open at the end, or at a start of the server."""
        for conn in list(self._open):
            self._close(conn, position)

    def _add(self, position: int, **values: Any) -> Row:
        row = dict.fromkeys(COLUMNS) | {"position": position, "offset": position}
        row |= {n: v for n, v in values.items() if v != "" or n == "_corrupt_record"}
        self.found.rows.append(row)
        return row

    def _read(self, position: int, text: str, long: bool) -> None:
        found = log.read_prefix(text)
        if found is None:
            self._message(position, text)
            return
        prefix, rest = found
        conn = f"{'-' if prefix.pid is None else prefix.pid}/{prefix.kind}:{prefix.id}"
        client = self._logins.client(conn, prefix.client)
        account, user, name = map(_shown, (prefix.account, prefix.user, client))
        leaf = prefix.kind == "leaf"
        who = self._logins.of_leaf(conn) if leaf and user is None else None
        who = who or self._logins.who(conn, account, (prefix.login, user), name)
        shared = {"conn": conn, "account": account, **who}
        client = prefix.kind in _CLIENTS
        is_operation = rest[3:].startswith((" MSG_PAYLOAD: [", " ["))
        if rest[:3] in log.DIRECTIONS and is_operation:
            printed = prefix.login or (client and prefix.client is not None)
            if printed or (leaf and rest[3:].startswith(" [L")):
                self._claimed(position, prefix, shared)
            if (
                (client or leaf)
                and rest.startswith("<<- [CONNECT ")
                and rest.endswith("]")
                and not long
            ):
                self._logins.connect(conn, rest[13:-1])
        direction = log.DIRECTIONS.get(rest[:3])
        if direction is None:
            if prefix.level == "TRC":
                raise _Refused("incomplete line")
            time = self._time(prefix.ts, position)
            self.found.counts["server"] += 1
            self._about(position, rest, prefix, {**shared, "time": time})
            return
        after = rest[3:]
        if after.startswith(" MSG_PAYLOAD: ["):
            if not (long or rest.endswith('"]')):
                raise _Refused("incomplete line")
            time = self._time(prefix.ts, position)
            self.found.counts["payloads"] += 1
            window = self._open.get(conn)
            if direction == "in" and window is not None and time is not None:
                window.limit = time + _WINDOW
                heapq.heappush(self._limits, (window.limit, position, window))
            if client and direction == "out":
                for told in _told_by_jetstream(rest[19:].removesuffix('"]')):
                    self._add(position, **shared, time=time, **told)
            if client and direction == "in" and window is not None:
                said = re.match(r"-NAK|\+TERM|\+WPI", rest[19:])
                consumer = _acknowledged(window.row["subject"])
                if said is not None and consumer is not None:
                    told = {"op": "ACK", "subject": said[0], "queue": _shown(consumer)}
                    self._add(position, **shared, time=time, **told)
            return
        if not after.startswith(" ["):
            raise _Refused("incomplete line" if len(rest) < 5 else "not an operation")
        if long:
            raise _Refused("line too long")
        if not rest.endswith("]") or len(rest) < 6:
            raise _Refused("incomplete line")
        words = [word for word in rest[5:-1].replace("\t", " ").split(" ") if word]
        parts, second = (
            (_of_client(words), None) if client else _between(words, direction == "local", leaf)
        )
        time = self._time(prefix.ts, position)
        self.found.counts["operations"] += 1
        if direction == "in" and parts["op"] != "MAPPING":
            self._close(conn, position)
        row = {**shared, "time": time, "direction": direction, **parts}
        self._operation(position, row, client, second)

    def _claimed(self, position: int, prefix: log.LinePrefix, shared: Row) -> None:
        """Add a row of a login, and one if the client claims another user than was proven."""
        accepted, claimed = self._logins.login(shared["conn"], shared)
        if not accepted:
            return
        try:
            time = None if prefix.ts is None else _stamp(prefix.ts)
        except ValueError:
            time = None
        self._add(position, **shared, time=time, op="LOGIN", subject=_shown(_host(prefix)))
        if claimed:
            self._add(position, **shared, time=time, op="CLAIM", subject=claimed)

    def _message(self, position: int, text: str) -> None:
        """Read a line that names no connection."""
        if not log.is_message(text):
            raise _Refused("not a nats-server line")
        record = log.parse_line(text, reveal=True)
        assert record is not None
        time = self._time(record.ts, position)
        if (record.message or "").startswith("Starting nats-server"):
            server = f"{'-' if record.pid is None else record.pid}/"
            self._changed = position
            self.finish(position)
            for (conn, _), subscription in self._subscriptions.items():
                subscription.active &= not conn.startswith(server)
            self._logins.restart(server.removesuffix("/"))
            self._add(position, conn=f"{server}server", time=time, op="START")
        for begin, state in _STATES.items():
            if (record.message or "").startswith(begin):
                conn = f"{'-' if record.pid is None else record.pid}/server"
                self._add(position, conn=conn, time=time, op="SERVER", queue=state)
        self.found.counts["server"] += 1

    def _about(self, position: int, text: str, prefix: log.LinePrefix, shared: Row) -> None:
        """Read what the server says about a connection: a refusal, that it is slow, or its end."""
        conn, client = shared["conn"], prefix.kind in _CLIENTS
        violation = log.violation(text)
        window = self._open.get(conn)
        if client and window is not None and text.startswith("maximum payload exceeded: "):
            violation = log.Violation("payload", window.row["subject"] or "", None, None)
        if violation is None:
            if text.startswith(log.SLOW_CONSUMER):
                self._add(position, **shared, op="SLOW")
            elif client and _CLOSING.match(text):
                self._changed = position
                for (owner, _), subscription in self._subscriptions.items():
                    subscription.active &= owner != conn
                self._logins.close(conn)
                self._add(position, **shared, op="CLOSED")
            elif _DENIED.match(text):
                if prefix.kind == "leaf":
                    self._changed = position
                    self._logins.close(conn)
                why, _, told = text.partition(" - ")
                user = re.search(r'"((?:[^"\\]|\\.)*)"', told)
                name = None if user is None else _shown(unquote(user[1]))
                source = None if name is None else "claimed"
                who = {"identity": name, "user": name, "identity_source": source}
                told = {"op": "DENIED", "subject": _shown(_host(prefix)), "queue": _shown(why)}
                self._add(position, **{**shared, **who}, **told)
            elif not client:
                self._link(position, text, _shown(_host(prefix)), shared)
            return
        subject = _shown(violation.subject)
        if violation.kind == "subscribe":
            self._end(conn, violation.sid or "")
            self._changed = position
        elif window is not None and (violation.kind == "reply" or window.row["subject"] == subject):
            window.refused = violation.kind
            self._close(conn, position)
        self._add(
            position,
            **shared,
            op="VIOLATION",
            subject=subject,
            queue=_shown(violation.queue),
            sid=_shown(violation.sid),
            refused=violation.kind,
        )

    def _link(self, position: int, text: str, address: str | None, shared: Row) -> None:
        """Add a row if a connection to another server was made or closed."""
        up = " connection created" in text or text.endswith(" registered")
        if not up and not _CLOSING.match(text):
            return
        if not up and "/leaf:" in shared["conn"]:
            self._changed = position
            self._logins.close(shared["conn"])
        remote = re.search(r"Remote: (.*)", text)
        named = re.search(r'"((?:[^"\\]|\\.)*)"', text)
        name = remote[1].strip() if remote else named[1] if named else None
        told = {"subject": _shown(name), "sid": address, "queue": "up" if up else "down"}
        self._add(position, **shared, op="LINK", **told)

    def _operation(self, position: int, row: Row, client: bool, second: Row | None) -> None:
        """Apply an operation, and add its row."""
        conn, direction, op, size = row["conn"], row["direction"], row["op"], row.get("size")
        sid = row.get("sid", "")
        sent = direction == "out" and size is not None
        changes = (client, op) in ((True, "SUB"), (True, "UNSUB"), (True, "DELSUB"))
        leaf = "/leaf:" in conn
        changes |= leaf and op in ("LS+", "LS-")
        if changes and size is None and direction in ("in", "local" if op == "DELSUB" else "in"):
            self._changed = position
        received = op in ("PUB", "HPUB") or (op == "MAPPING" and row.get("subject"))
        if direction == "in" and (received if client else leaf and size is not None):
            row["subscription"] = self._changed
        match client, direction, op:
            case True, "in", "PUB" | "HPUB":
                self._receive(self._shown(position, row), [_key(row)])
                return
            case True, "in", "MAPPING" if row.get("subject"):
                self._mapped(position, row)
                return
            case True, "in", "SUB":
                known = self._subscriptions.get((conn, sid))
                if known is None or not known.active:
                    queue = row.get("queue", "")
                    self._subscriptions[conn, sid] = _Subscription(position, queue)
            case (True, "in", "UNSUB") | (True, "in" | "local", "DELSUB") if size is None:
                self._end(conn, sid)
            case True, "out", "MSG" | "HMSG":
                known = self._subscriptions.get((conn, sid))
                if known is not None:
                    row |= {"queue": known.queue, "subscription": known.start}
                taker = (conn, sid)
                if row.get("queue"):
                    taker = (row["queue"], row["account"])
                self.found.lines.append(_Line(position, self._taking(_key(row)), taker, True))
            case False, "in", _ if size is not None:
                keys = [_key(row)] + ([_key({**row, **second})] if second else [])
                self._receive(self._shown(position, row), keys)
                return
            case False, "out", _ if sent:
                first = {name: row.get(name, "") for name in ("account", "subject", "reply")}
                for names in (second, first) if second else (first,):
                    key = self._taking(_key({**row, **names}))
                    self.found.lines.append(_Line(position, key, (conn,), False))
                    if self._open_keys.get(key):
                        row |= names
        self._shown(position, row)

    def _mapped(self, position: int, row: Row) -> None:
        """Put a message in place of the one before it: a mapping gave that another subject."""
        window = self._open.get(row["conn"])
        if window is None:
            return
        _, reply, size, _ = window.keys[0]
        window.row["direction"] = "local"
        self._close(row["conn"], position)
        message = {**row, "op": "PUB", "reply": reply, "size": size}
        self._receive(self._shown(position, message), [_key(message)])

    def _shown(self, position: int, row: Row) -> Row:
        """Add a row whose texts are shown."""
        names = ("op", "subject", "reply", "queue", "sid")
        return self._add(position, **row | {name: _shown(row.get(name)) for name in names})

    def _receive(self, row: Row, keys: list[Key]) -> None:
        """Open the window of a message that the server received."""
        limit = None if row["time"] is None else row["time"] + _WINDOW
        window = _Window(row, keys, limit)
        self.found.windows.append(window)
        self._open[row["conn"]] = window
        for key in keys:
            self._open_keys.setdefault(key, []).append(row["position"])
        if limit is not None:
            heapq.heappush(self._limits, (limit, row["position"], window))

    def _time(self, text: str | None, position: int) -> datetime | None:
        """Read a time, and close the windows that it is too late for."""
        if text is None:
            return None
        try:
            time = _stamp(text)
        except ValueError:
            raise _Refused("bad time") from None
        while self._limits and self._limits[0][0] < time:
            limit, _, window = heapq.heappop(self._limits)
            if window.end is None and window.limit == limit:
                self._close(window.row["conn"], position)
        return time

    def _close(self, conn: str, position: int) -> None:
        window = self._open.pop(conn, None)
        if window is not None:
            window.end = position
            for key in window.keys:
                self._open_keys[key].remove(window.row["position"])

    def _taking(self, key: Key) -> Key:
        """Return the key of the windows in which a line takes part."""
        others = [(max(starts), other) for other, starts in self._open_keys.items()
                  if starts and other[:-1] == key[:-1]]  # fmt: skip
        if self._open_keys.get(key) or not others:
            return key
        return max(others)[1]

    def _end(self, conn: str, sid: str) -> None:
        known = self._subscriptions.get((conn, sid))
        if known is not None:
            known.active = False


def _host(prefix: log.LinePrefix) -> str:
    """Return the address of the other end, without its port."""
    address = (prefix.peer or "").rpartition(":")[0] or prefix.peer or ""
    whole = address.startswith("[") and address.endswith("]")
    return address[1:-1] if whole else address


def _acknowledged(subject: str | None) -> str | None:
    """Return stream and consumer of the subject of an acknowledgement; None for another."""
    tokens = (subject or "").split(".")
    if tokens[:2] != ["$JS", "ACK"] or (len(tokens) not in (8, 9) and len(tokens) < 11):
        return None
    del tokens[:2]
    begin = 2 if len(tokens) >= 9 else 0  # the domain and a hash of the account
    return f"{tokens[begin]}.{tokens[begin + 1]}"


def _unescaped(text: str) -> str:
    return re.sub(r"\\u00(..)", lambda code: chr(int(code[1], 16)), text)


def _told_by_jetstream(quoted: str) -> list[Row]:
    """Return what an answer of JetStream says: who stored a message, what streams store, and
    which acknowledgements consumers ask for.
    """
    text = unquote(quoted)
    stored = re.match(r'\{"stream":"([^"\\]+)"', text)
    if stored is not None:
        return [{"op": "STORED", "queue": stored[1]}]
    string = r'"((?:[^"\\]|\\u00[0-7][0-9a-f])*)"'
    error = re.match(
        r'\{(?:"type":"io\.nats\.jetstream\.api\.v1\.([a-z_]*)_response","error":\{|"error":\{"code":)'
        rf'[^}}]*?"description":{string}(?:\}},"stream":{string})?',
        text[:1024],
    )
    if error is not None:
        asked, why, stream = error.groups()
        if asked is None and stream is None:
            return []
        why = _unescaped(why).partition(": ")[0]
        row = {"op": "ERROR", "queue": _shown(why), "sid": "publish" if asked is None else asked}
        return [row | {"subject": _shown(_unescaped(stream or ""))}]
    found = []
    if text.startswith('{"type":"io.nats.jetstream.api.v1.stream_'):
        for config in text.split('"config":{"name":')[1:]:
            name = re.match(r'"([^"\\]*)"', config)
            own = config.split('"config":{')[0].partition('"subjects":[')[2]
            for pattern in re.match(r'(?:"[^"]*",?)*', own)[0].split('"')[1::2] if name else ():
                subject = _shown(_unescaped(pattern))
                found.append({"op": "STREAM", "queue": _shown(name[1]), "subject": subject})
    if text.startswith('{"type":"io.nats.jetstream.api.v1.consumer_'):
        for one in text.split('"stream_name":')[1:]:
            known = re.match(
                r'"([^"\\]*)","name":"([^"\\]*)".*?"ack_policy":"([^"\\]*)"'
                r'(?:.*?"deliver_subject":"([^"\\]*)")?',
                one,
            )
            if known is not None:
                stream, name, policy, to = known.groups()
                filters = re.findall(r'"filter_subject":"([^"]*)"', one)
                listed = re.search(r'"filter_subjects":\[([^]]*)\]', one)
                filters += re.findall(r'"([^"]*)"', listed[1]) if listed else []
                made_up = re.fullmatch(r"[0-9A-Za-z]{22}|(?=.*[0-9A-Z])[0-9A-Za-z]{8}", name)
                found.append({"op": "CONSUMER", "subject": policy,
                              "reply": _shown("" if made_up else to or ""),
                              "sid": _shown("" if made_up else _unescaped(" ".join(filters))),
                              "queue": _shown(f"{stream}.{'*' if made_up else name}")})  # fmt: skip
    return found


def _serve(found: _Log) -> None:
    """Give each message its deliveries."""
    windows: dict[Key, list[_Window]] = {}
    for window in found.windows:
        row = window.row
        row["until"] = window.end
        if window.refused is not None:
            row["refused"] = window.refused
            continue
        row |= {"deliveries": 0, "forwarded": 0, "ambiguous": False}
        for key in window.keys:
            windows.setdefault(key, []).append(window)
    by_key: dict[Key, list[_Line]] = {}
    for line in found.lines:
        by_key.setdefault(line.key, []).append(line)
    for key, lines in by_key.items():
        served = sorted(windows.get(key, ()), key=lambda w: (w.end, w.row["position"]))
        free: dict[Any, list[_Line]] = {}
        for line in lines:
            free.setdefault((line.to_client, line.taker), []).append(line)
            inside = [window for window in served if _inside(line, window)]
            if line.to_client and len(inside) > 1:
                for window in inside:
                    window.row["ambiguous"] = True
        for window in served:
            for (to_client, _), some in free.items():
                taken = next((line for line in some if _inside(line, window)), None)
                if taken is not None:
                    some.remove(taken)
                    window.row["deliveries" if to_client else "forwarded"] += 1
        found.counts["unmatched"] += sum(
            len(some) for (to_client, _), some in free.items() if to_client
        )


def _inside(line: _Line, window: _Window) -> bool:
    return bool(window.row["position"] < line.position < (window.end or 0))


def _of_client(words: list[str]) -> Row:
    """Return the parts of an operation of a client's connection."""
    if not words:
        raise _Refused("not an operation")
    op = words[0]
    if op not in _ARITY:
        mapped = op == "MAPPING" and len(words) == 4 and words[2] == "->"
        return _named(op) | ({"subject": words[3]} if mapped else {})
    least, most = _ARITY[op]
    if not least <= len(words) <= most:
        raise _Refused("wrong number of arguments")
    complete = len(words) == most
    if op in ("UNSUB", "DELSUB"):
        count = words[2] if len(words) > 2 else ""
        waits = int(count) if _NUMBER.match(count) else 0
        return {"op": op, "sid": words[1]} | ({"size": waits} if waits else {})
    if op == "SUB":
        return {"op": op, "subject": words[1], "queue": words[2] if complete else "",
                "sid": words[-1]}  # fmt: skip
    if not _NUMBER.match(words[-1]):
        raise _Refused("size is not a number")
    row: Row = {"op": op, "subject": words[1], "size": int(words[-1])}
    if op in ("PUB", "HPUB"):
        return row | {"reply": words[2] if complete else ""}
    return row | {"sid": words[2], "reply": words[3] if complete else ""}


def _between(words: list[str], local: bool, leaf: bool) -> tuple[Row, Row | None]:
    """Return the parts of an operation between servers, and the other reading of its names."""
    if not words:
        raise _Refused("not an operation")
    row = _named(words[0])
    if leaf and row["op"] in ("LS+", "LS-") and 2 <= len(words) <= 4:
        return row | {"subject": words[1], "queue": (*words, "")[2]}, None
    if local or row["op"] not in ("RMSG", "HMSG", "LMSG", "MSG"):
        return row, None
    if len(words) < 3 or not _NUMBER.match(words[-1]):
        raise _Refused("wrong number of arguments")
    row["size"] = int(words[-1])
    names = words[1:-1]
    if row["op"] in ("HMSG", "LMSG") and len(names) > 1 and _DIGITS.match(names[-1]):
        names = names[:-1]  # the size of the headers
    if row["op"] == "LMSG" and not leaf and len(names) > 1:
        names = names[1:]  # the cluster of the leaf node that the message comes from
    for at, name in enumerate(names):
        if at and name == "|":
            return row | {"subject": names[at - 1]} | _account(names[: at - 1]), None
        if at and name == "+" and at + 1 < len(names):
            row |= {"subject": names[at - 1], "reply": names[at + 1]}
            return row | _account(names[: at - 1]), None
    # The account may or may not be printed.
    if len(names) == 1:
        return row | {"subject": names[0]}, None
    before, last = names[-2:]
    if leaf and len(names) == 2:
        return row | {"subject": before, "reply": last}, None
    with_reply = {"subject": before, "reply": last} | _account(names[:-2])
    alone = {"subject": last, "reply": ""} | _account(names[:-1])
    if len(names) == 2:
        return row | alone, {"account": ""} | with_reply
    return row | with_reply, alone


def _account(before: list[str]) -> Row:
    """Return the account among the words before a subject."""
    return {"account": _shown(before[-1])} if before else {}


def _named(op: str) -> Row:
    if not _NAME.match(op):
        raise _Refused("not an operation")
    return {"op": op}


def _key(row: Row) -> Key:
    account = row.get("account") or ""
    account = "" if account == "$G" else account
    return (row["subject"], row.get("reply") or "", int(row["size"]), account)


def _shown(text: str | None) -> str | None:
    r"""Return a text without secrets, with escapes such as ``\xff`` for what is not UTF-8."""
    if text is None:
        return None
    return redact_text(text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))


def _stamp(text: str) -> datetime:
    second, _, fraction = text.partition(".")
    time = datetime.strptime(second, "%Y/%m/%d %H:%M:%S").replace(tzinfo=UTC)
    return time + timedelta(microseconds=int(fraction[:6].ljust(6, "0")))
