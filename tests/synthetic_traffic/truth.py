"""The right answer to every table of the audit, recorded while the traffic is made.

The tables follow from what the simulated broker decided, not from the log. Nearest patterns and
routes are found by comparing tokens, without an index (``_patterns``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING, Any

from rate_of_times import rate

from .patterns import SubscribedPatterns
from .trace_log import iso

if TYPE_CHECKING:
    from .connections import Connection, Proof, Subscription
    from .trace_log import Written

_HOT = 100  # rows of the table of hot subjects


@dataclass(frozen=True, eq=False)
class Subject:
    """A subject, and what it means."""

    text: str
    tokens: tuple[str, ...]
    category: str  # request, reply, malformed or other
    plane: str | None = None
    source: str | None = None
    destination: str | None = None
    port: int | None = None
    method: str | None = None
    reason: str | None = None  # of a malformed subject, or the class of another


@dataclass(eq=False)
class Counts:
    """The counts of a subject."""

    subject: Subject
    published: int = 0
    refused: int = 0
    delivered: int = 0  # lines
    delivered_publishes: int = 0
    undelivered: int = 0
    forwarded: int = 0
    size: int = 0
    span: list[int] = field(default_factory=list)  # first and last publish
    accepted: list[int] = field(default_factory=list)  # the times of the accepted ones
    lost: list[int] = field(default_factory=list)  # the times of the undelivered ones
    offsets: list[int] = field(default_factory=list)  # of the accepted ones
    publishers: set[int] = field(default_factory=set)
    subscribers: set[tuple[int, str]] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)


class Truth:
    """The answers so far."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.server = ""
        self.subscriptions: list[Subscription] = []
        self.ambiguous = 0
        self.unmatched = 0
        self.unparseable: list[dict[str, Any]] = []
        self.answers: Any = None  # an ``AnswerTruth``, which imports this module
        self._subjects: dict[str, Subject] = {}
        self._counts: dict[str, Counts] = {}
        self._refused: dict[tuple[str, str, str, Proof], list[int]] = defaultdict(list)
        self._slow: dict[tuple[str, Proof], list[int]] = defaultdict(list)
        # messages, accepted ones, first and last time
        #: How many were accepted, and the times of all.
        self._spoofed: dict[tuple[str, str, str, Proof], tuple[list[bool], list[int]]] = (
            defaultdict(lambda: ([], []))
        )
        self._planes: dict[str, dict[str, dict[Proof, list[int]]]] = defaultdict(
            lambda: defaultdict(lambda: defaultdict(list))
        )
        self._lines: Counter[tuple[str, str | None]] = Counter()  # delivered, by pattern and queue

    # Subjects

    def request(
        self,
        plane: str,
        port: int,
        source: str,
        destination: str,
        slot: str,
        method: str,
        path: Iterable[str],
    ) -> Subject:
        """Return the subject of a request."""
        trust = "danger" if port == 666 else "safe"
        head = (plane, trust, str(port), source.replace(".", "_"), destination.replace(".", "_"))
        return self._subject(
            (*head, slot, method, *path), "request", plane, source, destination, port, method
        )

    def reply(self, plane: str, source: str, destination: str, instance: str) -> Subject:
        """Return the subject of a reply."""
        tokens = (plane, "reply", "_", source.replace(".", "_"), destination.replace(".", "_"))
        return self._subject((*tokens, instance), "reply", plane, source, destination)

    def malformed(self, text: str, reason: str) -> Subject:
        """Return a subject that begins with a plane and is not canonical."""
        return self._subject(tuple(text.split(".")), "malformed", reason=reason)

    def other(self, text: str, family: str) -> Subject:
        """Return a subject outside the planes."""
        return self._subject(tuple(text.split(".")), "other", reason=family)

    def _subject(self, tokens: tuple[str, ...], *about: Any, **named: Any) -> Subject:
        text = ".".join(tokens)
        found = self._subjects.get(text)
        if found is None:
            found = self._subjects[text] = Subject(text, tokens, *about, **named)
        return found

    # What happens

    def publish(
        self,
        conn: Connection,
        subject: Subject,
        size: int,
        written: Written,
        *,
        refused: bool = False,
        delivered: bool = False,
        forwarded: bool = False,
    ) -> None:
        """Note a publish."""
        counts = self._of(subject)
        if self.answers is not None:
            self.answers.publish(
                conn, subject, size, written.time, not refused,
                delivered=delivered, forwarded=forwarded,
            )  # fmt: skip
        _extend(counts.span, written.time)
        counts.publishers.add(conn.cid)
        if subject.source is not None and conn.host is not None and subject.source != conn.host:
            key = conn.host, subject.source, subject.text, conn.proof
            self._spoofed[key][0].append(not refused)
            self._spoofed[key][1].append(written.time)
        if refused:
            counts.refused += 1
            return
        counts.published += 1
        counts.offsets.append(written.offset)
        counts.accepted.append(written.time)
        counts.size += size
        counts.delivered_publishes += delivered
        if not delivered:
            counts.forwarded += forwarded
            counts.undelivered += not forwarded
            if not forwarded:
                counts.lost.append(written.time)
        if subject.plane is not None and conn.host is not None:
            self._planes[conn.host][subject.plane][conn.proof].append(written.time)

    def deliver(self, found: Subscription, subject: Subject, *, unmatched: bool = False) -> None:
        """Note a delivery line."""
        counts = self._of(subject)
        if self.answers is not None:
            self.answers.deliver(found, subject)
        counts.delivered += 1
        self.unmatched += unmatched
        self._lines[found.pattern, found.queue] += 1
        if found.queue is None:
            counts.subscribers.add((found.conn.cid, found.sid))
        else:
            counts.groups.add(found.queue)

    def refuse(
        self, conn: Connection, subject: str, kind: str, at: int, queue: str | None = None
    ) -> None:
        """Note a publish or subscription that the broker refused."""
        who = conn.user or conn.name
        assert who is not None
        self._refused[who, subject, kind, conn.proof].append(at)
        if self.answers is not None and kind == "subscribe":
            self.answers.refuse_subscription(conn, subject, queue, at)

    def slow(self, conn: Connection, at: int) -> None:
        """Note a connection that the broker closed because it reads too slowly."""
        who = conn.host or conn.user or conn.name or f"{self.pid}/client:{conn.cid}"
        self._slow[who, conn.proof].append(at)

    def quarantine(self, offset: int, line: bytes, reason: str) -> str:
        """Note a line that cannot be parsed, and return its text."""
        text = line[:512].decode("utf-8", "backslashreplace")
        self.unparseable.append({"server": "", "offset": offset, "reason": reason, "text": text})
        return text

    def _of(self, subject: Subject) -> Counts:
        found = self._counts.get(subject.text)
        if found is None:
            found = self._counts[subject.text] = Counts(subject)
        return found

    def routes(self) -> dict[str, str | None]:
        """Return the subscribed route of each request."""
        patterns = SubscribedPatterns(self.subscriptions)
        return {
            text: patterns.route(each.subject.tokens)
            for text, each in self._counts.items()
            if each.subject.category == "request"
        }

    def forwarded(self) -> int:
        """Return how many publishes reached no client of this broker, but another broker."""
        return sum(each.forwarded for each in self._counts.values())

    # The tables

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return every table, each sorted by all its columns."""
        patterns = SubscribedPatterns(self.subscriptions)
        made = {
            "call_graph": self._call_graph(patterns),
            "replies": self._replies(),
            "undelivered": self._undelivered(patterns),
            "malformed": self._malformed(),
            "other_traffic": self._other(),
            "refused": (
                {"who": who, "subject": subject, "kind": kind} | dict(proven) | _counted(times)
                for (who, subject, kind, proven), times in self._refused.items()
            ),
            "slow_consumers": (
                {"who": who} | dict(proven) | _counted(times)
                for (who, proven), times in self._slow.items()
            ),
            "spoofed": (
                {"who": w, "claimed": c, "subject": s, "accepted": sum(accepted)}
                | _counted(times)
                | ({} if all(accepted) else {"rate": None})
                | dict(proven)
                for (w, c, s, proven), (accepted, times) in self._spoofed.items()
            ),
            "subscriptions": self._subscriptions(),
            "coverage": self._coverage(patterns),
            "fan_out": self._fan_out(),
            "hot_subjects": self._hot(),
            "cross_plane": self._cross_plane(),
            "unparseable": ({**row, "server": self.server} for row in self.unparseable),
        }
        for name, rows in made.items():
            # A client without a user is in the account of the others.
            proven = name in ("refused", "slow_consumers", "spoofed", "unparseable")
            made[name] = rows if proven else ({**row, "account": self.account} for row in rows)
        return {name: sorted(rows, key=_order) for name, rows in made.items()}

    @property
    def account(self) -> str | None:
        """The account of the subscribers, if the broker names it."""
        return "$G" if any(each.conn.user for each in self.subscriptions) else None

    def _call_graph(self, patterns: SubscribedPatterns) -> Iterator[dict[str, Any]]:
        groups: dict[tuple[Any, ...], list[Counts]] = defaultdict(list)
        for each in self._counts.values():
            s = each.subject
            if s.category == "request":
                route = patterns.route(s.tokens)
                groups[s.plane, s.source, s.destination, s.port, s.method, route].append(each)
        for key, rows in groups.items():
            names = ("plane", "source", "destination", "port", "method", "route")
            yield {
                **dict(zip(names, key, strict=True)),
                **_sums(rows, "published", "refused", "delivered", "undelivered", "forwarded"),
                "bytes": sum(each.size for each in rows),
                **_span(each.span for each in rows),
                "instances": len(set().union(*(each.publishers for each in rows))),
            }

    def _replies(self) -> Iterator[dict[str, Any]]:
        groups: dict[tuple[Any, ...], list[Counts]] = defaultdict(list)
        for each in self._counts.values():
            s = each.subject
            if s.category == "reply" and (each.published or each.delivered):
                groups[s.plane, s.source, s.destination].append(each)
        for (plane, replier, caller), rows in groups.items():
            yield {
                "plane": plane,
                "replier": replier,
                "caller": caller,
                **_sums(rows, "published", "delivered", "undelivered"),
            }

    def _undelivered(self, patterns: SubscribedPatterns) -> Iterator[dict[str, Any]]:
        for each in self._counts.values():
            if each.undelivered and each.subject.category in ("request", "reply"):
                nearest, differs_at = patterns.nearest(each.subject.tokens)
                yield {
                    "subject": each.subject.text,
                    "nearest": nearest,
                    "differs_at": differs_at,
                    "subscription_inactive": nearest is not None and differs_at is None,
                    **_counted(each.lost),
                }

    def _malformed(self) -> Iterator[dict[str, Any]]:
        for each in self._counts.values():
            if each.published and each.subject.category == "malformed":
                yield {
                    "subject": each.subject.text,
                    "received": each.delivered_publishes,
                    "reason": each.subject.reason,
                    **_counted(each.accepted),
                }

    def _other(self) -> Iterator[dict[str, Any]]:
        for each in self._counts.values():
            if each.published and each.subject.category == "other":
                yield {
                    "subject": each.subject.text,
                    "count": each.published,
                    "class": each.subject.reason,
                }

    def _subscriptions(self) -> Iterator[dict[str, Any]]:
        for each in self.subscriptions:
            yield {
                "server": self.server,
                "conn": f"{self.pid}/client:{each.conn.cid}",
                "sid": each.sid,
                "start": iso(each.start.time),
                "end": None if each.end is None else iso(each.end),
                "identity": each.conn.host or each.conn.user or each.conn.name,
                "pattern": each.pattern,
                "queue": each.queue,
                **dict(each.conn.proof),
            }

    def _coverage(self, patterns: SubscribedPatterns) -> Iterator[dict[str, Any]]:
        lives: dict[tuple[str, str | None], list[tuple[int, int | None]]] = defaultdict(list)
        for each in self.subscriptions:
            lives[each.pattern, each.queue].append((each.start.offset, each.ended))
        sent: dict[str, list[int]] = defaultdict(list)
        for counts in self._counts.values():
            if counts.published:
                for pattern in patterns.matching(counts.subject.tokens):
                    sent[pattern] += counts.offsets
        for (pattern, queue), some in lives.items():
            some.sort(key=lambda life: life[0])
            starts = [start for start, _ in some]
            ends = [*accumulate((inf if end is None else end for _, end in some), max)]
            places = ((at, bisect_left(starts, at)) for at in sent[pattern])
            matched = sum(bool(before) and at < ends[before - 1] for at, before in places)
            yield {
                "server": self.server,
                "pattern": pattern,
                "queue": queue,
                "matched": matched,
                "delivered": self._lines[pattern, queue],
            }

    def _fan_out(self) -> Iterator[dict[str, Any]]:
        for each in self._counts.values():
            if each.delivered:
                yield {
                    "subject": each.subject.text,
                    "subscribers": len(each.subscribers),
                    "groups": len(each.groups),
                    "delivered": each.delivered,
                }

    def _hot(self) -> Iterator[dict[str, Any]]:
        total = sum(each.published for each in self._counts.values())
        rows = [each for each in self._counts.values() if each.published]
        for each in sorted(rows, key=lambda c: (-c.published, c.subject.text))[:_HOT]:
            yield {
                "subject": each.subject.text,
                "published": each.published,
                "bytes": each.size,
                "share": each.published / total,
            }

    def _cross_plane(self) -> Iterator[dict[str, Any]]:
        for identity, planes in self._planes.items():
            counts = {plane: sum(map(len, some.values())) for plane, some in planes.items()}
            home = min(planes, key=lambda plane: (-counts[plane], plane))
            for plane in planes.keys() - {home}:
                for proof, times in planes[plane].items():
                    yield {
                        "identity": identity,
                        "plane": plane,
                        "home_plane": home,
                        **_counted(times),
                        **dict(proof),
                    }


def _sums(rows: Iterable[Counts], *names: str) -> dict[str, int]:
    """Return the sums of some counts."""
    return {name: sum(getattr(each, name) for each in rows) for name in names}


def _extend(span: list[int], at: int) -> None:
    """Extend a span of times, empty at first."""
    span[:] = [min([*span[:1], at]), max([*span[1:], at])]


def _span(spans: Iterable[list[int]]) -> dict[str, str | None]:
    """Return the first and last time of some spans."""
    some = [span for span in spans if span]
    return {
        "first": iso(min(span[0] for span in some)) if some else None,
        "last": iso(max(span[1] for span in some)) if some else None,
    }


def _counted(times: list[int]) -> dict[str, Any]:
    """Return how many times there are, the first and the last, and their rate."""
    return {"count": len(times), **_span([[min(times), max(times)]]), "rate": rate(times)}


def _order(row: dict[str, Any]) -> list[tuple[bool, Any]]:
    """Return a sort key of a row, in which null comes first."""
    return [(value is not None, value) for value in row.values()]
