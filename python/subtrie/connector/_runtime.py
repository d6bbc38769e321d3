"""State shared by the parts of a connector: identity, event loop, transports, background tasks."""

from __future__ import annotations

import asyncio
import logging
import os
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

from .. import _control_headers
from ._ids import Ids
from ._message import Message
from ._metrics import Metrics
from ._routing import KnownResponders, NearestReplicas
from ._timers import Timers
from ._transport import Transport, Watcher

logger = logging.getLogger("subtrie.connector")


_alive: weakref.WeakSet[Runtime] = weakref.WeakSet()


class Runtime:
    """The identity of a connector, and its event loop and transports while it runs."""

    version: int
    id: str
    plane: str
    locality: str
    deployment: str
    max_body: int
    max_fragments: int
    nearest: NearestReplicas | None

    def __init__(self, host: str, ids: Ids) -> None:
        self.host, self.ids = host, ids
        self.metrics = Metrics()
        self.known_responders = KnownResponders()
        self._fragment_size = 1 << 19  # bytes; set from the transport's limit at startup
        self._transport: Transport | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timers: Timers
        self._has_broker = False
        self._running = False
        self._sender_headers: dict[tuple[str, str | None], dict[str, list[str]]] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._watchers: list[Watcher] = []
        _alive.add(self)

    def sender_headers(self, op: str, queue: str | None = None) -> dict[str, list[str]]:
        """Return the control headers that identify the sender; callers must not modify them.

        Acknowledgements carry no version; requests carry neither queue nor locality.
        """
        signed = self._sender_headers.get((op, queue))
        if signed is None:
            signed = {
                _control_headers.OP_CODE: [op],
                _control_headers.FROM_HOST: [self.host],
                _control_headers.FROM_ID: [self.id],
            }
            if self.version and op != _control_headers.ACK:
                signed[_control_headers.FROM_VERSION] = [str(self.version)]
            if queue is not None:
                signed[_control_headers.QUEUE] = [queue]
            if self.locality and op != _control_headers.REQUEST:
                signed[_control_headers.LOCALITY] = [self.locality]
            self._sender_headers[op, queue] = signed
        return signed

    def watch(self, watcher: Watcher) -> Watcher:
        """Call ``watcher(direction, subject, payload)`` for every message on the bus.

        The direction is ``out`` before a message is sent, and ``in`` before a received message is
        processed. Messages within the process are not shown. Use before ``startup``,
        also as a decorator.
        """
        self._watchers.append(watcher)
        return watcher

    def _deliver(self, subject: str, message: Message, *, kept: bool = True) -> bool:
        """Deliver in process; ``kept`` is False if the sender does not use the message again."""
        transport = self._transport
        return transport is not None and transport.deliver(subject, message, kept=kept)

    async def _publish(self, subject: str, message: Message) -> None:
        """Publish over the bus, from any event loop."""
        transport, loop = self._transport, self._loop
        if transport is None or transport.nats is None or loop is None:
            return
        if loop is asyncio.get_running_loop():
            await transport.publish(subject, message)
        else:
            sending = asyncio.run_coroutine_threadsafe(transport.publish(subject, message), loop)
            await asyncio.wrap_future(sending)

    async def _send(self, subject: str, message: Message) -> None:
        """Deliver in process if a subscriber is there, else publish over the bus."""
        if not self._deliver(subject, message):
            await self._publish(subject, message)

    def disconnected(self) -> bool:
        """Return whether the connection to the broker is lost and being re-established."""
        nats = self._transport.nats if self._transport is not None else None
        return nats is not None and not nats.connected

    async def responds(self, timeout: float) -> bool:
        """Return whether the broker answers within ``timeout`` seconds; True without a broker."""
        nats = self._transport.nats if self._transport is not None else None
        loop = self._loop
        if nats is None or loop is None:
            return True
        if loop is asyncio.get_running_loop():
            return await nats.responds(timeout)
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(nats.responds(timeout), loop)
        )

    def _run_on_loop(self, step: Callable[..., None], *arguments: Any) -> None:
        """Run a step on this connector's event loop: immediately if that is the running one."""
        try:
            running: Any = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        loop = self._loop
        if loop is running and loop is not None:
            step(*arguments)
        elif loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(step, *arguments)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Start a background task on this connector's event loop."""
        self._run_on_loop(self._begin, work)

    def _begin(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background_done)

    def _background_done(self, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s: %r", self.host, error, exc_info=error)


def _after_fork() -> None:
    """Disconnect the parent's connectors: a child has neither their loops nor their connections."""
    # S0-134
    for each in list(_alive):
        each._transport, each._loop = None, None
        each._has_broker, each._running = False, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
