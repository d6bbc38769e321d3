"""Services of two planes under load, the faults around them, and what became of each request."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from subtrie.connector import AckTimeout, Connector, HTTPError, Request, RequestTimeout
from subtrie.connector._envelope import PendingRequest

from .broker_cluster import BrokerCluster
from .fault_proxy import Faults

HOST = "shop.example"
CALLERS = ("web.example", "app.example")
PLANES = ("chaosone", "chaostwo")
OUTCOMES = ("response", "error", "timeout")

_FRAGMENTED = 300_000  # bytes: more than the brokers take in one message
_ONE_IN = 50  # requests that have such a body
_CALM = 30.0  # seconds in which everything must work again


class Violation(AssertionError):
    """A promise that the run has broken."""


@dataclass
class Report:
    """The figures of a run.

    Attributes:
        requests: How many were begun.
        outcomes: How many ended in which way.
        faults: How often which fault was injected.
        handled_twice: Requests that reached a handler twice, because a message was duplicated.
        seconds: How long the load lasted.
        memory_mib: Resident memory after the first tenth of the requests, and at the end.
    """

    requests: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    handled_twice: int = 0
    seconds: float = 0.0
    memory_mib: tuple[float, float] = (0.0, 0.0)


def resident_mib() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


class World:
    """Replicas and callers on each plane, over one cluster of brokers.

    Args:
        cluster: The brokers.
        seed: The seed of the load and of the faults.
        requests: After so many requests the load ends.
        seconds: After so many seconds too.
        duplicates: Whether messages may be sent twice; then a handler may run twice.
    """

    def __init__(
        self,
        cluster: BrokerCluster,
        *,
        seed: int,
        requests: int,
        seconds: float,
        duplicates: bool = True,
        width: int = 16,
    ) -> None:
        self.cluster, self.requests, self.seconds = cluster, requests, seconds
        self.duplicates, self.width = duplicates, width
        self.random = Random(f"chaos:{seed}")
        self.report = Report()
        self._options = {
            "nats": cluster.url, "short_circuit": False, "deployment": "TESTING",
            "round_trip": 0.25,
        }  # fmt: skip
        self._next, self._ends = 0, 0.0
        self._ended = bytearray(requests)  # for each request 1 when it has ended
        self._handled = bytearray(requests)
        self.replicas = [(plane, self._replica(plane)) for plane in PLANES for _ in range(2)]
        self.callers = [self._make(host, plane) for plane in PLANES for host in CALLERS]

    def _make(self, host: str, plane: str) -> Connector:
        return Connector(host, plane=plane, **self._options)

    def _replica(self, plane: str) -> Connector:
        shop = self._make(HOST, plane)

        @shop.endpoint("POST", "/{caller}/{n}")
        async def handle(caller: str, n: int, request: Request) -> dict[str, object]:
            self._handled[n] = min(self._handled[n] + 1, 255)
            if request.source != caller:
                raise Violation(f"request {n} of {caller} has the source {request.source}")
            if n % 17 == 0:
                raise HTTPError("refused on purpose", status=409)
            if n % 97 == 0:
                await asyncio.sleep(0.2)
            return {"n": n, "to": caller, "plane": plane, "size": len(request.body)}

        return shop

    async def run(self) -> Report:
        """Send the requests while faults are injected; then check that all is well again."""
        async with contextlib.AsyncExitStack() as stack:
            for connector in (*self.callers, *(shop for _, shop in self.replicas)):
                await connector.startup()
            stack.push_async_callback(self._stop)
            began = time.monotonic()
            self._ends = began + self.seconds
            trouble = asyncio.create_task(self._trouble())
            tasks = [
                asyncio.create_task(self._ask(caller))
                for caller in self.callers
                for _ in range(self.width)
            ]
            try:
                await asyncio.gather(*tasks)
            finally:
                trouble.cancel()
                await asyncio.gather(trouble, *tasks, return_exceptions=True)
            self.report.seconds = round(time.monotonic() - began, 1)
            await self._calm()
        self._judge()
        return self.report

    async def _stop(self) -> None:
        for connector in (*self.callers, *(shop for _, shop in self.replicas)):
            with contextlib.suppress(Exception):
                await connector.shutdown(timeout=0.5)

    async def _ask(self, caller: Connector) -> None:
        while self._next < self.requests and time.monotonic() < self._ends:
            number, self._next = self._next, self._next + 1
            outcome = await self._one(caller, number)
            if self._ended[number]:
                raise Violation(f"request {number} ended twice")
            self._ended[number] = 1
            self.report.outcomes[outcome] += 1
            if outcome != "response":
                await asyncio.sleep(0.01)
            if number == self.requests // 10:
                self.report.memory_mib = (resident_mib(), 0.0)

    async def _one(self, caller: Connector, number: int) -> str:
        body = bytes(_FRAGMENTED if number % _ONE_IN == 0 else number % 100)
        url = f"https://{HOST}/{caller.host}/{number}"
        try:
            answer = await caller.request("POST", url, body=body, timeout=2)
        except RequestTimeout:
            return "timeout"
        except (AckTimeout, HTTPError):
            return "error"
        wanted = {"n": number, "to": caller.host, "plane": caller.plane, "size": len(body)}
        if answer.json() != wanted or answer.source != HOST:
            raise Violation(f"request {number} of {caller.host} has the response {answer.json()}")
        return "response"

    # --- faults

    async def _trouble(self) -> None:
        actions = {
            "broker killed": self._kill,
            "connections cut": self._cut,
            "half-open": self._freeze,
            "delay": self._delay,
            "slow consumer": self._slow,
            "reordered": self._reorder,
            "partition": self._partition,
            "replica replaced": self._replace,
            "broken INFO": self._break_info,
        }
        if self.duplicates:
            actions["duplicated"] = self._duplicate
        names = list(actions)
        self.random.shuffle(names)
        while True:
            for name in names:  # each of them, before the first again
                await asyncio.sleep(self.random.uniform(0.05, 0.3))
                self.report.faults[name] += 1
                await actions[name]()

    def _some_clients(self) -> Faults:
        return self.random.choice(self.cluster.clients).faults

    async def _for_a_moment(self, faults: Faults, name: str, value: object) -> None:
        before = getattr(faults, name)
        setattr(faults, name, value)
        try:
            await asyncio.sleep(self.random.uniform(0.1, 0.6))
        finally:
            setattr(faults, name, before)

    async def _kill(self) -> None:
        number = self.random.randrange(self.cluster.count)
        await asyncio.to_thread(self.cluster.kill, number)
        try:
            await asyncio.sleep(self.random.uniform(0.1, 0.8))
        finally:
            await asyncio.shield(self.cluster.start(number))

    async def _cut(self) -> None:
        self.random.choice(self.cluster.clients).cut()

    async def _freeze(self) -> None:
        await self._for_a_moment(self._some_clients(), "frozen", True)

    async def _delay(self) -> None:
        await self._for_a_moment(self._some_clients(), "delay", 0.05)

    async def _slow(self) -> None:
        await self._for_a_moment(self._some_clients(), "bytes_per_second", 200_000)

    async def _reorder(self) -> None:
        await self._for_a_moment(self._some_clients(), "reorder", 0.2)

    async def _duplicate(self) -> None:
        await self._for_a_moment(self._some_clients(), "duplicate", 0.2)

    async def _break_info(self) -> None:
        """Break ``INFO`` of the connections that are open, and of those that are made soon."""
        proxy = max(self.cluster.clients, key=lambda each: len(each._clients))
        proxy.break_info()
        await self._for_a_moment(proxy.faults, "broken_info", True)

    async def _partition(self) -> None:
        proxy = self.random.choice(self.cluster.between)
        proxy.faults.refused = True
        proxy.cut()
        try:
            await asyncio.sleep(self.random.uniform(0.2, 0.8))
        finally:
            proxy.faults.refused = False

    async def _replace(self) -> None:
        place = self.random.randrange(len(self.replicas))
        plane, leaving = self.replicas[place]
        coming = self._replica(plane)
        self.replicas[place] = (plane, coming)
        with contextlib.suppress(Exception):
            await leaving.shutdown(timeout=0.2)
        with contextlib.suppress(ConnectionError, TimeoutError):
            await coming.startup()

    # --- afterwards

    async def _calm(self) -> None:
        """Take all faults away; every caller must get a response again."""
        for proxy in (*self.cluster.clients, *self.cluster.between):
            proxy.faults = Faults()
        for number in range(self.cluster.count):
            await self.cluster.start(number)
        for place, (plane, shop) in enumerate(self.replicas):
            if not shop.running:
                again = self._replica(plane)
                await again.startup()
                self.replicas[place] = (plane, again)
        ends = time.monotonic() + _CALM
        for caller in self.callers:
            while True:
                # A number of its own for the checks of the handler: neither refused nor slow.
                if await self._one(caller, 1) == "response":
                    break
                if time.monotonic() > ends:
                    raise Violation(f"{caller.host} of {caller.plane} does not recover")
                await asyncio.sleep(0.1)

    def _judge(self) -> None:
        report = self.report
        report.requests = self._next
        if sum(report.outcomes.values()) != self._next or sum(self._ended) != self._next:
            raise Violation(f"{self._next} requests, {sum(report.outcomes.values())} outcomes")
        self._handled[1] = min(self._handled[1], 1)  # the calm asks it again
        report.handled_twice = sum(times > 1 for times in self._handled)
        if report.handled_twice and not self.duplicates:
            raise Violation(f"{report.handled_twice} requests were handled twice")
        for caller in self.callers:
            waiting = caller._client.responses.waiting.values()
            if left := [each for each in waiting if isinstance(each, PendingRequest)]:
                raise Violation(f"{caller.host} still waits for {len(left)} responses")
            if left := len(caller._client.responses.transfers):
                raise Violation(f"{caller.host} keeps {left} transfers")
        for proxy in (*self.cluster.clients, *self.cluster.between):
            report.faults.update(proxy.injected)
        report.memory_mib = (round(report.memory_mib[0], 1), round(resident_mib(), 1))
