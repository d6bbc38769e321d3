"""The tables of the plain audit, from the logs that ``plain_audit`` has read."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from plain_audit import Log, Message, Subscription, all_messages, escaped, read

from rate_of_times import rate
from subtrie import SubtrieError
from subtrie.reference import microbus

Row = dict[str, Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: A subject and its account, or an identity and its account.
Name = tuple[str, str | None]


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
        self.all = [s for each in logs for s in each.subscriptions]
        first = sorted(self.all, key=lambda s: (servers[s.log], s.start))
        # The account of those whose account is not told, if the subscriptions name one.
        named = {s.account for s in self.all} - {None}
        self.only = named.pop() if len(named) == 1 else None
        for each in (*self.all, *(line for one in logs for line in one.lines)):
            each.account = each.account or self.only
        # Accounts are apart: a name is a subject with its account.
        self.by_name: dict[Name, list[Message]] = defaultdict(list)
        for message in all_messages(logs):
            self.by_name[message.subject, self.account(message)].append(message)
        self.delivered: Counter[Name] = Counter()
        for each in logs:
            for line in each.lines:
                self.delivered[line.subject, line.account] += 1
        self.names = {*self.by_name, *self.delivered}
        self.patterns = list(dict.fromkeys(s.pattern for s in first))
        self.accounts: dict[str, set[str | None]] = defaultdict(set)
        for each in first:
            self.accounts[each.pattern].add(each.account)
        self.routes = [p for p in self.patterns if _is_route(p)]
        self.address = {subject: _decode(subject) for subject, _ in self.names}
        self.planes = sorted(set(planes)) or self._planes()

    def _planes(self) -> list[str]:
        found = {_plane_of(pattern) for pattern in self.patterns}
        for name in self.names:
            address = self.address[name[0]]
            accepted = any(m.refused is None for m in self.by_name.get(name, ()))
            if address is not None and (accepted or self.delivered[name]):
                found.add(address.plane)
        return sorted(plane for plane in found if plane)

    def account(self, message: Message) -> str | None:
        """Return the account of a message."""
        return message.account or self.only

    def category(self, subject: str) -> str:
        """Return ``request``, ``reply``, ``malformed`` or ``other``."""
        if subject.split(".", 1)[0] not in self.planes:
            return "other"
        address = self.address[subject]
        if address is None:
            return "malformed"
        return "request" if isinstance(address, microbus.RequestAddress) else "reply"

    def call_graph(self) -> Iterator[Row]:
        groups: dict[tuple[Any, ...], list[Name]] = defaultdict(list)
        for name in self.names:
            a = self.address[name[0]]
            if self.category(name[0]) == "request":
                key = (a.plane, a.source, a.host, a.port, a.method, self.route(*name), name[1])
                groups[key].append(name)
        names = ("plane", "source", "destination", "port", "method", "route", "account")
        for key, subjects in groups.items():
            some = [m for subject in subjects for m in self.by_name.get(subject, ())]
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

    def route(self, subject: str, account: str | None) -> str | None:
        """Return the path of the most specific route that matches."""
        own = self.patterns_of(account)
        found = [p.split(".")[7:] for p in self.routes if p in own and matches(p, subject)]
        rank = {"*": 1, ">": 2}
        best = min(found, key=lambda path: [(rank.get(t, 0), t) for t in path], default=None)
        return None if best is None else ".".join(best)

    def patterns_of(self, account: str | None) -> list[str]:
        """Return the patterns that an account may have subscribed."""
        return [p for p in self.patterns if any(may_be(a, account) for a in self.accounts[p])]

    def replies(self) -> Iterator[Row]:
        groups: dict[tuple[str, str, str, str | None], list[Name]] = defaultdict(list)
        for name in self.names:
            a = self.address[name[0]]
            if self.category(name[0]) == "reply":
                groups[a.plane, a.source, a.host, name[1]].append(name)
        for (plane, replier, caller, account), subjects in groups.items():
            some = [m for s in subjects for m in self.by_name.get(s, ()) if m.refused is None]
            delivered = sum(self.delivered[subject] for subject in subjects)
            if some or delivered:
                yield {
                    "plane": plane,
                    "replier": replier,
                    "caller": caller,
                    "published": len(some),
                    "delivered": delivered,
                    "undelivered": sum(m.state == "undelivered" for m in some),
                    "account": account,
                }

    def undelivered(self) -> Iterator[Row]:
        for (subject, account), messages in self.by_name.items():
            some = [m for m in messages if m.state == "undelivered"]
            if not some or self.category(subject) not in ("request", "reply"):
                continue
            patterns = self.patterns_of(account)
            matching = [p for p in patterns if matches(p, subject)]
            row = {"subject": subject, "account": account, **_counted(m.time for m in some)}
            if matching:
                missing = not all(self._subscribed(m, matching) for m in some)
                yield {**row, "nearest": matching[0], "differs_at": None,
                       "subscription_inactive": missing}  # fmt: skip
                continue
            best = max(patterns, key=lambda p: leading(p, subject), default=None)
            yield {**row, "nearest": best,
                   "differs_at": None if best is None else leading(best, subject),
                   "subscription_inactive": False}  # fmt: skip

    def _subscribed(self, message: Message, patterns: list[str]) -> bool:
        """Whether one of the patterns was subscribed when a message was published."""
        return any(
            s.start < message.pos and (s.end is None or message.pos < s.end)
            for s in self.all
            if s.log == message.log
            and s.pattern in patterns
            and may_be(s.account, self.account(message))
        )

    def malformed(self) -> Iterator[Row]:
        for (subject, account), accepted in self._accepted("malformed"):
            yield {
                "subject": subject,
                "account": account,
                "count": len(accepted),
                "received": sum(m.state in ("delivered", "delivered remotely") for m in accepted),
                "reason": _reason(subject),
                **_counted(m.time for m in accepted),
            }

    def other_traffic(self) -> Iterator[Row]:
        for (subject, account), accepted in self._accepted("other"):
            yield {"subject": subject, "count": len(accepted),
                   "class": microbus.classify(subject), "account": account}  # fmt: skip

    def _accepted(self, category: str) -> Iterator[tuple[Name, list[Message]]]:
        for name, messages in self.by_name.items():
            accepted = [m for m in messages if m.refused is None]
            if accepted and self.category(name[0]) == category:
                yield name, accepted

    def refused(self) -> Iterator[Row]:
        found: dict[tuple[Any, ...], list[datetime | None]] = defaultdict(list)
        for each in self.logs:
            for (account, user, name, conn), subject, kind, time in each.refusals:
                who = identity(user, name) or conn
                found[who, subject, kind, proof(account, user, name)].append(time)
        for (who, subject, kind, proven), times in found.items():
            yield {"who": who, "subject": subject, "kind": kind, **dict(proven), **_counted(times)}

    def slow_consumers(self) -> Iterator[Row]:
        found: dict[tuple[Any, ...], list[datetime | None]] = defaultdict(list)
        for each in self.logs:
            for (account, user, name, conn), time in each.slow:
                found[identity(user, name) or conn, proof(account, user, name)].append(time)
        for (who, proven), times in found.items():
            yield {"who": who, **dict(proven), **_counted(times)}

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
                   "accepted": accepted, **_span(m.time for m in some), **dict(proven),
                   "rate": _rate(some) if accepted == len(some) else None}  # fmt: skip

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
                **dict(proof(s.account, *s.identity)),
                "account": s.account,
            }

    def coverage(self) -> Iterator[Row]:
        groups: dict[tuple[Any, ...], list[Subscription]] = defaultdict(list)
        for s in self.all:
            groups[s.log, s.pattern, s.account, s.queue].append(s)
        sent: dict[tuple[int, str, str | None], list[int]] = defaultdict(list)
        for m in all_messages(self.logs):
            if not m.refused:
                sent[m.log, m.subject, self.account(m)].append(m.pos)
        for (number, pattern, account, queue), some in groups.items():
            yield {
                "server": self.servers[number],
                "pattern": pattern,
                "queue": queue,
                "account": account,
                "matched": sum(
                    any(s.start < at and (s.end is None or at < s.end) for s in some)
                    for (log, subject, theirs), positions in sent.items()
                    if log == number and may_be(theirs, account) and matches(pattern, subject)
                    for at in positions
                ),
                "delivered": sum(s.delivered for s in some),
            }

    def fan_out(self) -> Iterator[Row]:
        singles: dict[Name, set[Any]] = defaultdict(set)
        groups: dict[Name, set[str]] = defaultdict(set)
        for each in self.logs:
            for line in each.lines:
                queue = None if line.subscription is None else line.subscription.queue
                if queue is None:
                    singles[line.subject, line.account].add((each.number, line.conn, line.sid))
                else:
                    groups[line.subject, line.account].add(queue)
        for name, count in self.delivered.items():
            yield {
                "subject": name[0],
                "subscribers": len(singles[name]),
                "groups": len(groups[name]),
                "delivered": count,
                "account": name[1],
            }

    def hot_subjects(self) -> Iterator[Row]:
        rows = []
        for (subject, account), messages in self.by_name.items():
            accepted = [m for m in messages if m.refused is None]
            if accepted:
                size = sum(m.size for m in accepted)
                rows.append((-len(accepted), subject, account or "", account, size))
        total = -sum(row[0] for row in rows)
        for count, subject, _, account, size in sorted(rows, key=lambda row: row[:3])[:100]:
            yield {"subject": subject, "published": -count, "bytes": size,
                   "share": -count / total, "account": account}  # fmt: skip

    def cross_plane(self) -> Iterator[Row]:
        found: dict[Name, dict[str, list[Message]]] = defaultdict(lambda: defaultdict(list))
        for message in all_messages(self.logs):
            a, who = self.address[message.subject], host_of(message.user, message.name)
            if a is not None and who is not None and message.refused is None:
                found[who, self.account(message)][a.plane].append(message)
        for (who, account), planes in found.items():
            home = min(planes, key=lambda plane: (-len(planes[plane]), plane))
            for plane in planes.keys() - {home}:
                programs: dict[tuple[Any, ...], list[Message]] = defaultdict(list)
                for message in planes[plane]:
                    programs[proof(account, message.user, message.name)].append(message)
                for proven, some in programs.items():
                    yield {"identity": who, "plane": plane, "home_plane": home,
                           **dict(proven), "account": account, "count": len(some),
                           **_span(m.time for m in some), "rate": _rate(some)}  # fmt: skip

    def unparseable(self) -> Iterator[Row]:
        for each in self.logs:
            for row in each.unparseable:
                yield {"server": self.servers[row["log"]], "offset": row["offset"],
                       "reason": row["reason"], "text": row["text"]}  # fmt: skip


def may_be(one: str | None, other: str | None) -> bool:
    """Return whether two accounts can be equal: one that is not told can be any."""
    return None in (one, other) or one == other


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


def _counted(times: Iterable[datetime | None]) -> Row:
    """Return how many there are, the first and the last, and the rate of those that are known."""
    every = list(times)
    known = ((time - _EPOCH) // timedelta(microseconds=1) for time in every if time is not None)
    return {"count": len(every), **_span(every), "rate": rate(known)}


def _rate(messages: Iterable[Message]) -> Row | None:
    """Return the rate of the messages whose time is known."""
    found: Row | None = _counted(message.time for message in messages)["rate"]
    return found


def _iso(time: datetime | None) -> str | None:
    return None if time is None else f"{time:%Y-%m-%dT%H:%M:%S.%f}Z"
