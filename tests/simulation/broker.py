"""A simulated nats-server, alone or as one of a cluster, of our own parser and index.

It is judged by ``broker_tapes``: the same operations on a real nats-server give the same
deliveries, up to the choice in a queue group. That choice, and the pace at which routes tell each
other of subscriptions, are drawn from the seed.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from subtrie import SubjectTrie, SubtrieError, WireError
from subtrie.wire import Parser

from .network import Connection

if TYPE_CHECKING:
    from .cluster import Cluster

HOST = "127.0.0.1"
_PING_EVERY = 20.0  # seconds
_MOST_PINGS = 2  # without an answer


class Subscription:
    """A subscription of a client: its place in the index, and how many messages it may get."""

    def __init__(self, client: Client, sid: str, pattern: str, queue: str | None) -> None:
        self.client, self.sid, self.pattern, self.queue = client, sid, pattern, queue
        self.entry: Any = None
        self.most: int | None = None
        self.delivered = 0


class Client:
    """A client of a broker.

    Attributes:
        said: What it said in ``CONNECT``; None before.
        subscriptions: Its subscriptions by sid.
        subscribed: Each ``SUB`` that came: sid, pattern and queue.
    """

    def __init__(self, connection: Connection, max_payload: int) -> None:
        self.connection = connection
        self.parser = Parser("client", max_payload=max_payload)
        self.out = bytearray()
        self.said: dict[str, Any] | None = None
        self.subscriptions: dict[str, Subscription] = {}
        self.subscribed: list[tuple[str, str, str | None]] = []
        self.pings = 0
        self.gone = False

    def says(self, name: str) -> Any:
        """Return an option of ``CONNECT``."""
        return (self.said or {}).get(name)


class Message(NamedTuple):
    """A message on its way between brokers."""

    subject: str
    reply: str | None
    header: bytes
    body: bytes


class Broker:
    """One server.

    Args:
        cluster: Its cluster.
        number: Its number there.
    """

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.cluster, self.number = cluster, number
        self.port = cluster.first_port + number
        self.up = self.lame = False
        self.clients: dict[int, Client] = {}
        self.index: SubjectTrie[Subscription] = SubjectTrie(dialect="server")
        self.interest: Counter[tuple[str, str | None]] = Counter()
        #: The interest of the others: their index, and how often each entry stands in it.
        self.others: dict[int, SubjectTrie[tuple[str, str | None]]] = {}
        self._entries: dict[tuple[int, str, str | None], list[Any]] = {}

    # --- connections

    def accept(self, connection: Connection) -> None:
        """Greet a client."""
        if not self.up:
            connection.reset()
            return
        client = Client(connection, self.cluster.max_payload)
        self.clients[connection.number] = client
        self._send_info(client)
        self._ping_later(client)

    def _send_info(self, client: Client) -> None:
        cluster = self.cluster
        info: dict[str, Any] = {
            "server_id": f"S{self.number}", "version": "2.12.0", "proto": 1, "headers": True,
            "max_payload": cluster.max_payload,
        }  # fmt: skip
        if len(cluster.brokers) > 1:
            ports = [each.port for each in cluster.brokers if each.up and not each.lame]
            info["connect_urls"] = [f"{HOST}:{port}" for port in ports]
        if self.lame:
            info["ldm"] = True
        self._send(client, f"INFO {json.dumps(info)}\r\n".encode())

    def received(self, connection: Connection, data: bytes) -> None:
        """Process the operations of a client."""
        client = self.clients.get(connection.number)
        if client is None:
            return
        error = None
        try:
            operations = client.parser.feed(data)
        except WireError as failure:
            operations, error = failure.operations, failure
        for operation in operations:
            if client.gone:
                return
            self._process(client, operation)
        if error is not None and not client.gone:
            payload = "max_payload" in str(error)
            text = "Maximum Payload Violation" if payload else "Unknown Protocol Operation"
            self._refuse(client, text)

    def drained(self, connection: Connection) -> None:
        """Write further."""
        client = self.clients.get(connection.number)
        if client is not None:
            self._flush(client)

    def lost(self, connection: Connection) -> None:
        """Forget a client."""
        client = self.clients.pop(connection.number, None)
        if client is not None:
            client.gone = True
            for each in list(client.subscriptions.values()):
                self._remove(each)

    def close(self, client: Client) -> None:
        """Close the connection of a client."""
        connection = client.connection
        self.lost(connection)
        connection.close_server()

    def _refuse(self, client: Client, text: str) -> None:
        self._send(client, f"-ERR '{text}'\r\n".encode())
        self.close(client)

    def _ping_later(self, client: Client) -> None:
        scheduler = self.cluster.network.scheduler

        def ping() -> None:
            if client.gone:
                return
            if client.pings >= _MOST_PINGS:
                self._refuse(client, "Stale Connection")
                return
            client.pings += 1
            self._send(client, b"PING\r\n")
            self._ping_later(client)

        scheduler.at(scheduler.now + _PING_EVERY, ping)

    # --- operations

    def _process(self, client: Client, op: Any) -> None:
        name = op.op
        if name == "PUB" or name == "HPUB":
            self._publish(client, op)
        elif name == "PING":
            self._send(client, b"PONG\r\n")
        elif name == "PONG":
            client.pings = 0
        elif name == "SUB":
            self._subscribe(client, op)
        elif name == "UNSUB":
            self._unsubscribe(client, op.sid, op.max)
        elif name == "CONNECT":
            client.said = op.json
            if not self.cluster.authorizes(op.json):
                self._refuse(client, "Authorization Violation")
                return
        if client.says("verbose") and name not in ("PING", "PONG"):
            self._send(client, b"+OK\r\n")

    def _subscribe(self, client: Client, op: Any) -> None:
        client.subscribed.append((op.sid, op.subject, op.queue))
        if op.sid in client.subscriptions:
            return
        subscription = Subscription(client, op.sid, op.subject, op.queue)
        try:
            subscription.entry = self.index.add(op.subject, subscription, queue=op.queue)
        except SubtrieError:
            self._send(client, b"-ERR 'Invalid Subject'\r\n")
            return
        client.subscriptions[op.sid] = subscription
        key = op.subject, op.queue
        self.interest[key] += 1
        if self.interest[key] == 1:
            self.cluster.tell(self, key, 1)

    def _unsubscribe(self, client: Client, sid: str, most: int | None) -> None:
        subscription = client.subscriptions.get(sid)
        if subscription is not None:
            subscription.most = most or None
            if not most or subscription.delivered >= most:
                self._remove(subscription)

    def _remove(self, subscription: Subscription) -> None:
        self.index.remove(subscription.entry)
        subscription.client.subscriptions.pop(subscription.sid, None)
        key = subscription.pattern, subscription.queue
        self.interest[key] -= 1
        if not self.interest[key]:
            del self.interest[key]
            self.cluster.tell(self, key, -1)

    def _publish(self, client: Client, op: Any) -> None:
        cluster = self.cluster
        if cluster.denies(client.said or {}, op.subject):
            text = f'Permissions Violation for Publish to "{op.subject}"'
            self._send(client, f"-ERR '{text}'\r\n".encode())
            return
        body = bytes(op.body if op.op == "HPUB" else op.payload)
        header = bytes(op.header) if op.op == "HPUB" else b""
        message = Message(op.subject, op.reply, header, body)
        if cluster.on_publish is not None:
            cluster.on_publish(client, message)
        count = self._deliver(message, None, client)
        count += self._forward(message, client)
        if not count and op.reply and client.says("no_responders") and client.says("headers"):
            header = f"NATS/1.0 503\r\nNats-Subject: {op.subject}\r\n\r\n".encode()
            status = Message(op.reply, None, header, b"")
            for entry in self.index.subscriptions(op.reply):
                if entry.value.client is client and entry.value.queue is None:
                    self._give(entry.value, status, counted=False)
                    break

    def _deliver(
        self, message: Message, queues: tuple[str, ...] | None, sender: Client | None
    ) -> int:
        """Deliver to the clients of this server; to all queue groups or the named ones."""
        groups: dict[str, list[Subscription]] = {}
        count = 0
        silent = sender if sender is not None and sender.says("echo") is False else None
        for entry in self.index.subscriptions(message.subject):
            subscription: Subscription = entry.value
            if subscription.client is silent:
                continue
            if subscription.queue is not None:
                groups.setdefault(subscription.queue, []).append(subscription)
            else:
                count += self._give(subscription, message)
        for name in sorted(groups):
            if queues is None or name in queues:
                count += self._give(self.cluster.random.choice(groups[name]), message)
        self._served = set(groups)
        return count

    def _forward(self, message: Message, client: Client) -> int:
        """Send to the servers that have interest; return how many."""
        served, reached = self._served, 0
        wanted: dict[int, list[str]] = {}
        plain: set[int] = set()
        by_queue: dict[str, list[int]] = {}
        for number, index in self.others.items():
            for entry in index.subscriptions(message.subject):
                queue = entry.value[1]
                if queue is None:
                    plain.add(number)
                elif queue not in served and number not in by_queue.setdefault(queue, []):
                    by_queue[queue].append(number)
        for queue in sorted(by_queue):
            wanted.setdefault(self.cluster.random.choice(by_queue[queue]), []).append(queue)
        for number in sorted({*plain, *wanted}):
            names = tuple(wanted.get(number, ()))
            to = self.cluster.brokers[number]
            self.cluster.route(self, to, partial(to._deliver, message, names, None))
            reached += 1
        return reached

    def _give(self, subscription: Subscription, message: Message, *, counted: bool = True) -> int:
        subscription.delivered += counted
        client = subscription.client
        reply = f"{message.reply} " if message.reply else ""
        start = f"{message.subject} {subscription.sid} {reply}"
        header = message.header if client.says("headers") else b""
        size = len(header) + len(message.body)
        line = f"HMSG {start}{len(header)} {size}" if header else f"MSG {start}{size}"
        if subscription.most is not None and subscription.delivered >= subscription.most:
            self._remove(subscription)
        self._send(client, b"%b\r\n%b%b\r\n" % (line.encode(), header, message.body))
        return 1

    def _send(self, client: Client, data: bytes) -> None:
        client.out += data
        self._flush(client)
        if len(client.out) > self.cluster.max_pending and not client.gone:
            self.cluster.slow_consumers += 1
            self.lost(client.connection)
            client.connection.reset()

    def _flush(self, client: Client) -> None:
        room = client.connection.write_room()
        if room > 0 and client.out:
            client.connection.write(bytes(client.out[:room]))
            del client.out[:room]

    # --- other servers

    def learn(self, number: int, key: tuple[str, str | None], change: int) -> None:
        """Note a subscription of another server, or its end."""
        index = self.others.get(number)
        if index is not None:
            entries = self._entries.setdefault((number, *key), [])
            if change > 0:
                entries.append(index.add(key[0], key, queue=key[1]))
            elif entries:
                index.remove(entries.pop())

    def forget(self, number: int) -> None:
        """Forget the interest of another server: the route is lost."""
        self.others.pop(number, None)
        self._entries = {key: each for key, each in self._entries.items() if key[0] != number}
