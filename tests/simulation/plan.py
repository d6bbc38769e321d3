"""The size of a world, how its network behaves, and its faults: all drawn from its seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

#: The phases of a request, in order.
PHASES = ("begun", "sent", "acknowledged", "fragments", "handling", "handled", "responded")

#: Faults that a world may have: what a name means stands in ``faults``.
FAULTS = (
    "reset", "stall to the broker", "stall from the broker", "half-open", "broker killed",
    "lame duck", "route lost", "paused", "broker error", "replica replaced",
)  # fmt: skip

#: Faults without which no message is lost: every request must succeed.
HARMLESS = ("paused", "broker error")

#: What a request is.
KINDS = ("async", "plain", "large", "nested", "multicast", "denied", "slow", "late", "two")


@dataclass
class Plan:
    """A world before it begins.

    Attributes:
        seed: The seed.
        calm: Whether no fault loses a message: then every request must succeed.
        brokers: The number of servers.
        short_circuit: Whether services and callers of one loop bypass the broker.
        shared: Whether all services and callers share one connection.
        together: Whether the services run on the loop of the first caller.
        replicas: Instances of the service.
        callers: The number of callers.
        requests: Requests of each caller, and how many of them run at once.
        width: How many of them run at once.
        switching: The share of points at which another actor may go on.
        triggers: Faults, each with a phase, and how many requests must have been in it before.
        storm: When the network heals, in seconds after the start.
        latency: The mean time on the way.
        cutting: The share of pieces that are cut further.
        partial: The share of partial writes.
        buffer: Bytes that the system of a client takes.
        window: Bytes on the way to a client.
        max_pending: Bytes that may wait for a client at a server.
        intruder: Whether another client repeats messages in its own name.
        loop_reads_after: Reads in a row after which the loop of the services reads a connection.
    """

    seed: object
    calm: bool = True
    brokers: int = 1
    short_circuit: bool = False
    shared: bool = False
    together: bool = False
    replicas: int = 2
    callers: int = 2
    requests: int = 6
    width: int = 2
    switching: float = 0.2
    triggers: list[tuple[str, str, int]] = field(default_factory=list)
    storm: float = 6.0
    latency: float = 0.0005
    cutting: float = 0.1
    partial: float = 0.0
    buffer: int = 1 << 20
    window: int = 1 << 20
    max_pending: int = 8 << 20
    intruder: bool = False
    loop_reads_after: int = 1


def plan_of(seed: object) -> Plan:
    """Return the plan of a seed."""
    random = Random(f"plan:{seed}")
    plan = Plan(seed)
    plan.calm = random.random() < 0.4
    plan.brokers = random.choice((1, 1, 3))
    plan.short_circuit = random.random() < 0.25
    plan.shared = random.random() < 0.3
    plan.together = random.random() < 0.3
    plan.replicas = random.choice((1, 2, 2))
    plan.callers = random.choice((1, 2))
    plan.requests = random.choice((3, 5, 8))
    plan.width = random.choice((1, 2, 4))
    plan.switching = random.choice((0.02, 0.1, 0.3, 0.7))
    plan.latency = random.choice((0.0001, 0.0005, 0.003))
    plan.cutting = random.choice((0.0, 0.1, 0.4))
    plan.partial = random.choice((0.0, 0.0, 0.3))
    plan.buffer = random.choice((4_096, 65_536, 1 << 20))
    plan.window = random.choice((16_384, 1 << 20))
    plan.intruder = random.random() < 0.3
    kinds = HARMLESS if plan.calm else FAULTS
    for _ in range(random.choice((0, 1, 2) if plan.calm else (1, 2, 3, 4))):
        name, phase = random.choice(kinds), random.choice(PHASES)
        before = random.randrange(3) if phase != "fragments" else 0  # few requests have any
        plan.triggers.append((name, phase, before))
    if any(name == "route lost" for name, _, _ in plan.triggers):
        plan.brokers = 3
    if plan.calm:  # a narrow network delays acknowledgements for longer than callers wait
        plan.latency, plan.buffer = min(plan.latency, 0.0005), max(plan.buffer, 65_536)
        plan.window = 1 << 20
    else:
        plan.storm = random.choice((3.0, 6.0, 6.0, 90.0))
        plan.max_pending = random.choice((200_000, 8 << 20))
    plan.loop_reads_after = random.choice((1, 1, 2, 16))
    return plan
