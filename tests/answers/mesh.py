"""A second generator of worlds: a log, rules and code, and a list of all that happened.

It shares nothing with ``tests/synthetic_traffic``: the broker is a list of subscriptions that is
scanned for each message, messages never overlap, and nothing is summed up while the log is written.
What the tables must say is found afterwards, message by message, by the test.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

HOSTS = [f"node{number}.mesh" for number in range(6)]
PATHS = ("status", "jobs.*", "blobs.>", "jobs.*.log", "rates.*.daily")
START = datetime(2026, 3, 1, 22, tzinfo=UTC)


class Route(NamedTuple):
    """An endpoint of a service."""

    host: str
    port: int
    method: str
    path: str

    def pattern(self, source: str, plane: str = "mesh") -> str:
        """Return the pattern of its subjects from a source."""
        trust = "danger" if self.port == 666 else "safe"
        ends = f"{source}.{flat(self.host)}._"
        return f"{plane}.{trust}.{self.port}.{ends}.{self.method}.{self.path}"


class Message(NamedTuple):
    """A message that a client published."""

    who: str
    subject: str
    at: datetime
    accepted: bool


@dataclass
class Subscribed:
    """A subscription, accepted or not."""

    who: str
    pattern: str
    queue: str | None
    cid: int
    sid: int
    start: datetime
    accepted: bool
    end: datetime | None = None


@dataclass
class Rules:
    """The rules of a service, and whether the broker enforces them."""

    allow: list[str]
    deny: list[str]
    subscribe: list[str]
    enforced: bool


def flat(host: str) -> str:
    return host.replace(".", "_")


def fits(pattern: str, subject: str) -> bool:
    """Return whether a pattern matches a subject, or covers a pattern."""
    ours, theirs = pattern.split("."), subject.split(".")
    for number, token in enumerate(ours):
        if token == ">":
            return len(theirs) > number
        if number >= len(theirs) or theirs[number] == ">":
            return False
        if token not in ("*", theirs[number]):
            return False
    return len(ours) == len(theirs)


def may(rules: Rules, subject: str) -> bool:
    """Return whether the rules allow a publish."""
    return any(fits(rule, subject) for rule in rules.allow) and not any(
        fits(rule, subject) for rule in rules.deny
    )


@dataclass
class Mesh:
    """A world; ``write`` makes its files."""

    seed: int
    steps: int = 260
    routes: list[Route] = field(default_factory=list)
    calls: dict[str, list[Route]] = field(default_factory=dict)
    rules: dict[str, Rules] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    subscriptions: list[Subscribed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)
        self._lines = ["[9] 2026/03/01 21:59:59.000001 [INF] Server is ready"]
        self._now = START
        self._clients: dict[int, str] = {}
        self._next = 20
        self._settle()
        for host in HOSTS:
            self._open(host)
        for step in range(self.steps):
            self._step(step)

    def _settle(self) -> None:
        """Choose routes, what calls what, and the rules."""
        dice = self._dice
        for host in HOSTS:
            for path in dice.sample(PATHS, 3):
                port = 666 if dice.random() < 0.2 else 443
                self.routes.append(Route(host, port, dice.choice(["GET", "PUT"]), path))
        for host in HOSTS:
            others = [route for route in self.routes if route.host != host]
            self.calls[host] = dice.sample(others, 4)
            if host == HOSTS[-1]:
                continue  # no rules are known
            own = flat(host)
            allow = [route.pattern(own).replace("._.", ".*.") for route in self.calls[host][:3]]
            allow.append(dice.choice(others).pattern(own).replace("._.", ".*."))
            if dice.random() < 0.5:
                wide = dice.choice(self.calls[host])
                trust = "danger" if wide.port == 666 else "safe"
                allow.append(f"mesh.{trust}.{wide.port}.{own}.{flat(wide.host)}.>")
            deny = [self.calls[host][0].pattern(own)] if dice.random() < 0.5 else []
            subscribe = [f"mesh.*.*.*.{own}.>", f"mesh.reply._.*.{own}.*"]
            enforced = HOSTS.index(host) % 2 == 1
            rules = Rules(list(dict.fromkeys(allow)), deny, subscribe, enforced)
            self.rules[host] = rules

    def _say(self, level: str, cid: int, text: str) -> None:
        stamp = f"{self._now:%Y/%m/%d %H:%M:%S.%f}"
        front = f'127.0.0.1:{3000 + cid} - cid:{cid} - "v1:go:{self._clients[cid]}"'
        self._lines.append(f"[9] {stamp} [{level}] {front} - {text}")

    def _open(self, host: str) -> None:
        """A client connects and subscribes."""
        cid, self._next = self._next, self._next + 1
        self._clients[cid] = host
        wanted = [
            (route.pattern("*"), flat(host) if number % 3 else None)
            for number, route in enumerate(r for r in self.routes if r.host == host)
        ]
        wanted.append((f"mesh.safe.443.*.{flat(HOSTS[0])}._.GET.status", None))  # not its own
        for sid, (pattern, queue) in enumerate(wanted, 1):
            self._now += timedelta(seconds=2)
            rules = self.rules.get(host)
            allowed = rules is None or any(fits(rule, pattern) for rule in rules.subscribe)
            accepted = allowed or rules is None or not rules.enforced
            words = f"{pattern} {queue or ''} {sid}"
            self._say("TRC", cid, f"<<- [SUB {words}]")
            if not accepted:
                told = f', Queue: "{queue}"' if queue else ""
                told = f'Subscription Violation - Subject "{pattern}"{told}, SID {sid}'
                self._say("ERR", cid, told)
            self.subscriptions.append(
                Subscribed(host, pattern, queue, cid, sid, self._now, accepted)
            )

    def _close(self, cid: int) -> None:
        self._now += timedelta(seconds=2)
        self._say("DBG", cid, "Client connection closed: Client Closed")
        del self._clients[cid]
        for each in self.subscriptions:
            if each.cid == cid and each.end is None:
                each.end = self._now

    def _step(self, step: int) -> None:
        dice = self._dice
        self._now += timedelta(seconds=dice.choice([2, 60, 900]))
        if step % 29 == 28:
            cid = dice.choice(sorted(self._clients))
            host = self._clients[cid]
            if dice.random() < 0.5:
                self._open(host)
            else:
                self._close(cid)
        if not self._clients:
            self._open(HOSTS[0])
        self._publish(dice.choice(sorted(self._clients)))

    def _publish(self, cid: int) -> None:
        """A client publishes; all that subscribed receive it, and one of each queue."""
        dice = self._dice
        who = self._clients[cid]
        self._now += timedelta(seconds=2)
        route = dice.choice(self.calls[who][:3] if dice.random() < 0.7 else self.routes)
        source = dice.choice(HOSTS) if dice.random() < 0.1 else who
        plane = "other" if dice.random() < 0.05 else "mesh"
        words = [
            {"*": dice.choice(["red", "green", "blue"]), ">": dice.choice(["one", "one.two"])}
            .get(token, token)
            for token in route.path.split(".")
        ]  # fmt: skip
        if dice.random() < 0.06:
            words = ["nowhere", "at-all"]
        head = route.pattern(flat(source), plane).split(".")[:7]
        subject = ".".join([*head, *words])
        rules = self.rules.get(who)
        accepted = rules is None or not rules.enforced or may(rules, subject)
        self.messages.append(Message(who, subject, self._now, accepted))
        self._say("TRC", cid, f"<<- [PUB {subject} 3]")
        if not accepted:
            self._say("ERR", cid, f'Publish Violation - Subject "{subject}"')
            return
        queues: dict[str, list[Subscribed]] = {}
        for each in self.subscriptions:
            if each.accepted and each.end is None and fits(each.pattern, subject):
                name = each.queue or f"{each.cid} {each.sid}"
                queues.setdefault(name, []).append(each)
        for some in queues.values():
            each = dice.choice(some)
            self._say("TRC", each.cid, f"->> [MSG {subject} {each.sid} 3]")

    def write(self, folder: Path) -> None:
        """Write the log, the rules of each service, and the code."""
        (folder / "code").mkdir(parents=True)
        (folder / "rules").mkdir()
        (folder / "nats.log").write_text("\n".join(self._lines) + "\n")
        for host, rules in self.rules.items():
            (folder / "rules" / f"{host}.json").write_text(
                json.dumps({"subtrie": 1, "publish_allow": rules.allow,
                            "publish_deny": rules.deny, "subscribe_allow": rules.subscribe})
            )  # fmt: skip
        for host, calls in self.calls.items():
            lines = ["from subtrie.connector import Connector", f"svc = Connector({host!r})"]
            for number, route in enumerate(calls):
                path = route.path.replace("*", "{x}").replace(">", "{x}").replace(".", "/")
                port = "" if route.port == 443 else f":{route.port}"
                url = f"https://{route.host}{port}/{path}"
                lines += [f"async def call{number}(x: str) -> None:",
                          f"    await svc.request({route.method!r}, f{url!r})"]  # fmt: skip
            (folder / "code" / f"{flat(host)}.py").write_text("\n".join(lines) + "\n")
