"""The transports of a connector, in process and NATS, and the choice between them.

| what is sent | both transports | only in process | only the broker |
|---|---|---|---|
| request, response, acknowledgement | in process if subscribed there, else bus | in process | bus |
| multicast | bus: subscribers elsewhere must get it too | in process | bus |

A subscription is made on both, under one ``Registration``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from .._dispatcher import Dispatcher, HandlerSubscription
from .._errors import refusal
from ._codec import write_request, write_response
from ._message import Message, Request
from ._nats import NatsConnection, PayloadReceiver

# A20, S0-129, S0-134

__all__ = ["InProcessTransport", "Registration", "Transport", "Watcher"]

#: Takes ``in`` or ``out``, a subject and the payload of a message on the bus.
Watcher = Callable[[str, str, bytes], None]

logger = logging.getLogger("subtrie.connector")

_LOCAL_PAYLOAD = 1 << 20  # bytes; nats-server's default


class Registration:
    """One subscription on every transport of a connector."""

    def __init__(
        self, pattern: str, queue: str | None, local: Any, nats: NatsConnection | None, remote: Any
    ) -> None:
        self.pattern, self.queue = pattern, queue
        self._local, self._nats, self._remote = local, nats, remote

    async def unsubscribe(self) -> None:
        """Remove it; does nothing the second time."""
        local, self._local = self._local, None
        remote, self._remote = self._remote, None
        if local is not None:
            local.unsubscribe()
        if remote is not None and self._nats is not None:
            await self._nats.unsubscribe(remote)


class Transport:
    """The transports of one connector."""

    def __init__(
        self,
        in_process: InProcessTransport | None,
        nats: NatsConnection | None,
        watchers: Sequence[Watcher] = (),
    ) -> None:
        if in_process is None and nats is None:
            raise refusal("BusError", "no-transport", False, field="short_circuit")
        self.in_process, self.nats, self._watchers = in_process, nats, watchers

    @property
    def max_payload(self) -> int:
        """The largest message on the bus, in bytes."""
        return self.nats.max_payload if self.nats else _LOCAL_PAYLOAD

    async def subscribe(
        self,
        pattern: str,
        queue: str | None,
        receiver: MessageReceiver,
        on_payload: PayloadReceiver,
    ) -> Registration:
        """Subscribe a pattern on every transport.

        Args:
            pattern: The pattern.
            queue: The queue name, or None.
            receiver: Takes messages from within the process.
            on_payload: Takes payloads from the bus.
        """
        watched = self._watched(on_payload) if self._watchers else on_payload
        remote = await self.nats.subscribe(pattern, queue, watched) if self.nats else None
        local = self.in_process.subscribe(pattern, queue, receiver) if self.in_process else None
        return Registration(pattern, queue, local, self.nats, remote)

    def _watched(self, on_payload: PayloadReceiver) -> PayloadReceiver:
        async def watched(subject: str, payload: bytes) -> None:
            self._show("in", subject, payload)
            await on_payload(subject, payload)

        return watched

    def _show(self, direction: str, subject: str, payload: bytes) -> None:
        for watcher in self._watchers:
            try:
                watcher(direction, subject, payload)
            except Exception:  # a watcher must not affect what it watches
                logger.exception("a watcher failed for subject %s", subject)

    def deliver(self, subject: str, message: Message, *, kept: bool = True) -> bool:
        """Deliver in process; False if no subscriber is there."""
        return (
            self.in_process is not None and self.in_process.deliver(subject, message, kept=kept) > 0
        )

    async def publish(self, subject: str, message: Message) -> None:
        """Publish over the bus; does nothing without one."""
        if self.nats is not None:
            payload = as_bytes(message)
            if self._watchers:
                self._show("out", subject, payload)
            await self.nats.publish(subject, payload)

    async def flush(self) -> None:
        """Return when earlier subscriptions are in effect."""
        if self.nats is not None:
            await self.nats.flush()
        else:
            await asyncio.sleep(0)

    async def round_trip(self) -> float:
        """Return how long an acknowledgement may take, in seconds."""
        return await self.nats.round_trip() if self.nats else 0.01

    async def close(self) -> None:
        """Disconnect from the bus."""
        nats, self.nats = self.nats, None
        if nats is not None:
            await nats.release()


def as_bytes(message: Message) -> bytes:
    """Return a message as bytes."""
    return write_request(message) if isinstance(message, Request) else write_response(message)


#: Takes a subject and a message of its own; returns False once its connector has stopped.
MessageReceiver = Callable[[str, Message], bool]


class InProcessTransport:
    """Delivers messages within the process, in the sender's thread."""

    def __init__(self, dispatcher: Dispatcher | None = None) -> None:
        self._dispatcher = dispatcher or Dispatcher.shared()

    def subscribe(
        self, pattern: str, queue: str | None, receiver: MessageReceiver
    ) -> HandlerSubscription:
        """Call a receiver for each message whose subject matches a pattern.

        Args:
            pattern: The pattern.
            queue: The queue name, or None.
            receiver: Takes the messages.
        """
        return self._dispatcher.subscribe(pattern, _Pair(receiver), queue=queue)

    def deliver(self, subject: str, message: Message, *, kept: bool) -> int:
        """Give each selected receiver the message; return how many took it.

        Each receiver gets headers of its own, unless there is one receiver and the sender does not
        keep the message.

        Args:
            subject: The subject.
            message: The message.
            kept: Whether the sender uses the message again.
        """
        pairs = self._dispatcher.handlers(subject)
        if len(pairs) == 1 and not kept:
            return pairs[0].receiver(subject, message)  # type: ignore[attr-defined, no-any-return]
        taken = 0
        for pair in pairs:
            taken += pair.receiver(subject, message.received())  # type: ignore[attr-defined]
        return taken


class _Pair:
    """A receiver as the dispatcher calls it: with one argument, the pair of subject and message."""

    __slots__ = ("receiver",)

    def __init__(self, receiver: MessageReceiver) -> None:
        self.receiver = receiver

    def __call__(self, delivery: tuple[str, Message]) -> bool:
        return self.receiver(*delivery)
