"""Every request ends in exactly one of response, error, timeout.

Random programs, each from its seed: replicas that come and go, handlers that fail in every way,
callers that give up, bodies that need fragments, a broker that is killed and comes back. Whatever
happens, each caller gets one result, no handler runs twice for one request, and nothing stays open.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter

import pytest

from subtrie.connector import AckTimeout, HTTPError, Request, RequestTimeout, Response
from subtrie.connector._envelope import PendingRequest

from .nats_server import NatsServer

HOST = "shop.example"
HOWS = ["good"] * 4 + ["error", "crash", "exit", "nojson", "toolarge", "slow", "deaf", "stubborn"]
HOWS += ["cancel", "nested", "thread", "nobody", "hurried"]
TIMES = {"deaf": 0.4, "stubborn": 0.4, "hurried": 0.001}


class Crash(BaseException):
    """Not an ``Exception``: what only the outermost handlers should catch."""


class World:
    """Two services of a few replicas, a caller, and what became of every request."""

    def __init__(self, make, seed, **options):
        self.random = random.Random(seed)
        self.make, self.options = make, {"round_trip": 0.15, **options}
        self.web = make("web.example", **self.options)
        self.runs: Counter[int] = Counter()
        self.outcomes: dict[int, str] = {}

    def replica(self):
        shop = self.make(HOST, max_body=400_000, **self.options)

        @shop.endpoint("POST", "/{how}/{n}")
        async def handle(how: str, n: int, request: Request):
            self.runs[n] += 1
            if how == "error":
                raise HTTPError("no", status=409)
            if how == "crash":
                raise Crash("crash")
            if how == "exit":
                raise GeneratorExit
            if how == "nojson":
                return object()
            if how == "toolarge":
                return bytes(400_001)
            if how == "slow":
                await asyncio.sleep(0.05)
            if how == "deaf":
                await asyncio.sleep(60)
            if how == "stubborn":
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    await asyncio.sleep(0.01)
            if how == "cancel":
                raise asyncio.CancelledError
            if how == "nested":
                return (await shop.request("POST", f"https://{HOST}/good/{n + 1000}")).body
            return b"%d:" % n + request.body

        @shop.endpoint("POST", "/thread/{n}")
        def run_in_thread(n: int, request: Request):
            self.runs[n] += 1
            return b"%d:" % n + request.body

        return shop

    async def ask(self, n):
        how = self.random.choice(HOWS)
        body = bytes(self.random.choice((0, 10, 10, 140_000, 300_000)))
        url = f"https://{'nobody.example' if how == 'nobody' else HOST}/{how}/{n}"
        try:
            answer = await self.web.request("POST", url, body=body, timeout=TIMES.get(how, 3))
        except RequestTimeout:
            self.note(n, "timeout")
        except AckTimeout:
            self.note(n, "error")
        except HTTPError as error:
            self.note(n, "error" if how != "nobody" else f"nobody: {error.status}")
        except asyncio.CancelledError:
            self.note(n, "cancelled")
            raise
        else:
            assert isinstance(answer, Response)
            wanted = b"%d:" % (n + 1000) if how == "nested" else b"%d:" % n + body
            assert answer.body == wanted
            assert how in ("good", "slow", "nested", "stubborn", "thread")
            self.note(n, "response")

    def note(self, n, outcome):
        assert n not in self.outcomes, (n, outcome, self.outcomes[n])
        self.outcomes[n] = outcome

    async def run(self, calls, trouble):
        """Asks this often, while there is trouble; then looks at what is left."""
        replicas = [self.replica() for _ in range(3)]
        async with self.web:
            for each in replicas:
                await each.startup()
            asking, troubled = [], asyncio.create_task(trouble(self, replicas))
            for n in range(calls):
                asking.append(asyncio.create_task(self.ask(n)))
                if self.random.random() < 0.15:
                    asyncio.get_running_loop().call_later(
                        self.random.random() * 0.1, self.random.choice(asking).cancel
                    )
                await asyncio.sleep(self.random.choice((0, 0, 0.001, 0.02)))
            done = await asyncio.gather(*asking, return_exceptions=True)
            broken = [each for each in done if isinstance(each, BaseException)]
            assert [each for each in broken if not isinstance(each, asyncio.CancelledError)] == []
            await troubled
            # A cancelled task may not have begun at all: then nothing was asked.
            assert set(self.outcomes) | {
                n for n, each in enumerate(done) if isinstance(each, asyncio.CancelledError)
            } == set(range(calls))
            for each in [self.web, *replicas]:
                waits = [
                    c
                    for c in each._client.responses.waiting.values()
                    if isinstance(c, PendingRequest)
                ]
                assert [c for c in waits if each is self.web] == []
            for each in replicas:
                await each.shutdown(timeout=0.05)
                assert not each._server.runner.tasks
                assert len(each._server.transfers) == 0 or not each.running
        assert len(self.web._client.responses.transfers) == 0
        assert max(self.runs.values()) == 1, [n for n, times in self.runs.items() if times > 1]


async def coming_and_going(world, replicas):
    """Replicas leave in the middle of everything, and others come."""
    for _ in range(4):
        await asyncio.sleep(world.random.random() * 0.15)
        leaving = replicas.pop(0)
        await leaving.shutdown(timeout=world.random.choice((0.0, 0.05)))
        assert not leaving._server.runner.tasks
        coming = world.replica()
        replicas.append(coming)
        await coming.startup()


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.CRITICAL, "subtrie.connector")


@pytest.mark.parametrize("seed", range(3))
async def test_every_request_ends_in_exactly_one_way(make, seed):
    world = World(make, seed)
    await world.run(120, coming_and_going)
    assert {"response", "error"} <= set(world.outcomes.values())
    assert set(world.outcomes.values()) <= {"response", "error", "timeout", "cancelled"}


@pytest.mark.parametrize("seed", range(2))
async def test_every_request_ends_once_while_the_broker_restarts(make_nats, tmp_path, seed):
    server = NatsServer(tmp_path, max_payload=196_608).start()

    async def killed(world, replicas):
        for _ in range(2):
            await asyncio.sleep(0.05 + world.random.random() * 0.2)
            await asyncio.to_thread(server.kill)
            await asyncio.sleep(world.random.random() * 0.2)
            await asyncio.to_thread(server.start)

    try:
        world = World(make_nats, seed, nats=server.url)
        await world.run(120, killed)
        assert "response" in world.outcomes.values()
    finally:
        server.stop()


@pytest.mark.parametrize("seed", range(2))
async def test_every_request_ends_once_on_both_transports(make_memory, broker, seed):
    world = World(make_memory, seed, nats=broker.url)
    await world.run(120, coming_and_going)
