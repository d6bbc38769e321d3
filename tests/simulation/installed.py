"""A simulated system in the place of the real one, for the length of a world."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from random import Random

from subtrie._core import dispatcher
from subtrie.connector import _io_thread, _metrics, _runtime, _system, _threads, _transport
from subtrie.connector._broker import loop_reading, shared

from .network import Network
from .scheduler import Scheduler
from .simulated_system import Lock, Queue, SimulatedLoop, Threads

_NAMES = (
    "now", "monotonic", "random_bytes", "random_choice", "uniform", "shuffle", "lock", "queue",
    "new_event_loop", "start_thread", "executor",
)  # fmt: skip


def _forget() -> None:
    """Let the connector forget connections, threads and subscriptions, as after a fork."""
    for module in (_io_thread, shared, _threads, _transport, _runtime, dispatcher):
        module._after_fork()
    _io_thread._restored = None
    _metrics._logged.clear()


@contextlib.contextmanager
def installed(
    scheduler: Scheduler, network: Network, seed: object, loop_reads_after: int
) -> Iterator[None]:
    """Replace the system within a ``with`` block.

    Args:
        scheduler: The scheduler.
        network: The network.
        seed: What random numbers of the connector are drawn from.
        loop_reads_after: Reads in a row after which the loop of the services reads a connection.
    """
    random = Random(f"system:{seed}")
    before = {name: getattr(_system, name) for name in _NAMES}
    replaced = {
        "now": scheduler.epoch,
        "monotonic": scheduler.time,
        "random_bytes": random.randbytes,
        "random_choice": random.choice,
        "uniform": random.uniform,
        "shuffle": random.shuffle,
        "lock": lambda: Lock(scheduler),
        "queue": lambda: Queue(scheduler),
        "new_event_loop": lambda: SimulatedLoop(scheduler, network, Random(f"turns:{seed}")),
        "start_thread": lambda target, *given, name: scheduler.spawn(name, target, *given),
        "executor": lambda threads, name: Threads(scheduler, threads, name),
    }
    threads, enough = threading.active_count(), loop_reading.ENOUGH
    try:
        loop_reading.ENOUGH = loop_reads_after
        for name, value in replaced.items():
            setattr(_system, name, value)
        _forget()
        yield
    finally:
        for name, value in before.items():
            setattr(_system, name, value)
        loop_reading.ENOUGH = enough
        _forget()
    assert threading.active_count() <= threads, "a thread of the world has not ended"
