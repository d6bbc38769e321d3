"""The transports of a connector, in process and NATS, and the choice between them.

| what is sent | both transports | only in process | only the broker |
|---|---|---|---|
| request, response, acknowledgement | in process if subscribed there, else bus | in process | bus |
| multicast | bus: subscribers elsewhere must get it too | in process | bus |

A subscription is made on both, under one ``Registration``. In process live messages go through the
dispatcher of this process: subjects equal those of the bus, byte for byte, and a child process
after a fork receives nothing of its parent.
"""

# A20, S0-129, S0-134

from __future__ import annotations

import asyncio
import logging
import os
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .._core.dispatcher import Dispatcher, HandlerSubscription
from .._core.errors import refusal
from ._broker.acknowledging import Acknowledging
from ._broker.connection import PayloadReceiver
from ._broker.errors import RefusedOperation, explained, user_and_rules
from ._broker.shared import SharedConnection, all_connections, connect
from ._codec import check_installed, write_message
from ._credentials import load_credentials
from ._envelope import Envelope
from ._errors import HTTPError

#: Takes a subject and a message of its own; returns False once its connector has stopped.
MessageReceiver = Callable[[str, Any], bool]

#: Takes ``in`` or ``out``, a subject and the payload of a message on the bus.
Watcher = Callable[[str, str, bytes], None]

#: Takes the error of a message that could not be published.
Failed = Callable[[HTTPError], None]

logger = logging.getLogger("subtrie.connector")

_LOCAL_PAYLOAD = 1 << 20  # bytes; nats-server's default
_LOCAL_ROUND_TRIP = 0.01  # seconds
_MOST_REFUSED = 10_000  # refused subscriptions that are remembered
_HEAD_ROOM = 64 << 10  # bytes of a message reserved for headers

_open: weakref.WeakSet[Transport] = weakref.WeakSet()


class InProcessTransport:
    """Delivers messages within the process, in the sender's thread."""

    def __init__(self, dispatcher: Dispatcher[Any] | None = None) -> None:
        self._dispatcher = dispatcher or Dispatcher.shared()

    def subscribe(
        self, pattern: str, queue: str | None, receiver: MessageReceiver
    ) -> HandlerSubscription[Any]:
        """Call a receiver for each message whose subject matches a pattern.

        Args:
            pattern: The pattern.
            queue: The queue name, or None.
            receiver: Takes the messages.
        """
        return self._dispatcher.subscribe(pattern, _Pair(receiver), queue=queue)

    def deliver(self, subject: str, message: Envelope, *, kept: bool) -> int:
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

    def __call__(self, delivery: tuple[str, Envelope]) -> bool:
        return self.receiver(*delivery)


class Registration:
    """One subscription on every transport of a connector."""

    __slots__ = ("local", "pattern", "queue", "remote")

    def __init__(
        self, pattern: str, queue: str | None, local: HandlerSubscription[Any] | None, remote: Any
    ) -> None:
        self.pattern, self.queue, self.local, self.remote = pattern, queue, local, remote


class Transport:
    """The transports of one connector.

    Args:
        host: The host of the service.
        broker: The URL of the broker; empty for none.
        short_circuit: Whether messages within the process bypass the broker.
        creds: The creds file, or None.
        allow_readable_creds: Accept secret files that other users of the machine may read.

    Attributes:
        in_process: The transport in process while the connector runs, or None.
        nats: The connection to the broker, or None.
        broker: The URL of the broker.
        fragment_size: The largest body of one message in bytes.
    """

    def __init__(
        self,
        host: str,
        *,
        broker: str,
        short_circuit: bool,
        creds: str | os.PathLike[str] | None,
        allow_readable_creds: bool,
    ) -> None:
        self.host, self.broker, self.short_circuit = host, broker, short_circuit
        self._creds, self._allow_readable_creds = creds, allow_readable_creds
        self.in_process: InProcessTransport | None = None
        self.nats: SharedConnection | None = None
        self.fragment_size = _LOCAL_PAYLOAD - _HEAD_ROOM
        self._watchers: list[Watcher] = []
        self._user, self._rules = user_and_rules("")
        self._creds_file: Path | None = None
        #: Subscriptions that the broker refused.
        self.refused: set[str] = set()
        #: Whether the connector has not started: refused subscriptions are then its error.
        self.starting = False
        #: Called with the subject of a publish that the broker refused.
        self.on_refused: Callable[[str], None] | None = None

    def _on_violation(self, found: RefusedOperation) -> bool:
        """Note a refused operation, and return whether the error of the start tells it."""
        if found.verb == "subscribe":
            if len(self.refused) < _MOST_REFUSED:
                self.refused.add(found.subject)
            return self.starting
        if self.on_refused is not None:
            self.on_refused(found.subject)
        return False

    def whose_creds(self) -> str:
        """Return whose creds the file holds, in words; empty if they are this service's."""
        return "" if self._user in ("", self.host) else f"; {self._creds_file} is of {self._user}"

    def why_refused(self, subject: str) -> str:
        """Return why the broker refuses to publish to a subject."""
        return explained(subject, self._rules, self._creds_file)

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        return self.in_process is not None or self.nats is not None

    def watch(self, watcher: Watcher) -> Watcher:
        """Call ``watcher(direction, subject, payload)`` for every message on the bus.

        The direction is ``out`` before a message is sent, and ``in`` before a received message is
        processed. Messages within the process are not shown. Use before ``startup``,
        also as a decorator.
        """
        self._watchers.append(watcher)
        return watcher

    async def open(self) -> None:
        """Connect to the broker, if there is one.

        Raises:
            BusError: There is no transport, the creds are refused, or the server's limit on
                messages is too small.
            ConnectionError: The broker does not answer.
            ImportError: A package of the extra ``connector`` is missing.
        """
        if not (self.short_circuit or self.broker):
            raise refusal("BusError", "no-transport", False, field="short_circuit")
        if self.broker:
            check_installed()
            credentials = load_credentials(
                self.broker,
                self.host,
                creds=self._creds,
                allow_readable=self._allow_readable_creds,
            )
            if credentials.from_variables:
                logger.warning(
                    "%s: authentication with MICROBUS_NATS_USER, MICROBUS_NATS_TOKEN or "
                    "MICROBUS_NATS_USER_JWT is deprecated: use the file %s_nats.creds",
                    self.host,
                    self.host,
                )
            self.nats = await connect(credentials, self.host)
            self._user, self._rules = user_and_rules(credentials.creds)
            self._creds_file = credentials.creds_file
            self.nats.on_violation.append(self._on_violation)
        self.in_process = InProcessTransport() if self.short_circuit else None
        _open.add(self)
        _exclude_hosts()
        largest = self.nats.max_payload if self.nats is not None else _LOCAL_PAYLOAD
        self.fragment_size = largest - _HEAD_ROOM
        if self.fragment_size < _HEAD_ROOM:
            raise refusal("BusError", "payload-limit", largest, field="max_payload")

    async def close(self) -> None:
        """Disconnect from the bus."""
        nats, self.nats, self.in_process = self.nats, None, None
        _open.discard(self)
        _exclude_hosts()
        if nats is not None:
            if self._on_violation in nats.on_violation:
                nats.on_violation.remove(self._on_violation)
            await nats.release()

    async def subscribe(
        self,
        patterns: Sequence[str],
        queue: str | None,
        receiver: MessageReceiver,
        on_payload: PayloadReceiver,
        acknowledging: Acknowledging | None = None,
    ) -> list[Registration]:
        """Subscribe patterns on every transport, all or none.

        Args:
            patterns: The patterns.
            queue: The queue name, or None.
            receiver: Takes messages from within the process.
            on_payload: Takes payloads from the bus, on the connection's loop.
            acknowledging: How requests may be acknowledged as they are read.
        """
        remotes: Sequence[Any] = [None] * len(patterns)
        if self.nats is not None:
            if self._watchers:  # they see every message, acknowledgements too
                on_payload, acknowledging = self._watched(on_payload), None
            subscribing = asyncio.ensure_future(
                self.nats.subscribe(patterns, queue, on_payload, acknowledging)
            )
            try:
                remotes = await asyncio.shield(subscribing)
            except asyncio.CancelledError:
                # The connection's thread subscribes nevertheless, and tells here what.
                await self.nats.unsubscribe(await subscribing)
                raise
        made = [
            Registration(pattern, queue, None, remote)
            for pattern, remote in zip(patterns, remotes, strict=True)
        ]
        try:
            if self.in_process is not None:
                for each in made:
                    each.local = self.in_process.subscribe(each.pattern, queue, receiver)
        except BaseException:
            await self.unsubscribe(made)
            raise
        return made

    async def unsubscribe(self, registrations: Sequence[Registration]) -> None:
        """Remove subscriptions; messages that the server has sent already are still received."""
        remotes = []
        for each in registrations:
            if each.local is not None:
                each.local.unsubscribe()
                each.local = None
            if each.remote is not None:
                remotes.append(each.remote)
                each.remote = None
        if remotes and self.nats is not None:
            await self.nats.unsubscribe(remotes)

    def _watched(self, on_payload: PayloadReceiver) -> PayloadReceiver:
        def watched(subject: str, payload: bytes) -> None:
            self._show("in", subject, payload)
            on_payload(subject, payload)

        return watched

    def _show(self, direction: str, subject: str, payload: bytes) -> None:
        for watcher in self._watchers:
            try:
                watcher(direction, subject, payload)
            except Exception:  # a watcher must not affect what it watches
                logger.exception("%s: a watcher failed for subject %s", self.host, subject)

    def deliver(self, subject: str, message: Envelope) -> bool:
        """Deliver a message that the sender does not use again; False if no subscriber is there.

        Args:
            subject: The subject.
            message: The message.
        """
        local = self.in_process
        return local is not None and local.deliver(subject, message, kept=False) > 0

    def publish(self, subject: str, message: Envelope, failed: Failed) -> None:
        """Publish over the bus, from any thread; does nothing without a bus.

        Args:
            subject: The subject.
            message: The message.
            failed: Called with the error if it cannot be published, perhaps in another thread.
        """
        self.publish_bytes(subject, write_message(message), failed)

    def publish_bytes(self, subject: str, payload: bytes, failed: Failed) -> None:
        """Publish the bytes of a message, as ``publish`` does.

        Args:
            subject: The subject.
            payload: The message.
            failed: Called with the error if it cannot be published.
        """
        nats = self.nats
        if nats is not None:
            if self._watchers:
                self._show("out", subject, payload)
            nats.publish(subject, payload, failed)

    def after_writes(self, call: Callable[[], None]) -> None:
        """Call a function once everything published before was written to the connection."""
        nats = self.nats
        if nats is not None:
            nats.after_writes(call)
        else:
            call()

    async def flush(self) -> None:
        """Return when earlier subscriptions are in effect."""
        if self.nats is not None:
            await self.nats.flush()
        else:
            await asyncio.sleep(0)

    async def round_trip(self) -> float:
        """Return how long an acknowledgement may take, in seconds."""
        return await self.nats.round_trip() if self.nats else _LOCAL_ROUND_TRIP

    def ack_limit(self, least: float) -> float:
        """Return how long to wait for an acknowledgement in seconds, at least ``least``."""
        return least if self.nats is None else self.nats.ack_times.limit(least)

    def note_ack(self, seconds: float) -> None:
        """Note how long an acknowledgement from the bus took, in seconds."""
        if self.nats is not None:
            self.nats.ack_times.note(seconds)

    def disconnected(self) -> bool:
        """Return whether the connection to the broker is lost and being re-established."""
        return self.nats is not None and not self.nats.connected

    async def responds(self, timeout: float) -> bool:
        """Return whether the broker answers within ``timeout`` seconds; True without a broker."""
        return self.nats is None or await self.nats.responds(timeout)


def _exclude_hosts() -> None:
    """Let services acknowledge requests of this process themselves: not over the bus."""
    hosts = [each.host for each in list(_open) if each.in_process is not None]
    for connection in all_connections():
        connection.exclude(hosts)


def _after_fork() -> None:
    """Close the transports of the parent: a child has none of its connections."""
    # S0-134
    for each in list(_open):
        each.in_process = each.nats = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
