"""A simulated broker: it decides who receives what, and writes its trace log.

It knows connections, subscriptions with queue groups, permissions to publish, and one other broker
behind a route. What it decides is reported to a ``Truth``; nothing is read back from the log.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from .connections import Connection, Subscription, Window
from .events import EventRows
from .patterns import matches
from .publish import Publish
from .split_mix import SplitMix64
from .trace_log import SECOND, TraceLog, Written
from .truth import Subject, Truth

_ROUTE = "127.0.0.1:6222 - rid:4"


class Broker:
    """The broker. Its methods write what a client sends, and what the broker answers."""

    def __init__(self, log: TraceLog, truth: Truth, dice: SplitMix64, events: EventRows) -> None:
        self.log = log
        self.truth = truth
        self.events = events
        self.operations = 0
        self._dice = dice
        self._next_cid = 5
        self._closings = 0
        self._literal: dict[str, list[Subscription]] = defaultdict(list)
        self._wild: dict[str, list[Subscription]] = defaultdict(list)  # by their fifth token
        self._cache: dict[str, list[Subscription]] = {}
        self._remote: list[tuple[tuple[str, ...], str | None]] = []
        self._windows: dict[tuple[str, str, int], list[Window]] = defaultdict(list)
        self._limits: list[tuple[int, int, Window]] = []  # a heap: limit, offset, window

    # What the broker itself says

    def start(self) -> Written:
        """Write the lines of a start; return the first of them."""
        first = self._server("INF", "Starting nats-server")
        conn = f"{self.log.pid}/server"
        self.events.add(first.offset, "START", time=first.time, conn=conn)
        for level, text in (
            ("INF", "  Version:  2.15.1"),
            ("DBG", 'Created system account: "$SYS"'),
            ("INF", "Listening for client connections on 127.0.0.1:4222"),
            ("INF", "Server is ready"),
        ):
            self._server(level, text)
        return first

    def restart(self) -> None:
        """Start again, with the same process id, as a container does; no connection is closed."""
        started = self.start()
        self._next_cid = 5
        for found in self.truth.subscriptions:
            if found.end is None:
                found.end, found.ended = started.time, started.offset
        self._literal.clear()
        self._wild.clear()
        self._cache.clear()
        self._remote.clear()

    def finish(self) -> None:
        """End the log: the windows that are open end with it."""
        for _, _, window in self._limits:
            self._close_window(window, self.log.offset)

    def interest(self, pattern: str, queue: str | None) -> None:
        """Note a subscription of the other broker."""
        text = f"<<- [RS+ $G {pattern}{'' if queue is None else f' {queue} 1'}]"
        self._route(self._operation(f"{_ROUTE} - {text}"), "in", "RS+")
        self._remote.append((tuple(pattern.split(".")), queue))

    def idle(self) -> None:
        """Let more than the longest window pass."""
        self.log.clock += SECOND + SECOND // 2
        self._server("DBG", "Account [$G] fast lookup cache cleared")

    # Connections and subscriptions

    def connect(
        self,
        user: str | None,
        name: str | None,
        host: str | None,
        publish_allow: list[str] | None,
    ) -> Connection:
        """Open a connection."""
        cid = self._next_cid
        self._next_cid += 1
        peer = f"127.0.0.1:{40_000 + cid % 20_000} - cid:{cid}"
        go = self._dice.chance(60)
        client = "v1.52.0:go" if go else "v2.16.0:python3"
        front = f'{peer} - "{client}{"" if name is None else f":{name}"}"'
        if user is not None:
            front += f' - "$G/user:{user}"'
        self._server("DBG", f"{peer} - Client connection created")
        login = "" if user is None else f'"user":"{user}","pass":"[REDACTED]",'
        written = self._operation(
            f'{peer} - <<- [CONNECT {{"verbose":false,{login}"name":"{name or ""}",'
            '"headers":true,"no_responders":true}]'
        )
        self.events.add(
            written.offset,
            "CONNECT",
            time=written.time,
            conn=f"{self.log.pid}/client:{cid}",
            direction="in",
        )
        rules = None if publish_allow is None else [tuple(p.split(".")) for p in publish_allow]
        conn = Connection(cid, front, user, name, host, rules, "" if go else " ")
        self.ping(conn)
        return conn

    def ping(self, conn: Connection) -> None:
        """A client says PING, which ends the window of its last publish."""
        self._inbound(conn, "PING", "")
        self._outbound(conn, "PONG", "")

    def subscribe(self, conn: Connection, pattern: str, queue: str | None = None) -> Subscription:
        """Add a subscription."""
        sid = str(conn.next_sid)
        conn.next_sid += 1
        written = self._subscribe(conn, pattern, queue, sid)
        found = Subscription(conn, sid, pattern, queue, written, None, tuple(pattern.split(".")))
        conn.subscriptions[sid] = found
        self.truth.subscriptions.append(found)
        if "*" in found.tokens or found.tokens[-1] == ">":
            fifth = found.tokens[4] if len(found.tokens) > 4 else "*"
            self._wild["*" if fifth in ("*", ">") or ">" in found.tokens[:4] else fifth].append(
                found
            )
            self._cache.clear()
        else:
            self._literal[pattern].append(found)
        return found

    def refuse_subscription(self, conn: Connection, pattern: str, queue: str | None) -> None:
        """A client subscribes without permission."""
        sid = str(conn.next_sid)
        conn.next_sid += 1
        self._subscribe(conn, pattern, queue, sid)
        using = "" if queue is None else f' using queue "{queue}"'
        told = f' Permissions Violation for Subscription to "{pattern}"{using}'
        self._outbound(conn, "-ERR", told)
        named = "" if queue is None else f', Queue: "{queue}"'
        written = self._server(
            "ERR",
            f'{conn.front} - Subscription Violation - Subject "{pattern}"{named}, SID {sid}',
        )
        self.events.client(
            written, conn, None, "VIOLATION",
            subject=pattern, queue=queue, sid=sid, refused="subscribe",
        )  # fmt: skip
        self.truth.refuse(conn, pattern, "subscribe", written.time, queue)

    def unsubscribe(self, conn: Connection, sid: str) -> None:
        """End a subscription."""
        written = self._inbound(conn, "UNSUB", f" {sid}{self._dice.choice(('', ' '))}", sid=sid)
        self._local(conn, sid)
        self._end(conn.subscriptions.pop(sid), written)

    def unsubscribe_after(self, conn: Connection, sid: str, count: int) -> None:
        """Announce that a subscription ends after some messages."""
        self._inbound(conn, "UNSUB", f" {sid} {count}", sid=sid, size=count)

    def expire_subscription(self, conn: Connection, sid: str) -> None:
        """End a subscription that has received its last message."""
        written = self._local(conn, sid)
        self._end(conn.subscriptions.pop(sid), written)

    def close(self, conn: Connection) -> None:
        """A client closes its connection; every third one reads too slowly, and is closed."""
        reason = "Client Closed"
        if self._closings % 3 == 0:
            reason = "Slow Consumer (Pending Bytes)"
            written = self._server(
                "INF", f"{conn.front} - Slow Consumer Detected: MaxPending of 67108864 Exceeded"
            )
            self.events.client(written, conn, None, "SLOW")
            self.truth.slow(conn, written.time)
        self._closings += 1
        written = self._server("DBG", f"{conn.front} - Client connection closed: {reason}")
        self.events.client(written, conn, None, "CLOSED")
        for sid, found in list(conn.subscriptions.items()):
            self._local(conn, sid)
            self._end(found, written)
        conn.subscriptions.clear()

    def _end(self, found: Subscription, written: Written) -> None:
        found.end, found.ended = written.time, written.offset
        literal = self._literal.get(found.pattern, [])
        if found in literal:
            literal.remove(found)
            if not literal:
                del self._literal[found.pattern]
            return
        for rows in self._wild.values():
            if found in rows:
                rows.remove(found)
        self._cache.clear()

    # Messages

    def publish(
        self,
        conn: Connection,
        subject: Subject,
        payload: tuple[int, str],
        *,
        reply: str = "",
        header: int = 0,
        refuse_reply: bool = False,
        damage: Callable[[str], tuple[bytes, str]] | None = None,
    ) -> Publish | None:
        """A client publishes a message.

        Args:
            conn: The connection.
            subject: The subject.
            payload: The size, headers included, and the text as the broker quotes it.
            reply: The reply subject, or empty.
            header: The bytes of the headers, 0 for a message without.
            refuse_reply: Whether the broker refuses it because of the reply subject.
            damage: Makes of its line one that cannot be parsed, and says why. The connection has
                no open window.

        Returns:
            What ``deliver`` delivers; None if the broker refuses it.
        """
        size, text = payload
        op = "HPUB" if header else "PUB"
        words = f"{subject.text} {reply} " if reply else f"{subject.text} {conn.blanks}"
        line = f" {words}{f'{header} ' if header else ''}{size}"
        key = (subject.text, reply, size)
        allowed = not refuse_reply and (
            conn.publish_allow is None
            or any(matches(rule, subject.tokens) for rule in conn.publish_allow)
        )
        if damage is not None:
            assert conn.window is None
            self._tick(3)
            written = None
            self.damage(damage(f"{self.log.front()} [TRC] {conn.front} - <<- [{op}{line}]"))
        else:
            written = self._operation(f"{conn.front} - <<- [{op}{line}]")
            self.close_window(conn, written.offset)
            row = self.events.client(
                written, conn, "in", op, subject=subject.text, reply=reply or None, size=size
            )
        limit = 0 if written is None else written.time + SECOND
        if size:
            shown = self._payload(f"{conn.front} - <<- {text}")
            limit = shown.time + SECOND
        if not allowed and written is not None:
            row["refused"] = "reply" if refuse_reply else "publish"
            told = self._refuse_publish(conn, subject, reply if refuse_reply else "")
            row["until"] = told.offset
            at = written.time if refuse_reply else told.time
            self.truth.refuse(conn, subject.text, "publish", at)
            self.truth.publish(conn, subject, size, written, refused=True)
            return None
        receivers = self._receivers(subject)
        hops = [] if receivers else [q for p, q in self._remote if matches(p, subject.tokens)]
        if written is not None:
            row.update(open=True, deliveries=len(receivers), forwarded=len(hops[:1]))
            window = Window(conn, limit, row)
            conn.window = window
            heapq.heappush(self._limits, (limit, written.offset, window))
            waiting = self._windows[key]
            if len(waiting) > 16:
                waiting[:] = [w for w in waiting if not w.closed and w.limit >= self.log.latest]
            waiting.append(window)
            self.truth.publish(
                conn, subject, size, written, delivered=bool(receivers), forwarded=bool(hops)
            )
        if hops:
            queues = sorted({queue for queue in hops if queue is not None})
            names = f"| {' '.join(queues)} " if queues else ""
            hop = self._operation(f"{_ROUTE} - ->> [RMSG $G {subject.text} {names}{size}]")
            self._route(hop, "out", "RMSG", subject=subject.text, size=size)
            if size:
                self._payload(f"{_ROUTE} - ->> {text}")
        return Publish(subject, reply, payload, header, receivers, lost=written is None)

    def deliver(self, publish: Publish | None) -> None:
        """Deliver a message to all its receivers."""
        if publish is None:
            return
        size, text = publish.payload
        key = (publish.subject.text, publish.reply, size)
        reply = f"{publish.reply} " if publish.reply else ""
        op = "HMSG" if publish.header else "MSG"
        header = f"{publish.header} " if publish.header else ""
        subject = publish.subject.text
        for found in publish.receivers:
            front = found.conn.front
            self._outbound(
                found.conn,
                op,
                f" {subject} {found.sid} {reply}{header}{size}",
                subject=subject,
                reply=publish.reply or None,
                queue=found.queue,
                sid=found.sid,
                size=size,
                subscription=found.start.offset,
            )
            if size:
                self._payload(f"{front} - ->> {text}")
            self.truth.deliver(found, publish.subject, unmatched=publish.lost)
            self._overlap(key)

    def no_responders(self, conn: Connection, inbox: Subscription) -> None:
        """Tell a client that its request has no subscriber."""
        self._outbound(
            conn, "HMSG", f" {inbox.pattern} {inbox.sid} 16 16",
            subject=inbox.pattern, sid=inbox.sid, size=16, subscription=inbox.start.offset,
        )  # fmt: skip
        self._payload(f'{conn.front} - ->> MSG_PAYLOAD: ["NATS/1.0 503\\r\\n\\r\\n"]')
        self.truth.deliver(inbox, self.truth.other(inbox.pattern, "inbox"), unmatched=True)

    def damage(self, line: tuple[bytes, str]) -> None:
        """Write a line that cannot be parsed: its bytes, and the reason."""
        data, reason = line
        offset = self.log.write_raw(data)
        text = self.truth.quarantine(offset, data, reason)
        self.events.add(offset, reason=reason, _corrupt_record=text)

    def close_window(self, conn: Connection, offset: int) -> None:
        """End the window of the connection's last publish."""
        if conn.window is not None:
            self._close_window(conn.window, offset)
            conn.window = None

    def _close_window(self, window: Window, offset: int) -> None:
        if not window.closed:
            window.closed = True
            window.row.update(open=False, until=offset, ambiguous=window.ambiguous)

    def _overlap(self, key: tuple[str, str, int]) -> None:
        """Count the windows that compete for the delivery line just written."""
        latest = self.log.latest
        opened = [w for w in self._windows[key] if not w.closed and w.limit >= latest]
        self._windows[key] = opened
        if len(opened) > 1:
            for window in opened:
                self.truth.ambiguous += not window.ambiguous
                window.ambiguous = True

    def _receivers(self, subject: Subject) -> list[Subscription]:
        """Choose who receives a message: all subscribers, and one of each queue group."""
        text = subject.text
        found = self._cache.get(text)
        if found is None:
            fifth = subject.tokens[4] if len(subject.tokens) > 4 else ""
            some = [*self._wild.get(fifth, ()), *self._wild.get("*", ())]
            found = [each for each in some if matches(each.tokens, subject.tokens)]
            if len(self._cache) > 50_000:
                self._cache.clear()
            self._cache[text] = found
        found = [*found, *self._literal.get(text, ())]
        groups: dict[str, list[Subscription]] = {}
        receivers = []
        for each in found:
            if each.queue is None:
                receivers.append(each)
            else:
                groups.setdefault(each.queue, []).append(each)
        receivers += [self._dice.choice(group) for group in groups.values()]
        self._dice.shuffle(receivers)
        return receivers

    def _refuse_publish(self, conn: Connection, subject: Subject, reply: str) -> Written:
        what, text = ("Reply", reply) if reply else ("Subject", subject.text)
        verb = "Publish with Reply of" if reply else "Publish to"
        self._outbound(conn, "-ERR", f' Permissions Violation for {verb} "{text}"')
        written = self._server("ERR", f'{conn.front} - Publish Violation - {what} "{text}"')
        self.events.client(
            written, conn, None, "VIOLATION", subject=text, refused="reply" if reply else "publish"
        )
        return written

    def _subscribe(self, conn: Connection, pattern: str, queue: str | None, sid: str) -> Written:
        arguments = f" {pattern} {queue or ''} {sid}"
        return self._inbound(conn, "SUB", arguments, subject=pattern, queue=queue, sid=sid)

    def _inbound(self, conn: Connection, op: str, arguments: str, **values: Any) -> Written:
        """Write an operation that a client sent."""
        written = self._operation(f"{conn.front} - <<- [{op}{arguments}]")
        self.close_window(conn, written.offset)
        self.events.client(written, conn, "in", op, **values)
        return written

    def _outbound(self, conn: Connection, op: str, arguments: str, **values: Any) -> None:
        """Write an operation that the broker sent to a client."""
        written = self._operation(f"{conn.front} - ->> [{op}{arguments}]")
        self.events.client(written, conn, "out", op, **values)

    def _local(self, conn: Connection, sid: str) -> Written:
        """Write that the broker deleted a subscription."""
        written = self._operation(f"{conn.front} - <-> [DELSUB {sid}]")
        self.events.client(written, conn, "local", "DELSUB", sid=sid)
        return written

    def _route(self, written: Written, direction: str, op: str, **values: Any) -> None:
        """Note an event of the connection to the other broker."""
        self.events.add(
            written.offset,
            op,
            time=written.time,
            conn=f"{self.log.pid}/route:4",
            direction=direction,
            **values,
        )

    def _operation(self, rest: str) -> Written:
        self.operations += 1
        self._tick(40)
        early = self._dice.below(4) if self._dice.below(16) == 0 else 0
        return self._seen(self.log.write("operations", "TRC", rest, early))

    def _payload(self, rest: str) -> Written:
        self._tick(4)
        return self._seen(self.log.write("payloads", "TRC", rest))

    def _server(self, level: str, rest: str) -> Written:
        self._tick(20)
        return self._seen(self.log.write("server", level, rest))

    def _seen(self, written: Written) -> Written:
        """End the windows for which a line is too late."""
        limits = self._limits
        while limits and limits[0][0] < written.time:
            self._close_window(heapq.heappop(limits)[2], written.offset)
        return written

    def _tick(self, most: int) -> None:
        self.log.clock += 1 + self._dice.below(most)
