"""The faults of a world, each as one step that neither waits nor lets another actor run."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from .broker import Broker
from .cluster import Cluster
from .network import Connection, Network
from .scheduler import Actor, Scheduler

_UNNOTICED = 0.05  # seconds: half of what a caller waits for an acknowledgement
_ERRORS = ("Unknown Error", 'Permissions Violation for Publish to "elsewhere"', "x" * 300)


class Faults:
    """Injects faults, and takes them away again.

    Args:
        scheduler: The scheduler.
        network: The network.
        cluster: The servers.
        random: What is drawn from.
        replace: Begins to replace a replica of the service.
        acknowledges: Whether an actor has read messages and not yet acknowledged them, in a world
            that loses none: for its callers a long pause would be an absent service.

    Attributes:
        longest_pause: For how long an actor may not run.
        pauses: Until when actors did not run, and for how long, in seconds.
        active: Whether the network may still be hit.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        network: Network,
        cluster: Cluster,
        random: Random,
        replace: Callable[[], None],
        acknowledges: Callable[[Actor], bool],
    ) -> None:
        self._scheduler, self._network, self._cluster = scheduler, network, cluster
        self._random, self._replace, self._acknowledges = random, replace, acknowledges
        self.longest_pause = 1.0
        self.pauses: list[tuple[float, float]] = []
        self.active = True
        self._half_open: list[Connection] = []
        self._steps: dict[str, Callable[[], bool]] = {
            "reset": self._reset,
            "stall to the broker": lambda: self._stall(0),
            "stall from the broker": lambda: self._stall(1),
            "half-open": self._break,
            "broker killed": self._kill,
            "lame duck": self._shut_down,
            "route lost": self._cut,
            "paused": self._pause,
            "broker error": self._say_error,
            "replica replaced": self._replace_replica,
        }

    def inject(self, name: str) -> bool:
        """Let a fault happen; False if there was nothing that it could hit."""
        self._scheduler.note("fault:", name)
        return self._steps[name]()

    def paused(self, since: float = 0.0) -> float:
        """Return for how long actors did not run, in sum.

        Args:
            since: A time; pauses that had ended by then do not count.
        """
        return sum(seconds for until, seconds in self.pauses if until >= since)

    def heal(self) -> None:
        """Take all faults away: what was lost without notice is told now."""
        self.active = False
        network = self._network
        network.latency, network.buffer, network.window = 0.0005, 1 << 20, 1 << 20
        for connection in self._network.connections:
            connection.resume()
        for connection in self._half_open:
            connection.reset()
        for broker in self._cluster.brokers:
            self._start(broker)

    def _open(self) -> list[Connection]:
        return [
            each
            for each in self._network.connections
            if not (each.broken or each.server_closed or each.client_closed or each.half_open)
        ]

    def _some(self) -> Connection | None:
        found = self._open()
        return self._random.choice(found) if found else None

    def _reset(self) -> bool:
        connection = self._some()
        if connection is not None:
            connection.reset()
        return connection is not None

    def _stall(self, way: int) -> bool:
        connection = self._some()
        if connection is not None:
            connection.stall(self._random.uniform(0.05, 3.0), way)
        return connection is not None

    def _break(self) -> bool:
        connection = self._some()
        if connection is not None:
            connection.break_half_open()
            self._half_open.append(connection)
        return connection is not None

    def _up(self) -> list[Broker]:
        return [each for each in self._cluster.brokers if each.up and not each.lame]

    def _again(self, broker: Broker, seconds: float) -> None:
        when = self._scheduler.now + seconds
        self._scheduler.at(when, lambda: self._start(broker))

    def _start(self, broker: Broker) -> None:
        cluster = self._cluster
        if broker.lame:  # it would refuse for ever
            cluster.kill(broker)
        cluster.start(broker, at_once=not self.active)
        if not self.active:
            for other in cluster.brokers:
                if other is not broker:
                    cluster.connect(broker, other)

    def _kill(self) -> bool:
        up = self._up()
        if up:
            broker = self._random.choice(up)
            self._cluster.kill(broker)
            self._again(broker, self._random.uniform(0.05, 2.0))
        return bool(up)

    def _shut_down(self) -> bool:
        up = self._up()
        if up:
            broker, seconds = self._random.choice(up), self._random.uniform(0.05, 1.0)
            self._cluster.shut_down(broker, seconds)
            self._again(broker, seconds + self._random.uniform(0.05, 1.0))
        return bool(up)

    def _cut(self) -> bool:
        cluster = self._cluster
        if len(cluster.brokers) < 2:
            return False
        one, two = self._random.sample(cluster.brokers, 2)
        if not cluster.cut(one, two):
            return False
        when = self._scheduler.now + self._random.uniform(0.05, 2.0)
        self._scheduler.at(when, lambda: cluster.connect(one, two))
        return True

    def _pause(self) -> bool:
        actors = [each for each in self._scheduler.actors if not each.done]
        actor, seconds = (
            self._random.choice(actors),
            self._random.uniform(0.001, self.longest_pause),
        )
        if self._acknowledges(actor):
            seconds = min(seconds, _UNNOTICED)
        actor.paused_until = self._scheduler.now + seconds
        self.pauses.append((actor.paused_until, seconds))
        return True

    def _say_error(self) -> bool:
        clients = [each for broker in self._cluster.brokers for each in broker.clients.values()]
        if clients:
            client = self._random.choice(clients)
            text = self._random.choice(_ERRORS)
            self._cluster.brokers[0]._send(client, f"-ERR '{text}'\r\n".encode())
        return bool(clients)

    def _replace_replica(self) -> bool:
        self._replace()
        return True
