"""A system of nats-servers with known traffic: a cluster of three, a leaf node, three accounts.

Programs of nats-py publish, ask, answer, store, fetch and acknowledge; each message has a number
in its payload. What was sent, received, stored, refused and unanswered is counted by the programs
alone (``Truth``), and the servers write their trace logs. ``SHOP`` exports events and quotes,
``OPS`` imports both, ``SHOP`` imports payments of ``PAY``; ``SHOP`` maps an old subject to a new
one, and has a stream; ``OPS`` keeps keys. At the leaf node a till takes part in ``SHOP``.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error
from nats.js.api import ConsumerConfig, StreamConfig
from nats.js.errors import Error as JetStreamError

from examples.shop.broker import BrokerError
from patience import settled, until, wait_until
from servers import free_ports, serving

_ACCOUNTS = """
system_account: SYS
accounts {
  SYS { users: [ { user: sys, password: sys } ] }
  SHOP {
    jetstream: enabled
    users: [
      { user: admin, password: admin }
      { user: web, password: web, permissions: { publish: { deny: "payments.>" } } }
      { user: ship, password: ship }
      { user: bill, password: bill, permissions: { subscribe: { deny: "secret.>" } } }
      { user: quotes, password: quotes }
      { user: edge, password: edge }
    ]
    mappings: { "old.*.created": "orders.$1.created" }
    exports: [ { stream: "events.>" }, { service: "quote.*" } ]
    imports: [ { service: { account: PAY, subject: "pay.charge" }, to: "charge" } ]
  }
  PAY {
    users: [ { user: payer, password: payer }, { user: haul, password: haul } ]
    exports: [ { service: "pay.charge" } ]
  }
  OPS {
    jetstream: enabled
    users: [ { user: mon, password: mon }, { user: conf, password: conf } ]
    imports: [
      { stream: { account: SHOP, subject: "events.>" }, to: "shop.events.>" }
      { service: { account: SHOP, subject: "quote.*" }, to: "ask.*" }
    ]
  }
}
"""
_SERVER = """
server_name: {name}
logtime_utc: true
debug: true
trace: true
max_traced_msg_len: 512
http: "127.0.0.1:-1"
jetstream {{ store_dir: {store} }}
cluster {{ name: C, listen: "127.0.0.1:{port}", routes: [ {routes} ] }}
leafnodes {{ listen: "127.0.0.1:{leaf}" }}
"""
_EDGE = """
server_name: edge
logtime_utc: true
debug: true
trace: true
leafnodes {{ remotes: [ {{ url: "nats://edge:edge@127.0.0.1:{leaf}" }} ] }}
"""
SERVERS = ("n1", "n2", "n3")


@contextmanager
def system(folder: Path) -> Iterator[dict[str, str]]:
    """Run the four servers; yield the URL of each by its name."""
    with ExitStack() as stack:
        urls, leaf = _cluster(folder, stack)
        edge = _EDGE.format(leaf=leaf)
        urls["edge"] = stack.enter_context(serving(folder / "edge", edge))
        told = folder / "n1" / "server.log"
        wait_until(lambda: "Leafnode connection created" in told.read_text())
        logs = [folder / name / "server.log" for name in SERVERS]
        leader = re.compile("new (JetStream cluster )?metadata leader")
        wait_until(lambda: all(leader.search(log.read_text()) for log in logs))
        yield urls


def _cluster(folder: Path, stack: ExitStack) -> tuple[dict[str, str], int]:
    """Start three servers; again if another program has taken one of their ports meanwhile."""
    for left in (2, 1, 0):
        ports = free_ports(6)
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports[:3])
        urls = {}
        with ExitStack() as started:
            try:
                for name, port, leaf in zip(SERVERS, ports, ports[3:], strict=False):
                    store = json.dumps(str(folder / name / "store"))
                    config = _SERVER.format(
                        name=name, store=store, port=port, routes=routes, leaf=leaf
                    )
                    urls[name] = started.enter_context(serving(folder / name, config + _ACCOUNTS))
            except BrokerError:
                if not left:
                    raise
                started.close()
                shutil.rmtree(folder)
                continue
            stack.push(started.pop_all())
            return urls, ports[3]
    raise AssertionError


@dataclass(frozen=True)
class Sent:
    """A message as its publisher knows it."""

    account: str
    who: str
    server: str
    subject: str
    size: int


@dataclass(frozen=True)
class Receiver:
    """A subscription as its program knows it."""

    account: str
    who: str
    server: str
    pattern: str
    queue: str | None = None


@dataclass
class Truth:
    """The counts of the programs.

    Attributes:
        sent: Each message by its number.
        received: The subscriptions that received a message, by its number.
        stored: The stream that acknowledged a message, by its number.
        refused: The texts of the errors that a program was told, with the program.
        asked: Of each requester and subject, the seconds until each answer, and None without one.
        logins: Accepted and refused logins by account, user and outcome.
        state: The number of messages that each stream says that it holds.
        subscriptions: The subscriptions of the programs.
        lives: For each subscription the number of the first message in its time, and that of the
            first one after it.
    """

    sent: dict[int, Sent] = field(default_factory=dict)
    received: dict[int, list[Receiver]] = field(default_factory=dict)
    stored: dict[int, str] = field(default_factory=dict)
    refused: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    asked: dict[tuple[str, str, str], list[float | None]] = field(default_factory=dict)
    logins: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    state: dict[str, int] = field(default_factory=dict)
    subscriptions: list[Receiver] = field(default_factory=list)
    lives: dict[Receiver, tuple[int, int | None]] = field(default_factory=dict)

    def take(self, message: Msg, receiver: Receiver) -> None:
        """Count a message that was received."""
        number = int(message.data.split(b" ", 1)[0])
        self.received.setdefault(number, []).append(receiver)


class Program:
    """A client that counts what it sends and receives."""

    def __init__(self, truth: Truth, account: str, user: str, server: str, name: str) -> None:
        self.truth, self.account, self.user = truth, account, user
        self.server, self.name = server, name
        self.client: Client
        self.last: str | None = None

    async def connect(self, url: str, password: str | None) -> None:
        """Log in, or be refused."""
        how: dict[str, Any] = {"allow_reconnect": False, "error_cb": self._told}
        if self.user:
            how |= {"user": self.user, "password": password or self.user}
        try:
            self.client = await nats.connect(url, name=self.name, **how)
        except Error:
            self.truth.logins[self.account, self.user, "refused"] += 1
            return
        self.truth.logins[self.account, self.user, "accepted"] += 1

    async def _told(self, error: Exception) -> None:
        words = str(error).lower()
        for verb in ("publish", "subscription"):
            _, found, rest = words.partition(f"permissions violation for {verb} to ")
            if found:
                subject = rest.strip("\"' ").partition('"')[0]
                self.truth.refused[self.account, self.user, verb, subject] += 1

    def numbered(self, subject: str, size: int = 0) -> bytes:
        """Count a message that is sent now; return its payload."""
        number = len(self.truth.sent)
        payload = f"{number} ".encode().ljust(size, b".")
        self.truth.sent[number] = Sent(self.account, self.who, self.server, subject, len(payload))
        return payload

    @property
    def who(self) -> str:
        """The user, else the name."""
        return self.user or self.name

    async def publish(self, subject: str, size: int = 0) -> None:
        """Send a message without a reply subject."""
        await self.client.publish(subject, self.numbered(subject, size))

    async def subscribe(
        self, pattern: str, queue: str = "", *, answers: bool = False
    ) -> Subscription:
        """Receive messages, and answer them if asked."""
        mine = Receiver(self.account, self.who, self.server, pattern, queue or None)
        self.truth.subscriptions.append(mine)
        self.truth.lives[mine] = (len(self.truth.sent), None)

        async def take(message: Msg) -> None:
            self.truth.take(message, mine)
            if answers:
                await message.respond(self.numbered(message.reply))

        return await self.client.subscribe(pattern, queue, cb=take)

    async def ask(self, subject: str) -> None:
        """Send a request, and wait for its answer."""
        asked = self.truth.asked.setdefault((self.account, self.who, subject), [])
        clock = asyncio.get_running_loop().time
        begin = clock()
        try:
            answer = await self.client.request(subject, self.numbered(subject), timeout=60)
        except Error:
            asked.append(None)
            return
        asked.append(clock() - begin)
        self.truth.take(answer, self._inbox)

    @property
    def _inbox(self) -> Receiver:
        return Receiver(self.account, self.who, self.server, "_INBOX")

    async def store(self, subject: str) -> None:
        """Publish to a stream, and wait until it acknowledges."""
        payload = self.numbered(subject)
        number = len(self.truth.sent) - 1
        try:
            told = await self.client.jetstream(timeout=60).publish(subject, payload, timeout=60)
        except (Error, JetStreamError):
            return
        self.truth.stored[number] = told.stream

    async def close(self) -> None:
        """Tell the server all that was sent, and leave."""
        await settled(self.client)
        await self.client.close()


async def traffic(urls: dict[str, str], messages: int, seed: int) -> Truth:
    """Let the programs send about so many messages, and return what they counted."""
    return await _Traffic(urls, random.Random(seed)).run(messages)


class _Traffic:
    """The programs, and what they do."""

    def __init__(self, urls: dict[str, str], dice: random.Random) -> None:
        self.urls, self.dice, self.truth = urls, dice, Truth()
        self.programs: list[Program] = []

    async def run(self, messages: int) -> Truth:
        """Connect, send so many messages, receive what is left, and leave."""
        await self._connect()
        await self._subscribe()
        streams = asyncio.gather(self._pull(), self._watch())
        await self._rounds(messages // 3)
        own = await self.bill.subscribe("events.cart.*")
        await settled(self.bill.client)  # the server has it before what others publish
        await self._rounds(messages // 3 * 2)
        await own.drain()
        await settled(self.bill.client)
        mine = self.truth.subscriptions[-1]
        self.truth.lives[mine] = (self.truth.lives[mine][0], len(self.truth.sent))
        await self._rounds(messages)
        await self._faults()
        await self._flush()
        await self._settled()
        self.done = True
        await streams
        await self._states()
        for each in self.programs:
            await each.close()
        return self.truth

    async def _rounds(self, messages: int) -> None:
        """Send until there are so many messages, and wait until the servers have them."""
        while len(self.truth.sent) < messages:
            await self._round()
        await self._flush()

    async def _flush(self) -> None:
        for each in self.programs:
            await settled(each.client)

    async def _program(
        self, account: str, user: str, server: str, name: str, password: str | None = None
    ) -> Program:
        made = Program(self.truth, account, user, server, name)
        await made.connect(self.urls[server], password)
        return made

    async def _connect(self) -> None:
        self.done = False
        for account, user, server, name in (
            ("SHOP", "admin", "n1", "admin-1"),
            ("SHOP", "web", "n1", "web-a"),
            ("SHOP", "web", "n2", "web-b"),
            ("SHOP", "ship", "n3", "ship-1"),
            ("SHOP", "bill", "n2", "bill-1"),
            ("SHOP", "quotes", "n2", "quotes-1"),
            ("SHOP", "quotes", "n3", "quotes-2"),
            ("PAY", "payer", "n3", "payer-1"),
            ("PAY", "haul", "n1", "ship-1"),
            ("OPS", "mon", "n3", "mon-1"),
            ("OPS", "conf", "n1", "conf-1"),
            ("$G", "", "edge", "till"),
        ):
            self.programs.append(await self._program(account, user, server, name))
        self.admin, self.web_a, self.web_b, self.ship, self.bill, *others = self.programs
        self.quotes_1, self.quotes_2, self.payer, self.haul, *others = others
        self.mon, self.conf, self.till = others

    async def _subscribe(self) -> None:
        await self.bill.subscribe("events.*.*")
        await self.web_b.subscribe("telemetry.>")
        await self.till.subscribe("cmd.*")
        await self.till.subscribe("events.order.>")
        await self.mon.subscribe("shop.events.>")
        for each in (self.quotes_1, self.quotes_2):
            await each.subscribe("quote.*", "q", answers=True)
        await self.payer.subscribe("pay.charge", "payers", answers=True)
        await self.payer.subscribe("trucks.*")
        stream = self.admin.client.jetstream(timeout=60)
        subjects = ["orders.*.created", "orders.*.paid"]
        await stream.add_stream(StreamConfig(name="ORDERS", subjects=subjects))
        config = ConsumerConfig(
            name="shipper", durable_name="shipper", filter_subject="orders.*.created"
        )
        await stream.add_consumer("ORDERS", config)
        self.bucket = await self.conf.client.jetstream(timeout=60).create_key_value(bucket="cfg")
        mine = Receiver("SHOP", "bill", "n2", "consumer biller")

        async def take(message: Msg) -> None:
            self.truth.take(message, mine)
            await message.ack()

        await self.bill.client.jetstream(timeout=60).subscribe(
            "orders.*.paid", durable="biller", cb=take, manual_ack=True
        )
        await self._flush()
        await self._routes_know()

    async def _routes_know(self) -> None:
        """Wait until each server knows the subscriptions of the others.

        A server answers a request only when it knows a responder.
        """
        for asker, subject in (
            *((each, "quote.probe") for each in (self.web_a, self.web_b, self.admin)),
            *((each, "charge") for each in (self.web_a, self.web_b)),
            *((each, "ask.probe") for each in (self.conf, self.mon)),
        ):
            before = len(self.truth.asked.get((asker.account, asker.who, subject), ()))
            while True:
                await asker.ask(subject)
                if self.truth.asked[asker.account, asker.who, subject][before:][-1] is not None:
                    break

    async def _round(self) -> None:
        dice = self.dice
        await asyncio.gather(*dice.sample([
            self._some(self.web_a.publish, [f"events.order.{dice.randrange(40)}"] * 4),
            self._some(self.web_b.publish, [f"events.cart.{dice.randrange(40)}"] * 3),
            self._some(self.till.publish, [f"telemetry.{dice.randrange(9)}.temp"] * 3),
            self._some(self.admin.publish, [f"cmd.{dice.randrange(9)}"] * 2),
            self._some(self.web_a.ask, ["quote.eu", "charge"]),
            self._some(self.web_b.ask, ["quote.us"]),
            self._some(self.conf.ask, ["ask.us"]),
            self._some(self.web_a.store, ["orders.eu.created", "old.us.created"]),
            self._some(self.web_b.store, ["orders.us.paid"]),
            self._some(self._put, [f"limit.{dice.randrange(20)}"]),
            self._some(self.haul.publish, ["trucks.left"]),
        ], 11))  # fmt: skip

    async def _some(self, act: Any, subjects: list[str]) -> None:
        for subject in subjects:
            await act(subject)

    async def _put(self, key: str) -> None:
        payload = self.conf.numbered(f"$KV.cfg.{key}")
        number = len(self.truth.sent) - 1
        await self.bucket.put(key, payload)
        self.truth.stored[number] = "KV_cfg"

    async def _pull(self) -> None:
        """``ship`` fetches from its consumer until all is received."""
        mine = Receiver("SHOP", "ship", "n3", "consumer shipper")
        stream = self.ship.client.jetstream(timeout=60)
        bound = await stream.pull_subscribe_bind(consumer="shipper", stream="ORDERS")
        while not self.done:
            try:
                messages = await bound.fetch(20, timeout=1)
            except (Error, TimeoutError):
                continue
            for message in messages:
                self.truth.take(message, mine)
                await message.ack_sync(timeout=60)

    async def _watch(self) -> None:
        """``mon`` is told of each key."""
        mine = Receiver("OPS", "mon", "n3", "consumer *")
        bucket = await self.mon.client.jetstream(timeout=60).key_value("cfg")
        watcher = await bucket.watchall()
        while not self.done:
            try:
                update = await watcher.updates(timeout=1)
            except Error:
                continue
            if update is not None:
                number = int(update.value.split(b" ", 1)[0])
                self.truth.received.setdefault(number, []).append(mine)
        await watcher.stop()

    async def _faults(self) -> None:
        """Refused publishes and subscriptions, unheard messages, refused logins."""
        for number in range(12):
            await self.web_a.publish(f"payments.{number}.refund")
        for _ in range(7):
            await self.ship.publish("trucks.left")
        for _ in range(3):
            await self.web_b.ask("tax.rate")
        await self.bill.client.subscribe("secret.plans")
        for user in ("web", "web", "eve"):
            await self._program("", user, "n2", "intruder", "wrong")

    async def _settled(self) -> None:
        """Wait until what the streams stored, and what subscribers get, has been received."""
        stored = [number for number, stream in self.truth.stored.items()]
        await until(lambda: all(number in self.truth.received for number in stored))
        await asyncio.sleep(0)

    async def _states(self) -> None:
        for program, stream in ((self.admin, "ORDERS"), (self.conf, "KV_cfg")):
            told = await program.client.jetstream(timeout=60).stream_info(stream)
            self.truth.state[stream] = told.state.messages
