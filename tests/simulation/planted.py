"""Faults of the connector, planted by replacing private functions; worlds find each.

``PLANTED`` are faults that a connector could have. ``FOUND`` are those that it had, found by worlds
and repaired: the earlier code is planted again.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Callable
from typing import Any

from subtrie._core import control_headers
from subtrie.connector._ack_timer import AckTimer
from subtrie.connector._broker.connection import Connection
from subtrie.connector._broker.loop_reading import LoopReading
from subtrie.connector._broker.session import Session
from subtrie.connector._envelope import PendingRequest
from subtrie.connector._fragments import Reassembler
from subtrie.connector._ids import RandomIds
from subtrie.connector._runner import HandlerRunner
from subtrie.connector._runtime import _AT_ONCE, Runtime
from subtrie.connector._server import RequestServer
from subtrie.connector._timers import Timers

from .plan import Plan

_AFTER_CANCELLED = 1.0  # seconds of virtual time

#: Replaces an attribute of a class: ``pytest.MonkeyPatch.setattr``.
Replace = Callable[[Any, str, Any], None]


def acknowledgement_after_the_handler(replace: Replace) -> None:
    """Write acknowledgements once the messages were given to their receivers."""
    before = Session._deliver

    class Later:
        def __init__(self, reader: Any, session: Session) -> None:
            self._reader, self._session = reader, session

        def __getattr__(self, name: str) -> Any:
            return getattr(self._reader, name)

        def feed(self, data: bytes) -> Any:
            items, groups, acknowledgements = self._reader.feed(data)
            self._session._late = acknowledgements  # type: ignore[attr-defined]
            return items, groups, b""

    def _deliver(self: Session, nbytes: int, process: Any) -> Any:
        if not isinstance(self.reader, Later):
            self.reader = Later(self.reader, self)  # type: ignore[assignment]
        delivered = before(self, nbytes, process)
        late = getattr(self, "_late", b"")
        if late:
            self._acknowledge(late)
        return delivered

    replace(Session, "_deliver", _deliver)


def subscribed_twice_after_a_reconnect(replace: Replace) -> None:
    """Make the subscriptions again, and once more."""
    before = Connection._open

    async def _open(self: Connection, server: Any) -> None:
        await before(self, server)
        if self._subscriptions and self._session is not None:
            self._session.write(b"".join(each.line() for each in self._subscriptions.values()))

    replace(Connection, "_open", _open)


def reused_ids(replace: Replace) -> None:
    """Use few message ids, again and again: a late answer then matches another request."""
    counts: dict[int, Any] = {}

    def message(self: RandomIds) -> str:
        return f"{next(counts.setdefault(id(self), itertools.count())) % 4:08d}"

    replace(RandomIds, "message", message)


def lost_wake_up(replace: Replace) -> None:
    """Clear the mark that the loop is about to take steps after taking them, not before."""

    def _take(self: Runtime) -> None:
        handed = self._handed
        for _ in range(_AT_ONCE):
            if not handed:
                break
            step, arguments = handed.popleft()
            step(*arguments)
        self._waker = None

    replace(Runtime, "_take", _take)


def source_not_overwritten(replace: Replace) -> None:
    """Leave the header of the sender as it came."""
    before = RequestServer._admitted

    def _admitted(self: RequestServer, subject: str, request: Any) -> str | None:
        given = request.headers.lists.get(control_headers.FROM_HOST)
        reply_to = before(self, subject, request)
        if given is not None:
            request.headers.lists[control_headers.FROM_HOST] = given
        return reply_to

    replace(RequestServer, "_admitted", _admitted)


def fragment_of_another_sender(replace: Replace) -> None:
    """Leave the source out of what a transfer is known by."""
    begin, add, ended = Reassembler.begin, Reassembler.add, Reassembler.ended
    contains = Reassembler.__contains__

    def nameless(key: Any) -> Any:
        return ("", *key[1:])

    replace(Reassembler, "begin", lambda self, key, *a, **k: begin(self, nameless(key), *a, **k))
    replace(Reassembler, "add", lambda self, key, *a, **k: add(self, nameless(key), *a, **k))
    replace(Reassembler, "ended", lambda self, key: ended(self, nameless(key)))
    replace(Reassembler, "__contains__", lambda self, key: contains(self, nameless(key)))


def shared_deadline(replace: Replace) -> None:
    """Let the last of several handlers of one request take the deadline of the others."""

    def limit(self: PendingRequest, task: Any, deadline: float, *, begins: bool) -> bool:
        self._handler, self._deadline, self._handling, self._begins = task, deadline, True, begins
        return True

    replace(PendingRequest, "limit", limit)


def lost_error(replace: Replace) -> None:
    """Do not look at ``-ERR``."""
    before = Session._process

    def _process(self: Session, op: Any) -> None:
        if op.op != "-ERR":
            before(self, op)

    replace(Session, "_process", _process)


def read_by_two(replace: Replace) -> None:
    """Read in the connection's thread again without stopping the loop of the services."""

    def end(self: LoopReading, *, wait: bool) -> bool:
        return True

    replace(LoopReading, "end", end)


def left_to_a_blocked_loop(replace: Replace) -> None:
    """Leave the reading to the loop of the services for as long as it does not give it back."""
    replace(Session, "_watch", lambda self, reading, reads: None)


#: The planted faults by name.
PLANTED = {
    "acknowledgement after the handler": acknowledgement_after_the_handler,
    "subscribed twice after a reconnect": subscribed_twice_after_a_reconnect,
    "late answer matched to a reused id": reused_ids,
    "lost wake-up between reader and loop": lost_wake_up,
    "source not overwritten": source_not_overwritten,
    "fragment of another sender": fragment_of_another_sender,
    "deadline shared by two services": shared_deadline,
    "lost -ERR": lost_error,
    "connection read by two": read_by_two,
    "reading left to a blocked loop": left_to_a_blocked_loop,
}


def deadline_lost_with_the_caller(replace: Replace) -> None:
    """Forget all timeouts when a caller shuts down, those of handlers that still run too."""

    def close(self: Timers) -> None:
        for limit in self._heap:
            limit[2] = None
        self._heap.clear()
        self._cancelled = 0
        self._armed = math.inf
        if self._handle is not None:
            self._handle.cancel()

    replace(Timers, "close", close)


def not_found_after_a_pong(replace: Replace) -> None:
    """Ask the broker once before a request ends with 404, though bytes after PONG are not read."""

    before = AckTimer._check

    class AskedOnce:
        def __init__(self, transport: Any) -> None:
            self._asked, self._answer = transport, None

        def __getattr__(self, name: str) -> Any:
            return getattr(self._asked, name)

        async def responds(self, timeout: float) -> Any:
            if self._answer is None:
                self._answer = await self._asked.responds(timeout)
            return self._answer

    async def _check(self: AckTimer) -> None:
        transport = self._transport
        self._transport = AskedOnce(transport)  # type: ignore[assignment]
        try:
            await before(self)
        finally:
            self._transport = transport

    replace(AckTimer, "_check", _check)


def cancelled_in_the_order_of_a_set(replace: Replace) -> None:
    """Cancel handlers in the order of a set of tasks, which is that of their addresses."""

    async def finish(self: HandlerRunner, timeout: float) -> None:
        await asyncio.sleep(0)
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=timeout)
        late = set(self.tasks)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=_AFTER_CANCELLED)

    replace(HandlerRunner, "finish", finish)


def woken_by_a_blocked_loop(replace: Replace) -> None:
    """Leave it to the loop that was first to wake another one, though it may be blocked."""
    before = Runtime._wake_soon

    def _wake_soon(self: Runtime) -> None:
        if self._waker is None:
            before(self)

    replace(Runtime, "_wake_soon", _wake_soon)


def often_paused(seed: int) -> Plan:
    """Return a world whose threads are stopped again and again, and nothing is lost."""
    plan = Plan(f"often paused {seed}", requests=8, width=4)
    for phase in ("begun", "sent", "acknowledged", "handling", "responded"):
        plan.triggers += [("paused", phase, number) for number in range(6)]
    return plan


def often_paused_in_process(seed: int) -> Plan:
    """Return such a world whose services answer callers of the same process, one by one."""
    plan = Plan(f"in process {seed}", requests=8, width=1, short_circuit=True, switching=0.5)
    plan.triggers = [("paused", "handled", number) for number in range(8)]
    return plan


def left_early(seed: int) -> Plan:
    """Return a world whose caller shuts down while handlers on its loop still run."""
    return Plan(
        f"left early {seed}", requests=2, callers=1, replicas=1, short_circuit=True, together=True
    )


def often_replaced(seed: int) -> Plan:
    """Return a world whose service shuts down again and again while its handlers run."""
    plan = Plan(f"often replaced {seed}", calm=False, requests=8, width=4, storm=3.0)
    plan.triggers = [("replica replaced", "handling", number) for number in range(3, 12, 2)]
    return plan


#: The worlds of a fault that those of ``plan_of`` show too rarely, and what they say of it.
PLANS: dict[str, tuple[Callable[[int], Plan], str]] = {
    "lost wake-up between reader and loop": (often_paused_in_process, "must succeed"),
    "deadline of a handler lost when its caller shut down": (left_early, "after its deadline"),
    "404 between a PONG and the acknowledgement": (often_paused, "not acknowledged"),
    "handlers cancelled in the order of a set": (often_replaced, "in another order"),
    "a blocked loop wakes another": (often_paused_in_process, "1 of 2 responses"),
}

#: Faults that worlds found in the connector, by name.
FOUND = {
    "deadline of a handler lost when its caller shut down": deadline_lost_with_the_caller,
    "404 between a PONG and the acknowledgement": not_found_after_a_pong,
    "handlers cancelled in the order of a set": cancelled_in_the_order_of_a_set,
    "a blocked loop wakes another": woken_by_a_blocked_loop,
}
