"""Random programs on a client, with and without the short circuit: the results are the model's.

The model is what nats-server promises: every plain subscription gets each message its pattern
matches, one member of each queue group does, a subscription ends after ``max_msgs``; a request is
answered if a responder receives it, else it times out, or has no responders. Which member of a
queue group is chosen is not promised, so a group's deliveries are counted together.
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections import Counter

import nats
import pytest
from nats import errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription

from patience import settled
from subtrie._core.local_subscription import LocalSubscription
from subtrie.connector import ShortCircuit
from subtrie.reference import matches

PATTERNS = ("a.b", "a.*", "a.>", "*.b", ">", "a.b.c", "x", "*.*.c")
SUBJECTS = ("a.b", "a.c", "a.b.c", "x", "y.b", "nobody.at.all")


@pytest.mark.parametrize(
    ("ours", "theirs"), [(ShortCircuit, Client), (LocalSubscription, Subscription)]
)
def test_the_signatures_are_nats_pys(ours, theirs):
    """Whatever is public there is here, and what is made anew here takes the same arguments."""
    compared = []
    for name, theirs_is in vars(theirs).items():
        if name.startswith("_"):
            continue
        ours_is = vars(ours).get(name)
        if ours_is is None:
            assert "__getattr__" in vars(ours), f"{ours.__name__} has no {name}"
        elif not isinstance(theirs_is, property):
            compared.append(name)
            assert inspect.iscoroutinefunction(ours_is) == inspect.iscoroutinefunction(theirs_is)
            one, two = (
                [(p.name, p.kind, p.default) for p in inspect.signature(f).parameters.values()]
                for f in (ours_is, theirs_is)
            )
            assert one == two, name
    assert len(compared) >= 3


async def test_other_attributes_are_the_clients_own(broker):
    nc = ShortCircuit(await nats.connect(broker.url, name="me"))
    assert nc.is_connected
    assert not nc.is_closed
    assert nc.max_payload == nc._nc.max_payload
    assert nc.connected_url.port == int(broker.url.rpartition(":")[2])
    assert await nc.rtt() >= 0
    assert nc.new_inbox().startswith("_INBOX.")
    assert nc.jetstream() is not None
    async with nc:
        await settled(nc)
    assert nc.is_closed


class Program:
    """A random run of one client: the messages received, and those that the model expects."""

    def __init__(self, nc, base, seed):
        self.nc, self.base, self.random = nc, base, random.Random(seed)
        self.alive: list[dict] = []
        self.heard: Counter = Counter()
        self.wanted: Counter = Counter()
        self.failed: list[str] = []

    async def subscribe(self):
        number = self.random.randrange(10**9)
        queue = self.random.choice(("", "", "q1", "q2"))
        # Members of one group do the same, since any of them may be chosen.
        how = {"q1": "answer", "q2": "listen"}.get(queue)
        how = how or self.random.choice(("answer", "listen", "listen", "fail"))
        most = self.random.choice((0, 0, 0, 3)) if not queue else 0
        pattern = self.random.choice(PATTERNS)
        key = queue or number

        async def hear(message):
            self.heard[key, message.subject, message.data, str(message.headers)] += 1
            if how == "fail":
                raise ValueError(key)
            if how == "answer" and message.reply:
                await message.respond(b"re: " + message.data)

        subject = pattern if pattern == ">" else f"{self.base}.{pattern}"
        subject = f"{self.base}.>" if subject == ">" else subject
        made = await self.nc.subscribe(subject, queue=queue, cb=hear)
        if most:
            await made.unsubscribe(limit=most)
        self.alive.append(
            {"sub": made, "pattern": pattern, "queue": queue, "how": how, "key": key, "most": most}
        )
        await settled(self.nc)

    async def unsubscribe(self):
        if self.alive:
            gone = self.alive.pop(self.random.randrange(len(self.alive)))
            await (gone["sub"].drain() if self.random.random() < 0.5 else gone["sub"].unsubscribe())
            await settled(self.nc)

    def deliver(self, subject, data, headers):
        """Apply the model to a message; return whether it is received, and answered."""
        groups, reached = set(), []
        for each in list(self.alive):
            if not matches(each["pattern"], subject):
                continue
            if each["queue"]:
                if each["queue"] in groups:
                    continue
                groups.add(each["queue"])
            reached.append(each)
            self.wanted[each["key"], f"{self.base}.{subject}", data, str(headers)] += 1
            if each["most"]:
                each["most"] -= 1
                if not each["most"]:
                    self.alive.remove(each)
        return bool(reached), any(each["how"] == "answer" for each in reached)

    async def publish(self, number):
        subject, data = self.random.choice(SUBJECTS), b"%d" % number
        headers = self.random.choice((None, {"X-N": str(number)}))
        self.deliver(subject, data, headers)
        await self.nc.publish(f"{self.base}.{subject}", data, headers=headers)
        await settled(self.nc)

    async def request(self, number):
        subject, data = self.random.choice(SUBJECTS), b"%d" % number
        headers = self.random.choice((None, {"X-N": str(number)}))
        heard, answered = self.deliver(subject, data, headers)
        asking = self.nc.request(
            f"{self.base}.{subject}", data, timeout=20 if answered or not heard else 0.05,
            headers=headers,
        )  # fmt: skip
        if answered:
            assert (await asking).data == b"re: " + data
        elif heard:
            with pytest.raises(errors.TimeoutError):
                await asking
        else:
            with pytest.raises(errors.NoRespondersError):
                await asking

    async def settled(self):
        """Everything that was sent has been handled; both ways."""
        async with asyncio.timeout(20):
            while self.heard != self.wanted:
                assert not self.heard - self.wanted, self.heard - self.wanted
                await asyncio.sleep(0.002)

    async def run(self, steps):
        for number in range(steps):
            step = self.random.choice(
                (
                    "subscribe",
                    "subscribe",
                    "unsubscribe",
                    "publish",
                    "publish",
                    "request",
                    "request",
                )
            )
            if step in ("publish", "request"):
                await getattr(self, step)(number)
            else:
                await getattr(self, step)()
            await self.settled()


@pytest.mark.parametrize("way", ["bare", "short"])
@pytest.mark.parametrize("seed", range(6))
async def test_the_same_program_gives_the_same_results(broker, plane, seed, way):
    failures = []

    async def note(error):
        failures.append(str(error))

    nc = await nats.connect(broker.url, error_cb=note)
    program = Program(ShortCircuit(nc) if way == "short" else nc, f"prog.{plane}", seed)
    await program.run(60)
    keys = {each for (each, *_), times in program.wanted.items() if isinstance(each, int)}
    assert {int(each) for each in failures} <= keys
    await program.nc.drain()
    assert program.nc.is_closed
    assert program.heard == program.wanted
    if seed == 0:
        assert failures, "some callbacks failed, and were told of"
