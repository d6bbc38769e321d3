"""One world: services and callers over simulated brokers, its faults, and what must hold."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from random import Random
from typing import Any

from subtrie.connector import Connector, Request, _io_thread, _threads
from subtrie.connector._broker import shared

from .broker import Client, Message
from .cluster import Cluster
from .faults import Faults
from .installed import installed
from .network import Network
from .plan import KINDS, Plan, plan_of
from .scheduler import Actor, Scheduler, Violation
from .services import DENIED, INNER, SHOP, add_endpoints, add_inner, ask, body_of
from .simulated_system import SimulatedLoop

SECRET = "planted-secret-of-the-broker"
_PLANE = "simulated"
_INTRUDER = "intruder.example"
_CALM = 5.0  # seconds after the network has healed, in which everything must work
_PAUSE = 0.25  # seconds before a replica that could not start tries again

_OP = re.compile(rb"Microbus-Op-Code: (\w+)")
_ID = re.compile(rb"Microbus-Msg-Id: (\S+)")
_FRAGMENT = re.compile(rb"Microbus-Fragment: (\d+)/")
_TARGET = re.compile(rb"POST \S+?/([a-z]+)/([a-z.]+)/(\d+)")
_ACK = re.compile(rb"Microbus-Op-Code: Ack\r\n")


class _Log(logging.Handler):
    """Writes what is logged to the tape, and looks for secrets and errors in it."""

    def __init__(self, world: World) -> None:
        super().__init__(logging.DEBUG)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        world, text = self._world, record.getMessage()
        if SECRET in text or SECRET in str(vars(record)):
            world.violated(f"a secret is logged: {text}")
        if "could not be processed" in text:
            world.violated(f"an error is logged: {text} {record.exc_info}")
        world.scheduler.note("log:", record.levelname, text)


class _Changes:
    """Lets tasks of any loop wait until something holds.

    A task that looked again and again would take most of the turns of a world.
    """

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        while not holds():
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future

    def tell(self) -> None:
        """Let all who wait look again."""
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.get_loop().call_soon_threadsafe(each.set_result, None)


class World:
    """A world of one plan.

    Args:
        plan: The plan, or the seed of one.

    Attributes:
        outcomes: How many requests of which kind ended in which way.
        seen: How often each fault hit a request in which phase.
    """

    def __init__(self, plan: Plan | int | str) -> None:
        self.plan = plan = plan if isinstance(plan, Plan) else plan_of(plan)
        seed = plan.seed
        self.random = Random(f"load:{seed}")
        self.scheduler = Scheduler(seed, plan.switching)
        self.network = network = Network(self.scheduler, Random(f"network:{seed}"))
        network.latency, network.cutting, network.partial = plan.latency, plan.cutting, plan.partial
        network.buffer, network.window = plan.buffer, plan.window
        network.on_send = self._on_send
        self.cluster = Cluster(network, Random(f"brokers:{seed}"), plan.brokers)
        self.cluster.max_payload, self.cluster.max_pending = 131_072, plan.max_pending
        self.cluster.password = SECRET
        self.cluster.denied = lambda user, subject: DENIED.replace(".", "_") in subject
        self.cluster.on_publish = self._on_publish
        self.faults = Faults(
            self.scheduler,
            network,
            self.cluster,
            Random(f"faults:{seed}"),
            self._replace,
            self._acknowledges,
        )
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.seen: Counter[tuple[str, str]] = Counter()
        self._numbers: dict[bytes, int] = {}  # requests by message id
        self._acknowledged: set[bytes] = set()
        self._entered: set[tuple[str, int]] = set()
        self._triggers = {(phase, number): name for name, phase, number in plan.triggers}
        self._in_phase: Counter[str] = Counter()
        self._up = self._done = self._users = 0
        self._healed = plan.calm
        self._stopping = False
        self._changes = _Changes()
        self._replacing: set[int] = set()
        self._last: dict[int, str] = {}
        self._began = 0  # handlers that wait for their deadlines
        self._cancelled: dict[Connector, int] = {}  # the last of them that a shutdown cancelled
        self._connectors: list[Connector] = []
        #: Whether each acknowledgement takes the way over the bus, and no connection is lost.
        self._over_the_bus = plan.calm and not plan.short_circuit

    # --- what must hold

    def violated(self, text: str) -> None:
        """End the world: a promise is broken."""
        error = Violation(f"seed {self.plan.seed}: {text}")
        self.scheduler.fail(error)
        raise error

    def enter(self, phase: str, number: int) -> None:
        """Note the phase of a request; a fault may be due in it."""
        if (phase, number) in self._entered:
            return
        self._entered.add((phase, number))
        self.scheduler.note("phase:", phase, number)
        name = self._triggers.get((phase, self._in_phase[phase]))
        self._in_phase[phase] += 1
        due = name is not None and (self.faults.active or self.plan.calm)
        if due and self.faults.inject(name):
            self.seen[name, phase] += 1

    def outcome(self, number: int, kind: str, outcome: str) -> None:
        """Note how a request ended."""
        self.scheduler.note("outcome:", number, kind, outcome)
        self.outcomes[kind, outcome] += 1
        self._last[number] = outcome

    def takes(self) -> float:
        """Return how long a handler works."""
        return self.random.choice((0.0, 0.0, 0.001, 0.05))

    def begun(self, service: Connector, request: Request, caller: str, number: int) -> None:
        """Check a request when its handler begins."""
        self.enter("handling", number)
        if request.headers["Microbus-From-Host"] != request.source:
            self.violated(f"the header of {number} says {request.headers['Microbus-From-Host']}")
        if request.source not in (caller, _INTRUDER):
            self.violated(f"request {number} of {caller} has the source {request.source}")
        places = service._server.runner.places
        if not 0 <= places.taken <= 2 * places.most:
            self.violated(f"{places.taken} places are taken")
        waiting = request.caller if hasattr(request, "caller") else None
        message_id = getattr(request, "message_id", "").encode()
        looked_at = self._over_the_bus and waiting is None and message_id in self._numbers
        known = message_id in self._acknowledged or not looked_at
        if not known and not self._ack_waits(service, message_id):
            self.violated(f"the handler of {number} begins before its acknowledgement")

    def _ack_waits(self, service: Connector, message_id: bytes) -> bool:
        """Return whether an acknowledgement was handed to the transport, which is full."""
        nats = service._transport.nats
        session = None if nats is None else nats._session
        if session is None or session._transport is None:
            return True
        waits = bytes(session._transport._buffer) + session._rest
        if not session.writable:
            waits += b"".join(each for each in nats._outbox if isinstance(each, bytes))
        return message_id in waits

    def whole(self, request: Request, caller: str, number: int) -> None:
        """Check a body that came in fragments."""
        if request.source == caller and request.body != body_of(caller, number, "large"):
            self.violated(f"the body of {number} is not what was sent")

    @contextlib.asynccontextmanager
    async def within(self, service: Connector, request: Any, kind: str) -> AsyncIterator[None]:
        """Check that a handler is cancelled at its deadline, or by a shutdown in its turn."""
        deadline = request.deadline
        self._began += 1
        number = self._began
        try:
            yield
        except asyncio.CancelledError:
            if self.scheduler.now < deadline - 0.001:
                if number < self._cancelled.get(service, 0):
                    self.violated("a shutdown cancels handlers in another order than they began")
                self._cancelled[service] = number
            raise
        finally:
            late = self.scheduler.now - deadline - self.faults.paused()
            if late > 0.3:
                self.violated(f"a handler ({kind}) ended {late:.3f} s after its deadline")

    # --- what is seen on the way

    def _on_send(self, data: bytes) -> None:
        if _ACK.search(data):
            self._acknowledged.update(_ID.findall(data))

    def _on_publish(self, client: Client, message: Message) -> None:
        head = message.body[:2_000]
        op, found = _OP.search(head), _ID.search(head)
        if op is None or found is None:
            return
        target = _TARGET.search(head.partition(b"\r\n")[0])
        if op[1] == b"Req" and target is not None and target[1] != b"inner":
            number = int(target[3])
            self._numbers[found[1]] = number
            fragment = _FRAGMENT.search(head)
            part = int(fragment[1]) if fragment is not None else 1
            self.enter("sent" if part == 1 else "fragments", number)
            if self.plan.intruder and self.random.random() < 0.5:
                self._intrude(message, target[2].decode())
            return
        number_of = self._numbers.get(found[1])
        if number_of is not None:
            self.enter("acknowledged" if op[1] == b"Ack" else "responded", number_of)

    def _intrude(self, message: Message, caller: str) -> None:
        """Repeat a message in the name of another client, which may use its own name only."""
        parts = message.subject.split(".")
        mine, theirs = _INTRUDER.replace(".", "_"), caller.replace(".", "_")
        if theirs not in parts:
            return
        parts[parts.index(theirs)] = mine
        body = message.body[:-100] + b"y" * 100 if len(message.body) > 10_000 else message.body
        again = Message(".".join(parts), None, message.header, body)
        up = [each for each in self.cluster.brokers if each.up]
        if up:
            self.random.choice(up)._deliver(again, None, None)
            self.scheduler.note("the intruder repeats", again.subject)

    # --- actors

    def run(self) -> World:
        """Run the world to its end.

        Raises:
            Violation: A promise is broken.
        """
        plan, scheduler = self.plan, self.scheduler
        log = _Log(self)
        loggers = [logging.getLogger("subtrie.connector"), logging.getLogger("asyncio")]
        before = [(each.level, each.propagate, each.disabled) for each in loggers]
        collects = gc.isenabled()
        gc.collect(0)
        gc.disable()  # when it collects depends on what the process did before
        try:
            for each in loggers:
                each.addHandler(log)
                each.setLevel(logging.INFO)
                each.propagate = False
            with installed(scheduler, self.network, plan.seed, plan.loop_reads_after):
                callers = [self._call(number) for number in range(plan.callers)]
                services = [self._serve(number) for number in range(plan.replicas)]
                mains = [[each] for each in [*callers, *services]]
                if plan.together:
                    mains = [[callers[0], *services], *([each] for each in callers[1:])]
                self._users = len(services)
                for number, several in enumerate(mains):
                    scheduler.spawn(f"loop-{number}", self._run_loop, several)
                if not plan.calm:
                    scheduler.at(scheduler.now + plan.storm, self._heal)
                scheduler.run()
                self._at_rest()
        finally:
            if scheduler.failure is not None:
                gc.collect()  # what the stopped threads left has its ends now
            if collects:
                gc.enable()
            for each, (level, propagate, disabled) in zip(loggers, before, strict=True):
                each.removeHandler(log)
                each.setLevel(level)
                each.propagate, each.disabled = propagate, disabled
        return self

    def _heal(self) -> None:
        self.scheduler.note("the network heals")
        self.faults.heal()
        self._healed = True
        self._changes.tell()

    def _run_loop(self, mains: list[Callable[[], Coroutine[Any, Any, None]]]) -> None:
        loop = SimulatedLoop(
            self.scheduler, self.network, Random(f"turns:{self.plan.seed}:{len(mains)}")
        )
        loop.set_exception_handler(self._on_exception)
        asyncio.set_event_loop(loop)

        async def main() -> None:
            await asyncio.gather(*(each() for each in mains))
            await asyncio.sleep(1.0)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            if left:
                self.violated(f"tasks are left: {sorted(map(str, left))}")

        try:
            loop.run_until_complete(main())
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    def _on_exception(self, loop: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not self.scheduler.over:
            self.violated(f"an event loop met an error: {context.get('message')}: {error!r}")

    def _acknowledges(self, actor: Actor) -> bool:
        """Return whether the loop of a service reads a connection just now, and loses none."""
        sessions = [each._session for each in shared.all_connections()] if self.plan.calm else []
        readings = [each._reading for each in sessions if each is not None]
        return any(each is not None and each._lock._holder is actor for each in readings)

    def _make(self, host: str, user: str) -> Connector:
        plan = self.plan
        user = "all" if plan.shared else user
        url = ",".join(
            each.replace("://", f"://{user}:{SECRET}@") for each in self.cluster.url.split(",")
        )
        connector = Connector(
            host, plane=_PLANE, nats=url, deployment="TESTING", short_circuit=plan.short_circuit
        )
        self._connectors.append(connector)
        return connector

    def _service(self, number: int) -> list[Connector]:
        service = self._make(SHOP, f"service{number}")
        add_endpoints(self, service, 0.5 + 0.3 * number)
        if number:
            return [service]
        inner = self._make(INNER, "inner")
        add_inner(self, inner)
        return [inner, service]

    def _serve(self, number: int) -> Callable[[], Coroutine[Any, Any, None]]:
        async def serve() -> None:
            services = self._service(number)
            for each in services:
                await each.startup()
            self._up += 1
            self._changes.tell()
            while not self._stopping:
                await self._changes.until(lambda: self._stopping or number in self._replacing)
                while number in self._replacing and not self._stopping:
                    services[-1] = await self._replaced(services[-1], number)
                    if services[-1].running:
                        self._replacing.discard(number)
                    else:
                        await asyncio.sleep(_PAUSE)
            for each in services:
                await each.shutdown(timeout=1.0)
                self._connector_at_rest(each)

        return serve

    async def _replaced(self, leaving: Connector, number: int) -> Connector:
        await leaving.shutdown(timeout=0.2)
        coming = self._service(number)[-1]
        try:
            await coming.startup()
        except (ConnectionError, TimeoutError) as error:
            self.scheduler.note("a replica could not start:", error)
        return coming

    def _replace(self) -> None:
        self._replacing.add(self.random.randrange(self.plan.replicas))
        self._changes.tell()

    def _call(self, number: int) -> Callable[[], Coroutine[Any, Any, None]]:
        plan = self.plan

        async def call() -> None:
            caller = self._make("web.example" if number == 0 else "app.example", f"caller{number}")
            await caller.startup()
            await self._changes.until(lambda: self._up == plan.replicas)
            await asyncio.sleep(0.2)  # the routes tell each other of the subscriptions
            first = number * plan.requests
            numbers = iter(range(first, first + plan.requests))

            async def ask_some() -> None:
                for each in numbers:
                    kind = self.random.choice(KINDS)
                    await ask(self, caller, each, kind, must=plan.calm)
                    await asyncio.sleep(self.random.choice((0.0, 0.01, 0.3)))

            await asyncio.gather(*(ask_some() for _ in range(plan.width)))
            await self._changes.until(lambda: self._healed)
            if not plan.calm:
                await self._recover(caller, 10_000 * (number + 1))
            self._done += 1
            if self._done == plan.callers:
                self._subscribed_once()
                self._stopping = True
                self._changes.tell()
            await self._changes.until(lambda: self._stopping)
            await caller.shutdown(timeout=1.0)
            self._connector_at_rest(caller)

        return call

    async def _recover(self, caller: Connector, first: int) -> None:
        """Check that requests succeed soon after the network has healed, and all from then on."""
        ends = self.scheduler.now + _CALM + self.faults.longest_pause
        while True:
            await ask(self, caller, first, "async", must=False)
            if self._last[first] == "response":
                break
            first += 1
            if self.scheduler.now > ends:
                self.violated(f"{caller.host} does not recover")
            await asyncio.sleep(0.1)
        await asyncio.sleep(_CALM)
        for kind in ("async", "plain", "large", "nested", "multicast"):
            first += 1
            await ask(self, caller, first, kind, must=True)

    # --- at rest

    def _subscribed_once(self) -> None:
        """Check that each subscription of a connection stands once at its broker."""
        clients = {
            each.connection.number: each
            for broker in self.cluster.brokers
            for each in broker.clients.values()
        }
        for pooled in shared.all_connections():
            session = pooled._session
            if session is None or session._transport is None:
                continue
            number = session._transport._sock.connection.number
            client = clients.get(number)
            if client is None:
                continue
            sids = [sid for sid, _, _ in client.subscribed]
            if len(set(sids)) != len(sids):
                self.violated(f"a subscription was made twice: {sids}")
            there = Counter((each.pattern, each.queue) for each in client.subscriptions.values())
            here = Counter((each.pattern, each.queue) for each in pooled._subscriptions.values())
            if there - here:
                self.violated(f"subscriptions that nobody knows: {list(there - here)[:3]}")
            if self._healed and here - there and not client.gone:
                self.violated(f"subscriptions are missing: {list(here - there)[:3]}")

    def _connector_at_rest(self, connector: Connector) -> None:
        """Check that a connector which has shut down keeps nothing."""
        server, responses = connector._server, connector._client.responses
        left = {
            "requests that wait": len(responses.local),
            "responses in fragments": len(responses.transfers),
            "requests in fragments": len(server.transfers),
            "handlers": len(server.runner.tasks),
            "places": server.runner.places.taken + server.runner.control_places.taken,
            "steps of another thread": len(connector._runtime._handed),
        }
        if any(left.values()):
            self.violated(f"{connector.host} keeps {left}")

    def _at_rest(self) -> None:
        """Check that the process keeps nothing."""
        open_sockets = [each for each in self.network.sockets.values() if not each.closed]
        threads = _threads._threads
        runtimes = [each._runtime for each in self._connectors]
        timers = [each.timers for each in runtimes if hasattr(each, "timers")]
        left = {
            "connections": shared.open_connections(),
            "the thread of connections": int(_io_thread._loop is not None),
            "sockets": len(open_sockets),
            "threads": 0 if threads is None else threads._taken,
            "timeouts": sum(len(each) for each in timers),
        }
        if any(left.values()):
            raise Violation(f"seed {self.plan.seed}: at rest there are {left}")
