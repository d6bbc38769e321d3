"""A simulated system in the place of the real one, for the length of a world."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from random import Random
from types import CodeType
from typing import Any

import pytest

from subtrie._core import dispatcher
from subtrie.connector import (
    _endpoint,
    _env_files,
    _io_thread,
    _metrics,
    _runtime,
    _system,
    _telemetry,
    _threads,
    _tracing,
    _transport,
)
from subtrie.connector._broker import loop_reading, shared

from .network import Network
from .scheduler import Scheduler
from .simulated_system import Lock, Queue, SimulatedLoop, Threads


def _once(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes something of a handler once for its code, in all worlds."""
    made: dict[CodeType, Any] = {}

    def of(handler: Any, *given: Any, **named: Any) -> Any:
        code = handler.__code__
        if code not in made:
            made[code] = make(handler, *given, **named)
        return made[code]

    return of


#: What reading the signatures of the same handlers again would cost is a quarter of a world.
_SIGNATURES = {
    "type_hints": _once(_endpoint.type_hints),
    "enclosing_names": lambda handler: {},  # no annotation in a world has a local name
    "Arguments": _once(_endpoint.Arguments),
    "check_path_names": _once(_endpoint.check_path_names),
}


def _forget() -> None:
    """Let the connector forget connections, threads and subscriptions, as after a fork."""
    for module in (_io_thread, shared, _threads, _transport, _runtime, dispatcher):
        module._after_fork()
    _io_thread._restored = None
    _metrics._logged.clear()
    _env_files._read.clear()
    _env_files._skipped.clear()


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
    system = {
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
    # A tracer provider that another test has set would add headers: no world has one.
    replaced = [(_system, system), (_endpoint, _SIGNATURES), (_tracing, {"trace": None})]
    replaced += [(_telemetry, {"metrics": None}), (loop_reading, {"ENOUGH": loop_reads_after})]
    threads = threading.active_count()
    with pytest.MonkeyPatch.context() as patch:
        for module, names in replaced:
            for name, value in names.items():
                patch.setattr(module, name, value)
        _forget()
        try:
            yield
        finally:
            patch.undo()
            _forget()
            _tracing.detect_provider()
    assert threading.active_count() <= threads, "a thread of the world has not ended"
