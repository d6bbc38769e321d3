"""A live nats-server as the oracle for delivery: plain subscriptions and queue groups at random."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from random import Random
from types import ModuleType
from typing import Any

import nats
import pytest

from connector.nats_server import NatsServer
from engines import ENGINES
from patience import settled
from subtrie import SubjectTrie

TOKENS, QUEUES = ["a", "b", "*"], ["g1", "g2", "g3"]
CLIENTS, ROUNDS, MESSAGES = 4, 12, 25


def _pattern(random: Random) -> str:
    tokens = random.choices(TOKENS, k=random.randint(1, 4))
    if random.random() < 0.25:
        tokens[-1] = ">"
    return ".".join(tokens)


def _subject(random: Random) -> str:
    return ".".join(random.choices(["a", "b", "c"], weights=[4, 4, 1], k=random.randint(1, 4)))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    made = NatsServer(tmp_path_factory.mktemp("nats")).start()
    yield made
    made.stop()


class _Program:
    """Clients of one broker that subscribe and unsubscribe, and what each of them received."""

    def __init__(self, random: Random, clients: list[Any], engine: ModuleType) -> None:
        self.random, self.clients = random, clients
        self.trie: SubjectTrie[int] = engine.SubjectTrie(dialect="server")
        self.held: dict[int, tuple[Any, Any, str, str | None]] = {}
        self.received: defaultdict[bytes, list[int]] = defaultdict(list)
        self.number = 0

    async def change(self) -> None:
        """Subscribe or unsubscribe, at the broker and in the index."""
        random = self.random
        if self.held and random.random() < 0.3:
            number = random.choice(list(self.held))
            subscription, handle, *_ = self.held.pop(number)
            await subscription.unsubscribe()
            assert self.trie.remove(handle)
            return
        self.number, number = self.number + 1, self.number
        pattern, queue = _pattern(random), random.choice([None, *QUEUES])

        async def receive(message: Any) -> None:
            self.received[bytes(message.data)].append(number)

        client = random.choice(self.clients)
        subscription = await client.subscribe(pattern, queue=queue or "", cb=receive)
        handle = self.trie.add(pattern, number, queue=queue)
        self.held[number] = subscription, handle, pattern, queue

    async def settle(self) -> None:
        """Wait until the broker has done all that was sent, and all that it sent was received."""
        for _ in range(2):
            for client in self.clients:
                await settled(client)
        async with asyncio.timeout(30):
            while any(held[0].pending_msgs for held in self.held.values()):
                await asyncio.sleep(0.001)

    def groups(self, numbers: list[int]) -> tuple[list[int], list[str]]:
        """Return the plain subscriptions among some, and the queue group of each other."""
        queues = {number: self.held[number][3] for number in numbers}
        plain = sorted(number for number in numbers if queues[number] is None)
        return plain, sorted(queue for queue in queues.values() if queue is not None)


@pytest.mark.requirement("S0-050", "S4-068")
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", list(ENGINES))
def test_one_member_of_each_group_and_every_other_subscriber_gets_a_message(
    server: NatsServer, name: str, seed: int
) -> None:
    """The broker delivers to each plain subscription of the index, and to one of each group."""
    shared, delivered = asyncio.run(_compared(server, name, seed))
    assert shared > 10, "some groups had several members to choose from"
    assert delivered > 300


async def _compared(server: NatsServer, name: str, seed: int) -> tuple[int, int]:
    """Run one program; return how many messages had such a group, and all that was delivered."""
    random = Random(f"queue-groups:{seed}")
    clients = [await nats.connect(server.url) for _ in range(CLIENTS)]
    program = _Program(random, clients, ENGINES[name])
    shared, delivered = 0, 0
    try:
        for number in range(ROUNDS):
            for _ in range(8):
                await program.change()
            await program.settle()
            sent = {b"%d.%d" % (number, each): _subject(random) for each in range(MESSAGES)}
            for data, subject in sent.items():
                await random.choice(clients).publish(subject, data)
            await program.settle()
            for data, subject in sent.items():
                members = list(program.trie.match(subject))
                plain, queues = program.groups(members)
                got_plain, got_queues = program.groups(program.received[data])
                assert got_plain == plain, subject
                assert got_queues == sorted(set(queues)), (subject, "one member of each group")
                assert set(program.received[data]) <= set(members)
                chosen = program.groups(list(program.trie.select(subject)))
                assert chosen == (plain, sorted(set(queues)))
                shared += len(queues) > len(set(queues))
                delivered += len(program.received[data])
    finally:
        for client in clients:
            await client.close()
    return shared, delivered
