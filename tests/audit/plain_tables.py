"""The tables of the plain audit, from the logs that ``plain_audit`` has read."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from plain_audit import Log, Message, Subscription, all_messages, escaped, read

from subtrie import SubtrieError
from subtrie.reference import microbus

Row = dict[str, Any]


def audit(
    contents: Sequence[bytes], planes: Sequence[str] = ()
) -> tuple[Row, dict[str, list[Row]]]:
    """Return the summary and the tables of logs, one log for each broker."""
    contents = sorted(contents, key=server_of)  # the order in which logs are given has no effect
    logs, unmatched = read(contents)
    tables = Tables(logs, [server_of(data) for data in contents], planes)
    counts = sum((each.counts for each in logs), Counter())
    names = ("operations", "payloads", "server", "unparseable_lines")
    summary = {
        "lines": sum(counts[name] for name in names),
        **{name: counts[name] for name in names},
        "planes": tables.planes,
        "ambiguous": sum(m.ambiguous for each in logs for m in each.messages),
        "unmatched": unmatched,
        "forwarded": sum(m.state == "forwarded" for m in all_messages(logs)),
    }
    made = {
        name: sorted(
            getattr(tables, name)(), key=lambda r: [(v is not None, v) for v in r.values()]
        )
        for name in TABLES
    }
    return summary, made


TABLES = (
    "call_graph", "replies", "undelivered", "malformed", "other_traffic", "refused",
    "slow_consumers", "spoofed",
    "subscriptions", "coverage", "fan_out", "hot_subjects", "cross_plane", "unparseable",
)  # fmt: skip


def server_of(data: bytes) -> str:
    """Return the name of the server of a log."""
    return hashlib.sha256(data.split(b"\n", 1)[0].rstrip(b"\r")).hexdigest()[:12]


class Tables:
    """One method for each table."""

    def __init__(self, logs: Sequence[Log], servers: list[str], planes: Sequence[str]) -> None:
        self.logs, self.servers = logs, servers
        self.by_subject: dict[str, list[Message]] = defaultdict(list)
        for message in all_messages(logs):
            self.by_subject[message.subject].append(message)
        self.delivered: Counter[str] = Counter()
        for each in logs:
            for line in each.lines:
                self.delivered[line.subject] += 1
        self.all = [s for each in logs for s in each.subscriptions]
        first = sorted(self.all, key=lambda s: (servers[s.log], s.start))
        self.patterns = list(dict.fromkeys(s.pattern for s in first))
        self.routes = [p for p in self.patterns if _is_route(p)]
        self.address = {s: _decode(s) for s in {*self.by_subject, *self.delivered}}
        self.planes = sorted(set(planes)) or self._planes()

    def _planes(self) -> list[str]:
        found = {_plane_of(pattern) for pattern in self.patterns}
        for subject, address in self.address.items():
            accepted = any(m.refused is None for m in self.by_subject.get(subject, ()))
            if address is not None and (accepted or self.delivered[subject]):
                found.add(address.plane)
        return sorted(plane for plane in found if plane)

    def category(self, subject: str) -> str:
        """Return ``request``, ``reply``, ``malformed`` or ``other``."""
        if subject.split(".", 1)[0] not in self.planes:
            return "other"
        address = self.address[subject]
        if address is None:
            return "malformed"
        return "request" if isinstance(address, microbus.RequestAddress) else "reply"

    def call_graph(self) -> Iterator[Row]:
        groups: dict[tuple[Any, ...], list[str]] = defaultdict(list)
        for subject, a in self.address.items():
            if self.category(subject) == "request":
                key = (a.plane, a.source, a.host, a.port, a.method, self.route(subject))
                groups[key].append(subject)
        names = ("plane", "source", "destination", "port", "method", "route")
        for key, subjects in groups.items():
            some = [m for subject in subjects for m in self.by_subject.get(subject, ())]
            accepted = [m for m in some if m.refused is None]
            yield {
                **dict(zip(names, key, strict=True)),
                "published": len(accepted),
                "refused": len(some) - len(accepted),
                "delivered": sum(self.delivered[subject] for subject in subjects),
                "undelivered": sum(m.state == "undelivered" for m in some),
                "forwarded": sum(m.state == "forwarded" for m in some),
                "bytes": sum(m.size for m in accepted),
                **_span(m.time for m in some),
                "instances": len({(m.log, m.conn) for m in some}),
            }

    def route(self, subject: str) -> str | None:
        """Return the path of the most specific route that matches."""
        found = [p.split(".")[7:] for p in self.routes if matches(p, subject)]
        rank = {"*": 1, ">": 2}
        best = min(found, key=lambda path: [(rank.get(t, 0), t) for t in path], default=None)
        return None if best is None else ".".join(best)

    def replies(self) -> Iterator[Row]:
        groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for subject, a in self.address.items():
            if self.category(subject) == "reply":
                groups[a.plane, a.source, a.host].append(subject)
        for (plane, replier, caller), subjects in groups.items():
            some = [m for s in subjects for m in self.by_subject.get(s, ()) if m.refused is None]
            delivered = sum(self.delivered[subject] for subject in subjects)
            if some or delivered:
                yield {
                    "plane": plane,
                    "replier": replier,
                    "caller": caller,
                    "published": len(some),
                    "delivered": delivered,
                    "undelivered": sum(m.state == "undelivered" for m in some),
                }

    def undelivered(self) -> Iterator[Row]:
        for subject, messages in self.by_subject.items():
            some = [m for m in messages if m.state == "undelivered"]
            if not some or self.category(subject) not in ("request", "reply"):
                continue
            matching = [p for p in self.patterns if matches(p, subject)]
            row = {"subject": subject, "count": len(some), **_span(m.time for m in some)}
            if matching:
                missing = not all(self._subscribed(m, matching) for m in some)
                yield {**row, "nearest": matching[0], "differs_at": None,
                       "subscription_inactive": missing}  # fmt: skip
                continue
            best = max(self.patterns, key=lambda p: leading(p, subject), default=None)
            yield {**row, "nearest": best,
                   "differs_at": None if best is None else leading(best, subject),
                   "subscription_inactive": False}  # fmt: skip

    def _subscribed(self, message: Message, patterns: list[str]) -> bool:
        """Whether one of the patterns was subscribed when a message was published."""
        return any(
            s.start < message.pos and (s.end is None or message.pos < s.end)
            for s in self.all
            if s.log == message.log and s.pattern in patterns
        )

    def malformed(self) -> Iterator[Row]:
        for subject, accepted in self._accepted("malformed"):
            yield {
                "subject": subject,
                "count": len(accepted),
                "received": sum(m.state in ("delivered", "delivered remotely") for m in accepted),
                "reason": _reason(subject),
                **_span(m.time for m in accepted),
            }

    def other_traffic(self) -> Iterator[Row]:
        for subject, accepted in self._accepted("other"):
            yield {"subject": subject, "count": len(accepted), "class": microbus.classify(subject)}

    def _accepted(self, category: str) -> Iterator[tuple[str, list[Message]]]:
        for subject, messages in self.by_subject.items():
            accepted = [m for m in messages if m.refused is None]
            if accepted and self.category(subject) == category:
                yield subject, accepted

    def refused(self) -> Iterator[Row]:
        found: dict[tuple[Any, ...], list[datetime | None]] = defaultdict(list)
        for each in self.logs:
            for (account, user, name, conn), subject, kind, time in each.refusals:
                who = identity(user, name) or conn
                found[who, subject, kind, proof(account, user, name)].append(time)
        for (who, subject, kind, proven), times in found.items():
            yield {"who": who, "subject": subject, "count": len(times), "kind": kind,
                   **_span(times), **dict(proven)}  # fmt: skip

    def slow_consumers(self) -> Iterator[Row]:
        found: dict[tuple[Any, ...], list[datetime | None]] = defaultdict(list)
        for each in self.logs:
            for (account, user, name, conn), time in each.slow:
                found[identity(user, name) or conn, proof(account, user, name)].append(time)
        for (who, proven), times in found.items():
            yield {"who": who, "count": len(times), **_span(times), **dict(proven)}

    def spoofed(self) -> Iterator[Row]:
        found: dict[tuple[Any, ...], list[Message]] = defaultdict(list)
        for message in all_messages(self.logs):
            a, who = self.address[message.subject], host_of(message.user, message.name)
            if a is not None and who is not None and a.source != who and a.plane in self.planes:
                proven = proof(message.account, message.user, message.name)
                found[who, a.source, message.subject, proven].append(message)
        for (who, claimed, subject, proven), some in found.items():
            accepted = sum(m.refused is None for m in some)
            yield {"who": who, "claimed": claimed, "subject": subject, "count": len(some),
                   "accepted": accepted, **_span(m.time for m in some),
                   **dict(proven)}  # fmt: skip

    def subscriptions(self) -> Iterator[Row]:
        for s in self.all:
            yield {
                "server": self.servers[s.log],
                "conn": s.conn,
                "sid": s.sid,
                "start": _iso(s.started),
                "end": _iso(s.ended),
                "identity": identity(*s.identity),
                "pattern": s.pattern,
                "queue": s.queue,
            }

    def coverage(self) -> Iterator[Row]:
        groups: dict[tuple[int, str, str | None], list[Subscription]] = defaultdict(list)
        for s in self.all:
            groups[s.log, s.pattern, s.queue].append(s)
        published = Counter((m.log, m.subject) for m in all_messages(self.logs) if not m.refused)
        matched = {
            key: sum(n for (number, subject), n in published.items()
                     if number == key[0] and matches(key[1], subject))
            for key in {(number, pattern) for number, pattern, _ in groups}
        }  # fmt: skip
        for (number, pattern, queue), some in groups.items():
            yield {
                "server": self.servers[number],
                "pattern": pattern,
                "queue": queue,
                "matched": matched[number, pattern],
                "delivered": sum(s.delivered for s in some),
            }

    def fan_out(self) -> Iterator[Row]:
        singles: dict[str, set[Any]] = defaultdict(set)
        groups: dict[str, set[str]] = defaultdict(set)
        for each in self.logs:
            for line in each.lines:
                queue = None if line.subscription is None else line.subscription.queue
                if queue is None:
                    singles[line.subject].add((each.number, line.conn, line.sid))
                else:
                    groups[line.subject].add(queue)
        for subject, count in self.delivered.items():
            yield {
                "subject": subject,
                "subscribers": len(singles[subject]),
                "groups": len(groups[subject]),
                "delivered": count,
            }

    def hot_subjects(self) -> Iterator[Row]:
        rows = []
        for subject, messages in self.by_subject.items():
            accepted = [m for m in messages if m.refused is None]
            if accepted:
                rows.append((-len(accepted), subject, sum(m.size for m in accepted)))
        total = -sum(row[0] for row in rows)
        for count, subject, size in sorted(rows)[:100]:
            yield {"subject": subject, "published": -count, "bytes": size, "share": -count / total}

    def cross_plane(self) -> Iterator[Row]:
        found: dict[str, dict[str, list[Message]]] = defaultdict(lambda: defaultdict(list))
        for message in all_messages(self.logs):
            a, who = self.address[message.subject], host_of(message.user, message.name)
            if a is not None and who is not None and message.refused is None:
                found[who][a.plane].append(message)
        for who, planes in found.items():
            home = min(planes, key=lambda plane: (-len(planes[plane]), plane))
            for plane in planes.keys() - {home}:
                yield {"identity": who, "plane": plane, "home_plane": home,
                       "count": len(planes[plane]),
                       **_span(m.time for m in planes[plane])}  # fmt: skip

    def unparseable(self) -> Iterator[Row]:
        for each in self.logs:
            for row in each.unparseable:
                yield {"server": self.servers[row["log"]], "offset": row["offset"],
                       "reason": row["reason"], "text": row["text"]}  # fmt: skip


def matches(pattern: str, subject: str) -> bool:
    """Return whether a pattern matches a subject, token by token."""
    ours, theirs = _tokens(pattern), _tokens(subject)
    for i, token in enumerate(ours):
        if token == ">":
            return i < len(theirs)
        if i >= len(theirs) or token not in ("*", theirs[i]):
            return False
    return len(ours) == len(theirs)


@cache
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(text.split("."))


def leading(pattern: str, subject: str) -> int:
    """Return how many leading tokens agree."""
    count = 0
    for ours, theirs in zip(_tokens(pattern), _tokens(subject), strict=False):
        if ours not in ("*", theirs):
            break
        count += 1
    return count


def host_of(user: str | None, name: str | None) -> str | None:
    """Return the first of user and client name that is the host name of a service."""
    for text in (user, name):
        if text:
            try:
                return microbus.check_identity_host(text)
            except SubtrieError:
                continue
    return None


def proof(
    account: str | None, user: str | None, name: str | None
) -> tuple[tuple[str, str | None], ...]:
    """Return account, user, client and what the identity rests on, of a login with a user name."""
    who = identity(user, name)
    source = None if who is None else "user" if user and who == escaped(user) else "claimed"
    shown = [None if text is None else escaped(text) for text in (account, user or None, name)]
    names = ("account", "user", "client", "identity_source")
    return tuple(zip(names, (*shown, source), strict=True))


def identity(user: str | None, name: str | None) -> str | None:
    """Return the identity of a connection."""
    found = host_of(user, name) or user or name
    return None if found is None else escaped(found)


def _decode(subject: str) -> Any:
    try:
        return microbus.decode(subject)
    except SubtrieError:
        return None


def _reason(subject: str) -> str | None:
    try:
        microbus.decode(subject)
    except SubtrieError as error:
        return error.reason
    return None


def _is_route(pattern: str) -> bool:
    try:
        microbus.decode_subscription(pattern)
    except SubtrieError:
        return False
    return True


def _plane_of(pattern: str) -> str | None:
    tokens = pattern.split(".")
    if _is_route(pattern):
        return tokens[0]
    if len(tokens) == 6 and tokens[1] == "reply" and tokens[3] == "*":
        address = _decode(".".join([*tokens[:3], "x", *tokens[4:]]))
        return None if address is None else tokens[0]
    return None


def _span(times: Iterable[datetime | None]) -> Row:
    some = [time for time in times if time is not None]
    return {"first": _iso(min(some, default=None)), "last": _iso(max(some, default=None))}


def _iso(time: datetime | None) -> str | None:
    return None if time is None else f"{time:%Y-%m-%dT%H:%M:%S.%f}Z"
