"""Simulated brokers that know each other's subscriptions: routes are late and lost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from subtrie import SubjectTrie

from .broker import HOST, Broker, Client, Message
from .network import Network


class Cluster:
    """One server, or three that know each other's subscriptions.

    Args:
        network: The network.
        random: What is drawn from.
        count: The number of servers.

    Attributes:
        max_payload: Bytes of a message.
        max_pending: Bytes that wait for a client before it is a slow consumer.
        password: What clients must know; empty for none.
        denied: Whether a user may not publish to a subject.
        on_publish: Called with each message that is accepted from a client.
    """

    first_port = 4222

    def __init__(self, network: Network, random: Random, count: int) -> None:
        self.network, self.random = network, random
        self.max_payload, self.max_pending = 1 << 20, 8 << 20
        self.password = ""
        self.denied: Callable[[str, str], bool] = lambda user, subject: False
        self.on_publish: Callable[[Client, Message], None] | None = None
        self.slow_consumers = 0
        self._links: dict[tuple[int, int], int] = {}  # the incarnation of each open route
        self._last: dict[tuple[int, int], float] = {}
        self._incarnation = 0
        self.brokers: list[Broker] = []
        self.brokers = [Broker(self, number) for number in range(count)]
        for broker in self.brokers:
            self.start(broker, at_once=True)

    @property
    def url(self) -> str:
        """The servers as clients know them."""
        return ",".join(f"nats://{HOST}:{each.port}" for each in self.brokers)

    def authorizes(self, said: dict[str, Any]) -> bool:
        """Return whether a client may connect."""
        return not self.password or said.get("pass") == self.password

    def denies(self, said: dict[str, Any], subject: str) -> bool:
        """Return whether a client may not publish to a subject."""
        return self.denied(str(said.get("user", "")), subject)

    # --- servers

    def start(self, broker: Broker, *, at_once: bool = False) -> None:
        """Start a server; its routes follow soon."""
        if broker.up:
            return
        broker.up, broker.lame = True, False
        self.network.listen(HOST, broker.port, broker)
        for other in self.brokers:
            if other is not broker and other.up:
                self._connect_later(broker, other, 0.0 if at_once else self.random.random() * 0.5)

    def kill(self, broker: Broker) -> None:
        """End a server without notice."""
        if broker.up:
            broker.up = False
            self.network.unlisten(HOST, broker.port)
            for other in self.brokers:
                self.cut(broker, other)
            for client in list(broker.clients.values()):
                client.connection.reset()

    def shut_down(self, broker: Broker, seconds: float) -> None:
        """End a server in lame duck mode: clients are told, then closed one by one."""
        if not broker.up or broker.lame:
            return
        broker.lame = True
        self.network.unlisten(HOST, broker.port)
        scheduler = self.network.scheduler
        clients = list(broker.clients.values())
        for client in clients:
            broker._send_info(client)
        for number, client in enumerate(clients):
            scheduler.at(
                scheduler.now + seconds * (number + 1) / (len(clients) + 1),
                lambda client=client: broker.close(client) if not client.gone else None,  # type: ignore[misc]
            )
        scheduler.at(scheduler.now + seconds, lambda: self.kill(broker))

    # --- routes

    def cut(self, broker: Broker, other: Broker) -> bool:
        """Lose the route between two servers; return whether there was one."""
        pair = min(broker.number, other.number), max(broker.number, other.number)
        if self._links.pop(pair, None) is None:
            return False
        broker.forget(other.number)
        other.forget(broker.number)
        return True

    def _connect_later(self, broker: Broker, other: Broker, seconds: float) -> None:
        scheduler = self.network.scheduler
        scheduler.at(scheduler.now + seconds, lambda: self.connect(broker, other))

    def connect(self, broker: Broker, other: Broker) -> None:
        """Make the route between two servers, unless there is one."""
        pair = min(broker.number, other.number), max(broker.number, other.number)
        if pair in self._links or not (broker.up and other.up):
            return
        self._incarnation += 1
        self._links[pair] = self._incarnation
        for one, two in ((broker, other), (other, broker)):
            one.others[two.number] = SubjectTrie(dialect="server")
            for key in one.interest:
                self.route(one, two, partial(two.learn, one.number, key, 1))

    def tell(self, broker: Broker, key: tuple[str, str | None], change: int) -> None:
        """Tell all other servers of a subscription, or of its end."""
        for other in self.brokers:
            if other is not broker:
                self.route(broker, other, partial(other.learn, broker.number, key, change))

    def route(self, broker: Broker, other: Broker, call: Callable[[], object]) -> None:
        """Let something reach another server in a while, in order, unless the route is lost."""
        pair = min(broker.number, other.number), max(broker.number, other.number)
        incarnation = self._links.get(pair)
        if incarnation is None:
            return
        scheduler = self.network.scheduler
        way = broker.number, other.number
        delay = self.random.expovariate(1 / self.network.latency)
        when = max(scheduler.now + delay, self._last.get(way, 0.0))
        self._last[way] = when

        def arrive() -> None:
            if self._links.get(pair) == incarnation:
                call()

        scheduler.at(when, arrive)
