"""Both ways a message can take, and which one it does take.

| what is sent | both ways there | only the short circuit | only the broker |
|---|---|---|---|
| request, answer, acknowledgement | in process if anyone hears, else bus | in process | bus |
| multicast | bus: those elsewhere must hear it too | in process | bus |

(A20.) A subscription is made on both, under one handle.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from ..._errors import refusal
from .._http.codec import write_request, write_response
from .._http.message import Message, Request
from .in_process import Memory, Receiver
from .nats import Bus, BusReceiver

__all__ = ["Memory", "Place", "Transport", "Watcher"]

#: Takes ``in`` or ``out``, a subject and the payload, of whatever passes over the bus.
Watcher = Callable[[str, str, bytes], None]

logger = logging.getLogger("subtrie.connector")

_MEMORY_PAYLOAD = 1 << 20


class Place:
    """One subscription on every transport there is."""

    def __init__(
        self, pattern: str, queue: str | None, local: Any, bus: Bus | None, remote: Any
    ) -> None:
        self.pattern, self.queue = pattern, queue
        self._local, self._bus, self._remote = local, bus, remote

    async def unsubscribe(self) -> None:
        """Takes it down; nothing to do the second time."""
        local, self._local = self._local, None
        remote, self._remote = self._remote, None
        if local is not None:
            local.unsubscribe()
        if remote is not None and self._bus is not None:
            await self._bus.unsubscribe(remote)


class Transport:
    """The transports of one connector."""

    def __init__(
        self, memory: Memory | None, bus: Bus | None, watchers: Sequence[Watcher] = ()
    ) -> None:
        if memory is None and bus is None:
            raise refusal("BusError", "no-transport", "the connector")
        self.memory, self.bus, self._watchers = memory, bus, watchers

    @property
    def max_payload(self) -> int:
        """The largest message the bus takes, in bytes."""
        return self.bus.max_payload if self.bus else _MEMORY_PAYLOAD

    async def subscribe(
        self, pattern: str, queue: str | None, receiver: Receiver, on_bus: BusReceiver
    ) -> Place:
        """Subscribes wherever messages may come from."""
        heard = self._watched(on_bus) if self._watchers else on_bus
        remote = await self.bus.subscribe(pattern, queue, heard) if self.bus else None
        local = self.memory.subscribe(pattern, queue, receiver) if self.memory else None
        return Place(pattern, queue, local, self.bus, remote)

    def _watched(self, on_bus: BusReceiver) -> BusReceiver:
        async def heard(subject: str, payload: bytes) -> None:
            self._show("in", subject, payload)
            await on_bus(subject, payload)

        return heard

    def _show(self, direction: str, subject: str, payload: bytes) -> None:
        for watcher in self._watchers:
            try:
                watcher(direction, subject, payload)
            except Exception:  # who watches must not stop what is watched
                logger.exception("a watcher failed at %s", subject)

    def deliver(self, subject: str, message: Message, *, kept: bool = True) -> bool:
        """Tries within the process; False where nobody there hears the subject."""
        return self.memory is not None and self.memory.deliver(subject, message, kept=kept) > 0

    async def publish(self, subject: str, message: Message) -> None:
        """Sends over the bus. Nothing happens without one."""
        if self.bus is not None:
            payload = as_bytes(message)
            if self._watchers:
                self._show("out", subject, payload)
            await self.bus.publish(subject, payload)

    async def settle(self) -> None:
        """Returns when what was subscribed counts for others."""
        if self.bus is not None:
            await self.bus.settle()
        else:
            await asyncio.sleep(0)

    async def round_trip(self) -> float:
        """How long an acknowledgement may take, in seconds."""
        return await self.bus.round_trip() if self.bus else 0.01

    async def close(self) -> None:
        """Leaves the bus."""
        bus, self.bus = self.bus, None
        if bus is not None:
            await bus.release()


def as_bytes(message: Message) -> bytes:
    """The message as the bus carries it."""
    return write_request(message) if isinstance(message, Request) else write_response(message)
