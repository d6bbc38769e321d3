"""The simulated broker judged by a real nats-server: the same operations, the same deliveries.

A tape is a random program of a few clients, one operation at a time, each followed by a PING of
every client, so that what was delivered is known. Deliveries are equal up to the choice of a member
of a queue group.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from .cluster import Cluster
from .network import Connection, Network
from .scheduler import Scheduler

_CLIENTS = 3
_TOKENS = ("a", "b", "c")
#: What a server refuses; after the first it goes on, and it closes the connection after the others.
_REFUSED = (b"SUB a..b 99\r\n", b"PUB a 2000000\r\n", b"WHAT a\r\n")

#: For each operation: what each client read for it, in order.
Read = list[list[bytes]]


@dataclass
class Tape:
    """A program: the ``CONNECT`` of each client, and what a client sends in each step."""

    greetings: list[bytes]
    steps: list[tuple[int, bytes]]
    queues: dict[tuple[int, bytes], bytes]


def tape_of(seed: int) -> Tape:
    """Return the tape of a seed."""
    random = Random(f"tape:{seed}")
    greetings = []
    for _ in range(_CLIENTS):
        echo, headers, told = (random.random() < share for share in (0.7, 0.8, 0.5))
        said = {"verbose": False, "echo": echo, "headers": headers}
        text = json.dumps({**said, "no_responders": told and headers})
        greetings.append(b"CONNECT " + text.encode() + b"\r\n")
    steps: list[tuple[int, bytes]] = []
    queues: dict[tuple[int, bytes], bytes] = {}
    sids: list[tuple[int, bytes]] = []
    for number in range(random.randrange(5, 20)):
        client, kind = random.randrange(_CLIENTS), random.random()
        if kind < 0.4:
            sid = b"%d" % number
            alone = b"alone%d " % number  # a group of one member: nothing is chosen
            queue = random.choice((b"", b"", b"q ", b"r ", alone))
            steps.append((client, b"SUB %b %b%b\r\n" % (_pattern(random), queue, sid)))
            sids.append((client, sid))
            if queue:
                queues[client, sid] = queue.strip()
        elif kind < 0.5 and sids:
            client, sid = random.choice(sids)
            most = random.choice((b"", b"", b" 1", b" 2", b" 3"))
            if queues.get((client, sid), b"alone")[:5] != b"alone":
                most = b""  # what is left of it would depend on the choice
            steps.append((client, b"UNSUB %b%b\r\n" % (sid, most)))
        else:
            body = b"message %d of %d" % (number, seed)
            subject, reply = _subject(random), random.choice((b"", b"", _subject(random) + b" "))
            if random.random() < 0.3 and b'"headers": true' in greetings[client]:
                head = b"NATS/1.0\r\nx: y\r\n\r\n"
                line = b"HPUB %b %b%d %d\r\n%b%b\r\n"
                sizes = len(head), len(head) + len(body)
                steps.append((client, line % (subject, reply, *sizes, head, body)))
            else:
                steps.append((client, b"PUB %b %b%d\r\n%b\r\n" % (subject, reply, len(body), body)))
    if random.random() < 0.3:
        steps.append((random.randrange(_CLIENTS), random.choice(_REFUSED)))
    return Tape(greetings, steps, queues)


def _subject(random: Random) -> bytes:
    return ".".join(random.choice(_TOKENS) for _ in range(random.randrange(1, 4))).encode()


def _pattern(random: Random) -> bytes:
    tokens = [random.choice((*_TOKENS, "*")) for _ in range(random.randrange(1, 4))]
    if random.random() < 0.2:
        tokens[-1] = ">"
    return ".".join(tokens).encode()


def simulated(tape: Tape) -> Read:
    """Return what the clients read from the simulated broker."""
    scheduler = Scheduler("tape", 0.0)
    network = Network(scheduler, Random("tape"))
    network.cutting = 0.0
    broker = Cluster(network, Random("tape"), 1).brokers[0]
    connections = [Connection(network, broker, number) for number in range(_CLIENTS)]
    read: Read = []

    def settle() -> list[bytes]:
        while scheduler._events and scheduler._events[0][0] < scheduler.now + 1:
            when, _, call = scheduler._events[0]
            scheduler._events.pop(0)
            scheduler._events.sort()
            scheduler.now = max(scheduler.now, when)
            call()
        taken = [bytes(each.inbox).replace(b"PONG\r\n", b"") for each in connections]
        for each in connections:
            each.inbox.clear()
        return taken

    for connection, greeting in zip(connections, tape.greetings, strict=True):
        broker.accept(connection)
        connection.send(greeting)
    settle()
    for client, data in tape.steps:
        connections[client].send(data)
        read.append(settle())
    return read


class RealClients:
    """Connections to a real server.

    Args:
        port: Its port.
    """

    def __init__(self, port: int) -> None:
        self._port = port

    def read(self, tape: Tape) -> Read:
        """Return what the clients read from the server."""
        with contextlib.ExitStack() as stack:
            sockets = [
                stack.enter_context(socket.create_connection(("127.0.0.1", self._port)))
                for _ in range(_CLIENTS)
            ]
            for each, greeting in zip(sockets, tape.greetings, strict=True):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                each.sendall(greeting)
            self._settle(sockets)
            read = []
            for client, data in tape.steps:
                sockets[client].sendall(data)
                self._settle([sockets[client]], into := [b""])
                rest = self._settle(sockets)
                rest[client] = into[0] + rest[client]
                read.append(rest)
            return read

    def _settle(self, sockets: list[socket.socket], into: list[bytes] | None = None) -> list[bytes]:
        """Send a PING to each, and return what comes before its PONG."""
        taken = []
        for each in sockets:
            with contextlib.suppress(ConnectionError):  # the server has closed it
                each.sendall(b"PING\r\n")
        for each in sockets:
            data = b""
            with contextlib.suppress(ConnectionError):
                while not data.endswith(b"PONG\r\n"):
                    more = each.recv(65_536)
                    if not more:
                        break
                    data += more
            start = data.find(b"\r\n") + 2 if data.startswith(b"INFO ") else 0
            taken.append(data[start:].replace(b"PONG\r\n", b"").replace(b"PING\r\n", b""))
        if into is not None:
            into[0] = taken[0]
        return taken


def _messages(data: bytes) -> Iterator[tuple[bytes, bytes, bytes | None, bytes, bytes]]:
    """Yield subject, sid, reply, head and body of each message; then the rest, as a body."""
    while data.startswith((b"MSG ", b"HMSG ")):
        line, _, rest = data.partition(b"\r\n")
        name, subject, sid, *others = line.split()
        size = int(others.pop())
        head = int(others.pop()) if name == b"HMSG" else 0
        yield subject, sid, others[0] if others else None, rest[:head], rest[head:size]
        data = rest[size + 2 :]
    if data:
        yield b"", b"", None, b"", data


def normalized(tape: Tape, read: Read) -> list[Counter[tuple[object, ...]]]:
    """Return the deliveries of each step; a queue group stands in the place of its member."""
    steps = []
    for each in read:
        found: Counter[tuple[object, ...]] = Counter()
        for client, data in enumerate(each):
            for subject, sid, reply, head, body in _messages(data):
                queue = tape.queues.get((client, sid))
                if head.startswith(b"NATS/1.0 503"):
                    found[client, subject, head] += 1  # one of several subscriptions gets it
                elif queue is not None:  # a member without headers gets the body alone
                    found[("queue", queue), subject, reply, body] += 1
                else:
                    found[(client, sid), subject, reply, head, body] += 1
        steps.append(found)
    return steps


def compare(port: int, count: int) -> dict[str, int]:
    """Run the tapes of some seeds on the simulated broker and on a real server.

    Returns:
        The number of tapes, of those with a difference, and of deliveries on the real server; and
        the first seed with a difference, or -1.
    """
    clients = RealClients(port)
    found = {"tapes": count, "different": 0, "deliveries": 0, "first": -1}
    for seed in range(count):
        tape = tape_of(seed)
        there = normalized(tape, clients.read(tape))
        if normalized(tape, simulated(tape)) != there:
            found["different"] += 1
            found["first"] = seed if found["first"] < 0 else found["first"]
        found["deliveries"] += sum(each.total() for each in there)
    return found
