"""The right answers about rules, code and flows, recorded while the traffic is made.

They follow from the world and from what the simulated broker decided. Patterns are compared token
by token, one after the other, and sums are made row by row, as a reader would do it by hand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rate_of_times import rate

from .patterns import Tokens, covers, matches
from .trace_log import iso

if TYPE_CHECKING:
    from .connections import Connection, Subscription
    from .truth import Subject, Truth
    from .world import Service, World

_DAY = 86_400_000_000
_MINUTE = 60_000_000
_OWNER_OF = {"$JS": "JetStream", "$SYS": "server", "$SRV": "services"}


@dataclass
class Sent:
    """The messages of a sender to a subject."""

    subject: Subject
    host: str | None
    accepted: int = 0
    refused: int = 0
    taken: int = 0
    undelivered: int = 0
    size: int = 0
    days: set[int] = field(default_factory=set)
    times: list[int] = field(default_factory=list)  # accepted: first and last
    last: int = 0
    forwarded: int = 0
    all_times: list[int] = field(default_factory=list)  # of the accepted ones
    lost: list[int] = field(default_factory=list)  # the times of the undelivered ones


class AnswerTruth:
    """The record of messages and deliveries, by sender and subject."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.sent: dict[tuple[str, str], Sent] = {}
        self.heard: dict[tuple[str, str, str, str | None], int] = defaultdict(int)
        self.refused: list[tuple[str, str, str | None, int]] = []
        #: User and client of each; in these worlds a name is that of one program.
        self.program: dict[str, tuple[str | None, str | None]] = {}
        #: The columns that say whose a connection is.
        self.proof: dict[str, dict[str, str | None]] = {}

    def publish(
        self, conn: Connection, subject: Subject, size: int, at: int, accepted: bool, *,
        delivered: bool, forwarded: bool,
    ) -> None:  # fmt: skip
        """Note a publish."""
        key = (self._who(conn), subject.text)
        row = self.sent.setdefault(key, Sent(subject, conn.host))
        row.accepted += accepted
        row.refused += not accepted
        row.days.add(at // _DAY)
        row.last = max(row.last, at)
        if accepted:
            row.taken += delivered
            row.undelivered += not delivered and not forwarded
            row.forwarded += forwarded and not delivered
            if not delivered and not forwarded:
                row.lost.append(at)
            row.size += size
            row.times[:] = [min([at, *row.times]), max([at, *row.times])]
            row.all_times.append(at)

    def deliver(self, found: Subscription, subject: Subject) -> None:
        """Note a delivery line."""
        self.heard[subject.text, found.pattern, self._who(found.conn), found.queue] += 1

    def refuse_subscription(
        self, conn: Connection, pattern: str, queue: str | None, at: int
    ) -> None:
        """Note a subscription that the broker refused."""
        self.refused.append((self._who(conn), pattern, queue, at))

    def _who(self, conn: Connection) -> str:
        who = conn.host or conn.user or conn.name or f"{self.truth.pid}/client:{conn.cid}"
        assert self.program.setdefault(who, (conn.user, conn.name)) == (conn.user, conn.name)
        self.proof[who] = {**dict(conn.proof), "account": self.truth.account}
        return who

    # The tables

    def tables(self, world: World, routes: dict[str, str | None]) -> dict[str, list[Any]]:
        """Return the rows of the tables.

        Args:
            world: The world.
            routes: The subscribed route of each request.
        """
        ruled = {each.host: each for each in world.services if each.ruled}
        account = {"account": self.truth.account}
        none = dict.fromkeys(("account", "user", "client", "identity_source"))
        return {
            "permission_usage": [
                {**row, **(self.proof[row["service"]] if row["days"] else none)}
                for row in self._usage(ruled)
            ],
            "violations": [
                {**row, **self.proof[row["who"]]} for row in self._violations(ruled, routes)
            ],
            "gap": list(self._gap(world, ruled, routes)),
            "flows": [{**row, **account} for row in self._flows(routes)],
        }

    def _usage(self, ruled: dict[str, Service]) -> Iterator[dict[str, Any]]:
        asked: dict[str, list[tuple[str, str, str | None, int, int, set[int], int]]] = {
            "publish": [
                (who, text, None, row.accepted, row.refused, row.days, row.last)
                for (who, text), row in self.sent.items()
            ],
            "subscribe": [
                (self._who(s.conn), s.pattern, s.queue, 1, 0, {s.start.time // _DAY}, s.start.time)
                for s in self.truth.subscriptions
            ]
            + [(who, text, q, 0, 1, {at // _DAY}, at) for who, text, q, at in self.refused],
        }
        for service in ruled.values():
            for verb, rows in asked.items():
                entries = _entries(service, verb)
                own = [row for row in rows if row[0] == service.host]
                for effect, rule in [*entries, ("none", None)]:
                    used = [row for row in own if _applies(rule, row[1], entries, verb)]
                    if rule is None and not used:
                        continue
                    first = [r for r in used if rule == _first(r[1], entries, verb)]
                    yield {
                        "service": service.host, "verb": verb, "effect": effect, "rule": rule,
                        "accepted": sum(row[3] for row in used),
                        "refused": sum(row[4] for row in used),
                        "decided": sum(row[3] + row[4] for row in first) if rule else 0,
                        "days": len(set().union(*(row[5] for row in used))),
                        "last": iso(max(row[6] for row in used)) if used else None,
                    }  # fmt: skip

    def _violations(
        self, ruled: dict[str, Service], routes: dict[str, str | None]
    ) -> Iterator[dict[str, Any]]:
        found: dict[tuple[str, str, str], list[tuple[int, list[int], str, str | None]]] = (
            defaultdict(list)
        )
        planes: dict[str, dict[str, list[tuple[int, list[int], str, str | None]]]] = {}
        for (who, text), row in self.sent.items():
            if not row.accepted:
                continue
            folded = _folded(row.subject, routes)
            item = (row.accepted, sorted(row.all_times), text)
            if who in ruled:
                entries = _entries(ruled[who], "publish")
                rule = _first(text, entries, "publish")
                if rule is None or ("deny", rule) in entries:
                    found["forbidden", who, folded].append((*item, rule or _nearest(text, entries)))
            source = row.subject.source
            if source is not None and row.host is not None and source != row.host:
                found["spoofed", who, folded].append((*item, None))
            if row.subject.plane is not None and row.host is not None:
                by_plane = planes.setdefault(who, {})
                by_plane.setdefault(row.subject.plane, []).append((*item, None))
        for who, by_plane in planes.items():
            home = min(by_plane, key=lambda p: (-sum(i[0] for i in by_plane[p]), p))
            for plane, items in by_plane.items():
                if plane != home:
                    found["cross_plane", who, f"{plane}.>"] = items
        for each in self.truth.subscriptions:
            who = self._who(each.conn)
            if who not in ruled:
                continue
            if _first(each.pattern, _entries(ruled[who], "subscribe"), "subscribe") is None:
                shown = each.pattern if each.queue is None else f"{each.pattern} {each.queue}"
                key = ("forbidden_subscription", who, _fold_pattern(each.pattern))
                found[key].append((1, [each.start.time], shown, None))
        for (kind, who, subject), items in found.items():
            witness = min(items, key=lambda item: item[2])
            yield {
                "kind": kind, "who": who, "subject": subject, "rule": witness[3],
                "count": sum(item[0] for item in items),
                "first": iso(min(item[1][0] for item in items)),
                "last": iso(max(item[1][-1] for item in items)),
                "rate": rate(time for item in items for time in item[1]),
                "witness": witness[2],
            }  # fmt: skip

    def _gap(
        self, world: World, ruled: dict[str, Service], routes: dict[str, str | None]
    ) -> Iterator[dict[str, Any]]:
        rows: dict[tuple[Any, ...], dict[str, Any]] = {}

        def row_of(key: tuple[Any, ...]) -> dict[str, Any]:
            return rows.setdefault(key, {"code": set(), "rule": None, "deny": None, "traffic": 0,
                                          "refused": 0})  # fmt: skip

        calls: list[tuple[str, Tokens, tuple[Any, ...]]] = []
        used: set[tuple[str, str]] = set()
        for edge in world.edges:
            if not edge.code:
                continue
            route, source = edge.route, edge.source.host
            method = "GET" if route.method == "ANY" else route.method
            # The code names a single token in place of the rest.
            path = tuple("*" if token == ">" else token for token in route.path)
            port = route.port or 443
            key = (source, edge.destination.host, port, method, ".".join(path))
            tokens = ("*", "danger" if port == 666 else "safe", str(port),
                      source.replace(".", "_"), edge.destination.host.replace(".", "_"), "*",
                      method, *path)  # fmt: skip
            row = row_of(key)
            row["code"].add(f"{edge.destination.host} {route.method} {route.port}")
            calls.append((source, tokens, key))
            if source in ruled:
                row["deny"] = row["deny"] or self._denying(ruled[source], tokens)
            rule = self._covering(ruled.get(source), tokens)
            if rule is not None:
                row["rule"] = rule
                used.add((source, rule))
        calls.sort(key=lambda call: [({"*": 1}.get(token, 0), token) for token in call[1]])
        for (who, text), sent in self.sent.items():
            subject = sent.subject
            if subject.category != "request" or subject.port == 888:
                continue
            if sent.host is not None and sent.host != subject.source:
                continue
            service = subject.source
            assert service is not None
            made = next(
                (key for name, tokens, key in calls
                 if name == service and matches(tokens, subject.tokens)), None,
            )  # fmt: skip
            row = row_of(
                made
                or (service, subject.destination, subject.port, subject.method, routes.get(text))
            )
            row["traffic"] += sent.accepted
            row["refused"] += sent.refused
            if who in ruled:
                rule = _first(text, entries := _entries(ruled[who], "publish"), "publish")
                if rule is not None and ("allow", rule) in entries:
                    row["rule"] = row["rule"] or rule
                    used.add((who, rule))
                elif rule is not None:
                    row["deny"] = row["deny"] or rule
        for host, each in ruled.items():
            for rule in each.publish_allow:
                tokens = tuple(rule.split("."))
                if (host, rule) in used or tokens[1] == "reply" or tokens[2] == "888":
                    continue
                number = int(tokens[2]) if tokens[2].isdigit() else None
                place = tokens[4].replace("_", ".")
                row = row_of((host, place, number, tokens[6], ".".join(tokens[7:])))
                row["rule"] = row["rule"] or rule
        scanned = {each.host for each in world.services}
        for (name, destination, port, method, path), row in rows.items():
            has_code, seen = bool(row["code"]), row["traffic"] > 0
            if row["refused"] and not seen:
                finding = "refused"
            elif row["deny"] is not None:
                finding = "denied"
            elif seen and not has_code and name in scanned:
                finding = "not in code"
            elif name in ruled and row["rule"] is None:
                finding = "no rule"
            elif has_code:
                finding = "ok" if seen else "never called"
            else:
                finding = "ok" if seen else "rule only"
            yield {
                "service": name, "destination": destination, "port": port, "method": method,
                "path": path, "code": has_code, "rule": row["deny"] or row["rule"],
                "traffic": row["traffic"], "refused": row["refused"], "finding": finding,
            }  # fmt: skip

    def _denying(self, service: Service, tokens: Tokens) -> str | None:
        """Return the first rule that denies a call of the code on the plane of the service."""
        asked = (service.plane, *tokens[1:5], "_", *tokens[6:])
        denies = service.publish_deny
        return next((rule for rule in denies if matches(tuple(rule.split(".")), asked)), None)

    def _covering(self, service: Service | None, tokens: Tokens) -> str | None:
        """Return the first rule that covers a call of the code to no instance in particular."""
        if service is None:
            return None
        asked = ("_", *tokens[1:5], "_", *tokens[6:])
        for rule in service.publish_allow:
            if matches(("*", *rule.split(".")[1:]), asked):
                return rule
        return None

    def _programs(self, publisher: str, subscriber: str | None) -> dict[str, str | None]:
        names = ("user", "client", "subscriber_user", "subscriber_client")
        none = (None, None)
        both = (*self.program[publisher], *self.program.get(subscriber or "", none))
        return dict(zip(names, both, strict=True))

    def _flows(self, routes: dict[str, str | None]) -> Iterator[dict[str, Any]]:
        publishers: dict[str, list[tuple[str, Sent]]] = defaultdict(list)
        for (who, text), row in self.sent.items():
            if row.accepted:
                publishers[text].append((who, row))
        hearers: dict[str, list[tuple[str, str, str | None, int]]] = defaultdict(list)
        for (text, pattern, subscriber, queue), lines in self.heard.items():
            hearers[text].append((pattern, subscriber, queue, lines))
        #: delivered, published, undelivered, bytes, first and last
        found: dict[tuple[str, str, str | None, str | None], list[tuple[int, ...]]] = defaultdict(
            list
        )
        lost_at: dict[Any, list[int]] = defaultdict(list)
        for text, rows in publishers.items():
            taken = sum(row.taken for _, row in rows)
            owner = _owner(text)
            for heard_on, subscriber, queue, lines in hearers[text]:
                shares = {who: divmod(lines * row.taken, taken) for who, row in rows if row.taken}
                left = lines - sum(whole for whole, _ in shares.values())
                ordered = sorted(shares, key=lambda who: (-shares[who][1], who))
                for who, row in rows:
                    if row.taken:
                        more = who in ordered[:left]
                        whole = shares[who][0] + more
                        key = (who, _fold_pattern(heard_on), subscriber, queue)
                        lost = 0 if owner else row.undelivered
                        size = row.size - row.size * lost // row.accepted
                        found[key].append((whole, row.accepted - lost, 0, size, *row.times))
            for who, row in rows:
                key = (who, _fold_pattern(text), None, None)
                lost = row.undelivered
                if owner is not None and not (owner == "services" and row.taken):
                    key = (who, _fold_pattern(text), owner, None)
                    found[key].append((row.accepted, row.accepted, 0, row.size, *row.times))
                elif not row.taken and not row.forwarded:
                    found[key].append((0, row.accepted, lost, row.size, *row.times))
                    lost_at[key] += row.lost
                elif owner is None:
                    size = row.size * lost // row.accepted
                    if lost:
                        times = min(row.lost), max(row.lost)
                        found[key].append((0, lost, lost, size, *times))
                        lost_at[key] += row.lost
                    if not row.taken:
                        key = (who, _fold_pattern(text), "other servers", None)
                        count = row.accepted - lost
                        found[key].append((count, count, 0, row.size - size, *row.times))
        for (publisher, folded, hearer, group), items in found.items():
            delivered, published, undelivered, size, first, last = zip(*items, strict=True)
            yield {
                "publisher": publisher, "pattern": folded, "subscriber": hearer, "queue": group,
                **self._programs(publisher, hearer),
                "published": sum(published), "delivered": sum(delivered),
                "undelivered": sum(undelivered), "bytes": sum(size),
                "first": iso(min(first)), "last": iso(max(last)),
                "rate": rate(lost_at[publisher, folded, hearer, group]),
                "per_minute": _per_minute(sum(published), max(last) - min(first)),
            }  # fmt: skip


def _owner(text: str) -> str | None:
    """Return who receives a subject of the server, of JetStream or of a bucket of keys."""
    first, *others = text.split(".")
    return f"stream KV_{others[0]}" if first == "$KV" else _OWNER_OF.get(first)


def _per_minute(count: int, span: int) -> float:
    """Return messages a minute in tenths, of at least a minute."""
    minutes = Fraction(max(span, _MINUTE), _MINUTE)
    return int(count / minutes * 10 + Fraction(1, 2)) / 10


def _entries(service: Service, verb: str) -> list[tuple[str, str]]:
    """Return the rules of a service, those that refuse first."""
    if verb == "subscribe":
        return [("allow", rule) for rule in service.subscribe_allow]
    return [
        *(("deny", rule) for rule in service.publish_deny),
        *(("allow", rule) for rule in service.publish_allow),
    ]


def _applies(rule: str | None, text: str, entries: list[tuple[str, str]], verb: str) -> bool:
    if rule is None:
        return _first(text, entries, verb) is None
    pattern, tokens = tuple(rule.split(".")), tuple(text.split("."))
    return covers(pattern, tokens) if verb == "subscribe" else matches(pattern, tokens)


def _first(text: str, entries: list[tuple[str, str]], verb: str) -> str | None:
    return next((rule for _, rule in entries if _applies(rule, text, entries, verb)), None)


def _nearest(text: str, entries: list[tuple[str, str]]) -> str | None:
    best: str | None = None
    most = -1
    words = text.split(".")
    for effect, rule in entries:
        equal = 0
        for ours, theirs in zip(rule.split("."), words, strict=False):
            if ours not in ("*", theirs):
                break
            equal += 1
        if effect == "allow" and equal > most:
            best, most = rule, equal
    return best


def _folded(subject: Subject, routes: dict[str, str | None]) -> str:
    route = routes.get(subject.text)
    text = subject.text if route is None else ".".join([*subject.tokens[:7], route])
    return _fold_pattern(text)


def _fold_pattern(text: str) -> str:
    """Fold the variable tokens that occur in this world."""
    tokens = text.split(".")
    if len(tokens) > 7 and tokens[1] in ("safe", "danger"):
        tokens[5] = "*" if tokens[5].startswith("id-") else tokens[5]
        tokens[7:] = ["*" if token.isdigit() else token for token in tokens[7:]]
    elif len(tokens) == 6 and tokens[1] == "reply":
        tokens[-1] = "*"
    elif tokens[0] == "_INBOX":
        tokens[1:] = ["*" for _ in tokens[1:]]
    else:
        tokens = ["*" if token.isdigit() else token for token in tokens]
    return ".".join(tokens)


def rows_sorted(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows sorted by all columns; null is first."""
    return sorted(rows, key=lambda row: [(value is not None, value) for value in row.values()])
