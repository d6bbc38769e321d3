"""Scenarios of legitimate, illegitimate and odd traffic.

Between two changes of subscriptions more than the longest window passes. So all publishes of one
subject, reply and size whose windows overlap meet the same subscribers, and the right answer does
not depend on which of them takes which delivery line.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .broker import Broker
from .connections import Connection
from .damage import draw_damage, halve
from .publish import Publish
from .split_mix import SplitMix64
from .trace_log import SECOND
from .truth import Subject, Truth
from .world import HOME, OTHER, Edge, Route, Service, World, flat

_HOSTILE = (
    r"]\r\n[7] 2026/11/22 08:00:00.000000 [TRC] 127.0.0.1:1 - cid:1 - <<- [PUB forged 1]\r\n",
    82,
)
# Subjects that begin with a plane and are not canonical, with the reason.
_MALFORMED = (
    ("prod.safe.443.{a}.{b}._.get.x", "method"),
    ("prod.safe.080.{a}.{b}._.GET.x", "port"),
    ("prod.safe.443.{a}.{b}._.GET", "too-few-tokens"),
    ("prod.danger.443.{a}.{b}._.GET.x", "trust"),
    ("prod.safe.443.{a}.{b}.here.GET.x", "slot"),
    ("prod.safe.443.{a}.{b}._.GET.a%41", "not-canonical"),
    ("prod.safe.443.A_com.{b}._.GET.x", "not-canonical"),
    ("prod.safe.888.A_com.all._.GET.ping", "not-canonical"),  # delivered
    ("prod.reply._.{a}.{b}", "reply-tokens"),
    ("staging.hello.world", "trust"),
)
_OTHER = (
    *(("metrics.cpu.3", "other"), ("orders.new", "other"), ("orders.eu.paid", "other")),
    *(("$JS.API.STREAM.NAMES", "jetstream"), ("$SYS.REQ.SERVER.PING", "system")),
    *(("$KV.config.a", "kv"), ("$SRV.PING", "service")),
)


@dataclass(eq=False)
class Replica:
    """A running instance of a service."""

    service: Service
    conn: Connection
    instance: str


@dataclass
class Scenarios:
    """The replicas that run, and what they do next."""

    world: World
    broker: Broker
    truth: Truth
    dice: SplitMix64
    damage: bool
    running: list[Replica] = field(default_factory=list)
    argument_values: int = 5000

    watcher: Connection = field(init=False)
    operator: Connection = field(init=False)

    def begin(self) -> None:
        """Start the broker and the services."""
        self.broker.start()
        self._connect_all()

    def restart(self) -> None:
        """Restart the broker; all services connect again."""
        self.broker.idle()
        self.broker.close(self.running[0].conn)
        self.broker.idle()
        self.broker.restart()
        self.running.clear()
        self._connect_all()

    def next_day(self) -> None:
        """Let a day pass; connections stay."""
        self.broker.idle()
        self.broker.log.clock += 86_400 * SECOND
        self.broker.idle()

    def _connect_all(self) -> None:
        """Connect every service, a watcher and an operator."""
        for service in self.world.services:
            if service.remote:
                for route in service.routes:
                    self.broker.interest(
                        route.pattern(service.plane, service.host, "_"),
                        service.host if route.queue else None,
                    )
                continue
            for _ in range(service.replicas):
                self.start_replica(service)
        watcher = self.broker.connect("Some_User", "watcher", "watcher", None)
        self.broker.subscribe(watcher, "$SRV.>")
        for pattern in self.world.plain:
            self.broker.subscribe(watcher, pattern, self.dice.choice((None, "watchers")))
        self.broker.subscribe(watcher, f"never.{self.dice.letters(5)}")
        self.watcher = watcher
        self.operator = self.broker.connect("admin-tool", None, "admin-tool", None)
        self.broker.idle()

    def step(self) -> None:
        """Do one thing."""
        dice = self.dice.below(1000)
        if dice < 640:
            self._call()
        elif dice < 720:
            self._burst()
        elif dice < 780:
            self._concurrent()
        elif dice < 820:
            self._ping()
        elif dice < 850:
            self._undelivered()
        elif dice < 880:
            self._malformed()
        elif dice < 920:
            self._other()
        elif dice < 940:
            self._spoof()
        elif dice < 955:
            self._cross()
        elif dice < 965:
            self._refused()
        elif dice < 990:
            if self.damage:
                self._damage()
        elif dice < 994:
            self._request_reply()
        else:
            self._change()
        self.broker.log.clock += 10 + self.dice.below(4000)

    def start_replica(self, service: Service) -> None:
        """Connect a replica and subscribe to its routes."""
        broker, login = self.broker, service.login
        conn = broker.connect(
            service.host if login == "user" else "Some_User" if login == "name" else None,
            service.host if login == "name" else None,
            service.host if login != "none" else None,
            service.publish_allow if service.restricted else None,
        )
        replica = Replica(service, conn, f"id-{self.dice.letters(8)}")
        own = flat(service.host)
        broker.subscribe(conn, f"{service.plane}.reply._.*.{own}.{replica.instance}")
        for slot in self._slots(replica):
            for route in service.routes:
                broker.subscribe(
                    conn,
                    route.pattern(service.plane, service.host, slot),
                    service.host if route.queue else None,
                )
        broker.subscribe(conn, f"{service.plane}.safe.888.*.all._.*.ping")
        broker.subscribe(conn, f"{service.plane}.safe.888.*.{own}._.*.ping")
        self.running.append(replica)

    def _slots(self, replica: Replica) -> list[str]:
        slots = ["_", replica.instance]
        parts = replica.service.locality.split("-") if replica.service.locality else []
        slots += ["loc-" + "-".join(parts[: n + 1]) for n in range(len(parts))]
        return slots

    # Traffic

    def _edge(self) -> tuple[Edge, Replica] | None:
        """Choose a call of the world, and a running replica that makes it."""
        edges = [edge for edge in self.world.edges if edge.traffic]
        if not edges:
            return None
        edge = edges[self.dice.skewed(len(edges))]
        sources = [each for each in self.running if each.service is edge.source]
        return (edge, self.dice.choice(sources)) if sources else None

    def _request(self, edge: Edge, source: Replica, slot: str = "_") -> Subject:
        route = edge.route
        method = self.dice.choice(("GET", "PUT")) if route.method == "ANY" else route.method
        return self.truth.request(
            source.service.plane,
            route.port or self.dice.choice((443, 8080)),
            source.service.host,
            edge.destination.host,
            slot,
            method,
            self._path(route),
        )

    def _path(self, route: Route) -> list[str]:
        path = []
        for token in route.path:
            if token == "*":
                path.append(f"a{self.dice.skewed(self.argument_values)}")
            elif token == ">":
                path += [f"f{self.dice.skewed(50)}" for _ in range(1 + self.dice.below(3))]
            else:
                path.append(token)
        return path

    def _payload(self) -> tuple[int, str]:
        """Return the size of a payload, and the payload as the broker quotes it."""
        kind = self.dice.below(20)
        if kind == 0:
            return 0, ""
        if kind == 1:
            text, size = _HOSTILE
            return size, f'MSG_PAYLOAD: ["{text}"]'
        count = 2 + self.dice.skewed(300)
        return count, f'MSG_PAYLOAD: ["{"x" * count}"]'

    def _call(self) -> None:
        found = self._edge()
        if found is None:
            return
        edge, source = found
        slot = "_"
        pinned = [each for each in self.running if each.service is edge.destination]
        if pinned and self.dice.chance(15):
            slot = self.dice.choice(self._slots(self.dice.choice(pinned)))
        published = self.broker.publish(
            source.conn, self._request(edge, source, slot), self._payload()
        )
        self.broker.deliver(published)
        if published is not None and self.dice.chance(60):
            self._reply(published, source)

    def _reply(self, published: Publish, caller: Replica) -> None:
        """Let those who received a request answer it."""
        for receiver in published.receivers[:2]:
            answers = [each for each in self.running if each.conn is receiver.conn]
            if answers:
                subject = self.truth.reply(
                    caller.service.plane,
                    answers[0].service.host,
                    caller.service.host,
                    caller.instance,
                )
                self.broker.log.clock += 100 + self.dice.below(3000)
                self.broker.deliver(self.broker.publish(receiver.conn, subject, self._payload()))

    def _burst(self) -> None:
        """One connection publishes one subject several times."""
        found = self._edge()
        if found is not None:
            edge, source = found
            subject, payload = self._request(edge, source), self._payload()
            for _ in range(2 + self.dice.below(8)):
                self.broker.deliver(self.broker.publish(source.conn, subject, payload))

    def _concurrent(self) -> None:
        """Several connections publish at once; the deliveries follow, mixed."""
        published: list[Publish] = []
        used: set[int] = set()
        same = self._edge() if self.dice.chance(50) else None
        payload = self._payload()
        for _ in range(2 + self.dice.below(3)):
            found = same or self._edge()
            if found is None:
                continue
            edge, source = found
            if same is not None:
                twins = [each for each in self.running if each.service is edge.source]
                source = self.dice.choice(twins)
            if source.conn.cid in used:
                continue
            used.add(source.conn.cid)
            subject = published[0].subject if same and published else self._request(edge, source)
            one = self.broker.publish(source.conn, subject, payload if same else self._payload())
            if one is not None:
                published.append(one)
        self.dice.shuffle(published)
        for one in published:
            self.broker.deliver(one)

    def _ping(self) -> None:
        """Ask every replica of the plane, or those of one service."""
        source = self.dice.choice(self.running)
        service = source.service
        host = "all" if self.dice.chance(50) else self.dice.choice(self.running).service.host
        subject = self.truth.request(service.plane, 888, service.host, host, "_", "GET", ["ping"])
        self.broker.deliver(self.broker.publish(source.conn, subject, self._payload()))

    def _undelivered(self) -> None:
        """Call a host, a route or a method that does not exist."""
        source = self.dice.choice(self.running)
        plane, host = source.service.plane, source.service.host
        target = self.dice.choice(self.world.services)
        while target.remote:
            target = self.dice.choice(self.world.services)
        kind = self.dice.below(4)
        if kind == 0:
            subject = self.truth.request(plane, 443, host, "nowhere.shop", "_", "GET", ["items"])
        elif kind == 1:
            subject = self.truth.request(plane, 443, host, target.host, "_", "GET", ["item-s"])
        elif kind == 2:
            subject = self.truth.request(
                plane, 8443, host, target.host, "_", "CONNECT", ["items", "a1"]
            )
        else:
            subject = self.truth.reply(plane, host, target.host, "id-gone0000")
        self.broker.deliver(self.broker.publish(source.conn, subject, self._payload()))

    def _malformed(self) -> None:
        conn = self.operator
        text, reason = self.dice.choice(_MALFORMED)
        a, b = (flat(self.dice.choice(self.world.services).host) for _ in range(2))
        subject = self.truth.malformed(text.format(a=a, b=b), reason)
        self.broker.deliver(self.broker.publish(conn, subject, self._payload()))

    def _other(self) -> None:
        text, family = self.dice.choice(_OTHER)
        size, shown = self._payload()
        head = r"NATS/1.0\r\nA: b\r\n\r\n"
        header = 18 if self.dice.chance(40) else 0
        if header:
            body = shown.removeprefix('MSG_PAYLOAD: ["') if shown else '"]'
            size, shown = size + header, f'MSG_PAYLOAD: ["{head}{body}'
        self.broker.deliver(
            self.broker.publish(
                self.operator, self.truth.other(text, family), (size, shown), header=header
            )
        )

    def _spoof(self) -> None:
        """Publish under the name of another service: some may, others are refused."""
        found = self._edge()
        if found is None:
            return
        edge, source = found
        subject = self._request(edge, source)
        liars = [
            each
            for each in self.running
            if each.service.host != source.service.host and each.service.plane == HOME
        ]
        if not liars:
            return
        conn = self.operator if self.dice.chance(30) else self.dice.choice(liars).conn
        if conn.publish_allow is not None or conn.host is not None:
            self.broker.deliver(self.broker.publish(conn, subject, self._payload()))

    def _cross(self) -> None:
        """A service of one plane publishes in the other."""
        found = [
            each
            for each in self.running
            if each.service.login != "none" and each.service.plane == HOME
        ]
        if not found:
            return
        source = self.dice.choice(found)
        subject = self.truth.request(OTHER, 888, source.service.host, "all", "_", "GET", ["ping"])
        self.broker.deliver(self.broker.publish(source.conn, subject, self._payload()))

    def _refused(self) -> None:
        """A subscription or a reply subject that the broker refuses."""
        restricted = [each for each in self.running if each.service.restricted]
        if not restricted:
            return
        source = self.dice.choice(restricted)
        if self.dice.chance(50):
            queue = self.dice.choice((None, "spies"))
            self.broker.refuse_subscription(source.conn, f"{OTHER}.danger.>", queue)
            return
        subject = self.truth.reply(
            source.service.plane, source.service.host, source.service.host, source.instance
        )
        self.broker.publish(
            source.conn, subject, self._payload(), reply="$SYS.secret", refuse_reply=True
        )

    def _damage(self) -> None:
        """A line that cannot be parsed; some hide a publish whose deliveries then stand alone."""
        found = self._edge()
        if found is None or self.dice.chance(70):
            self.broker.damage(draw_damage(self.dice, self.broker.log))
            return
        edge, source = found
        if source.conn.publish_allow is not None:
            return
        subject, payload = self._request(edge, source), self._payload()
        self.broker.deliver(self.broker.publish(source.conn, subject, payload))
        self.broker.ping(source.conn)
        self.broker.deliver(self.broker.publish(source.conn, subject, payload, damage=halve))

    def _request_reply(self) -> None:
        """A plain NATS request with an inbox of its own, answered or without responders."""
        conn, broker = self.operator, self.broker
        inbox = broker.subscribe(conn, f"_INBOX.{self.dice.letters(22)}")
        broker.unsubscribe_after(conn, inbox.sid, 1)
        if self.dice.chance(50):
            subject = self.truth.other("jobs.nobody.here", "other")
            broker.deliver(broker.publish(conn, subject, (2, 'MSG_PAYLOAD: ["hi"]'),
                                          reply=inbox.pattern))  # fmt: skip
            broker.no_responders(conn, inbox)
        else:
            subject = self.truth.other("$SRV.PING", "service")
            broker.deliver(broker.publish(conn, subject, (2, 'MSG_PAYLOAD: ["hi"]'),
                                          reply=inbox.pattern))  # fmt: skip
            answer = self.truth.other(inbox.pattern, "inbox")
            broker.deliver(broker.publish(self.watcher, answer, self._payload()))
        broker.expire_subscription(conn, inbox.sid)

    def _change(self) -> None:
        """A replica stops or starts, with nothing else in progress."""
        self.broker.idle()
        if self.dice.chance(50) and len(self.running) > 2:
            replica = self.running.pop(self.dice.below(len(self.running)))
            if self.dice.chance(50):
                for sid in list(replica.conn.subscriptions):
                    self.broker.unsubscribe(replica.conn, sid)
            self.broker.close(replica.conn)
        else:
            self.start_replica(
                self.dice.choice([each for each in self.world.services if not each.remote])
            )
        self.broker.idle()
