"""The request server: verification, acknowledgement, reassembly, then the handler.

The first steps run where the message arrives, for local messages in the sender's thread: the source
is read from the subject and overwrites ``Microbus-From-Host`` before anything else; a message
without a verified source is counted and dropped; every other message is acknowledged at once. Of
the messages that were read together all are acknowledged before a handler starts. A request of a
connector in this process needs no acknowledgement message and keeps the address it was made with.
The handler runs in a task of its own on its connector's loop.
"""

# S0-040, S0-041, A25, A78

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from .._core import control_headers
from .._core.errors import SubtrieError, refusal
from . import _system
from ._broker.acknowledging import Acknowledging
from ._codec import read_request, write_response
from ._endpoint import Endpoint
from ._envelope import RequestEnvelope, ResponseEnvelope
from ._errors import HTTPError
from ._fragments import MAX_SILENCE, Reassembler
from ._identity import address_url, request_address, return_subject, url_at, why_rejected
from ._limits import Backlog, oversized, too_long
from ._message import Message, Request
from ._runner import HandlerRunner
from ._runtime import Runtime
from ._transport import Transport

logger = logging.getLogger("subtrie.connector")

_AT_ONCE = 256  # endpoints subscribed or unsubscribed concurrently
_READ_LIMIT = 2.0  # seconds for the broker to answer a ping, before a transfer is given up
_HAND_OVER_LIMIT = 1.0  # seconds for a connection to hand over what it has read
_LONGEST_HOLD = 0.05  # seconds in which requests that arrive are acknowledged before handlers run


class RequestServer:
    """The receiving side of one connector.

    Attributes:
        endpoints: The service's own endpoints.
        own_endpoints: The endpoints of the control plane.
        runner: The running handlers.
        transfers: The partially received requests.
    """

    def __init__(self, runtime: Runtime, transport: Transport) -> None:
        self._runtime, self._transport = runtime, transport
        self.endpoints: list[Endpoint] = []
        self.own_endpoints: list[Endpoint] = []
        self.runner = HandlerRunner(runtime, transport)
        # Appended to where the connection is read, emptied in its thread.
        self._arrived: deque[tuple[int, Endpoint, RequestEnvelope, str, HTTPError | None]] = (
            _system.queue()
        )
        self._backlog, self.transfers = self._new_backlog(), self._new_transfers()
        self._written_acks: dict[tuple[int, str | None], tuple[bytes, bytes]] = {}
        self._acknowledged_receiver = self._receive_acknowledged  # one object for all endpoints
        self._seen = 0  # of what has arrived, at the last look
        self._held_since = 0.0  # on the monotonic clock

    def open(self) -> None:
        """Prepare to receive, once the round trip is known."""
        self._written_acks.clear()  # the locality may have changed
        self.runner.open()
        self._backlog, self.transfers = self._new_backlog(), self._new_transfers()

    def _new_backlog(self) -> Backlog:
        return Backlog(_MOST_WAITING, _MOST_BODIES * self._runtime.max_body)

    def _new_transfers(self) -> Reassembler[RequestEnvelope]:
        runtime = self._runtime
        return Reassembler(
            max_body=runtime.max_body,
            max_fragments=runtime.max_fragments,
            silence=MAX_SILENCE * runtime.round_trip,
            read_all=self._read_all,
        )

    async def finish(self, timeout: float) -> None:
        """Wait for running handlers; cancel them after ``timeout`` seconds."""
        await self._begin_all(max(timeout, _HAND_OVER_LIMIT))
        self.transfers.close()
        await self.runner.finish(timeout)

    async def _begin_all(self, timeout: float) -> None:
        """Return when everything that the connection has read was begun with."""
        begun = asyncio.get_running_loop().create_future()
        self._transport.after_writes(partial(self._hand_over_last, begun))
        await asyncio.wait((begun,), timeout=timeout)

    async def _read_all(self) -> bool:
        """Return once all that the broker has sent was begun with; False if it does not answer."""
        if not await self._transport.responds(_READ_LIMIT):
            return False
        await self._begin_all(_READ_LIMIT)
        return True

    # --- subscriptions

    async def activate(self, endpoint: Endpoint) -> None:
        """Subscribe all patterns of an endpoint, if that is not done yet."""
        if not endpoint.registrations:
            endpoint.registrations = await self._transport.subscribe(
                endpoint.patterns(),
                endpoint.queue,
                partial(self.receive_local, endpoint),
                partial(self.receive_payload, endpoint),
                self._acknowledging(endpoint),
            )

    async def activate_all(self, endpoints: Sequence[Endpoint]) -> None:
        """Subscribe endpoints, many at a time: each takes a turn of the connection's thread."""
        for first in range(0, len(endpoints), _AT_ONCE):
            activating = (self.activate(each) for each in endpoints[first : first + _AT_ONCE])
            for error in await asyncio.gather(*activating, return_exceptions=True):
                if error is not None:
                    raise error

    async def deactivate(self, endpoints: Sequence[Endpoint]) -> None:
        """Unsubscribe all patterns of endpoints; running handlers go on."""
        for first in range(0, len(endpoints), _AT_ONCE):
            registrations = []
            for endpoint in endpoints[first : first + _AT_ONCE]:
                registrations += endpoint.registrations
                endpoint.registrations = []
            await self._transport.unsubscribe(registrations)

    # --- arrival

    def receive_local(self, endpoint: Endpoint, subject: str, message: Message) -> bool:
        """Take a message in the sender's thread; False if the connector has stopped."""
        runtime = self._runtime
        loop = runtime.loop
        if loop is None or loop.is_closed():
            return False
        if isinstance(message, RequestEnvelope):
            request = message
        elif isinstance(message, Request):
            request = RequestEnvelope.of(message)
        else:
            return False
        runtime.metrics.deliveries["memory"] += 1
        failed = None
        if len(request.body) > runtime.max_body:
            failed = self._too_large()
        if request.caller is not None:
            # A live request of a connector in this process: its subject was made of its URL.
            request.attested = request.caller.acked = True
            if request.caller.loop is loop:
                self.runner.start(endpoint, request, "", failed)
            else:
                loop.call_soon_threadsafe(self.runner.start, endpoint, request, "", failed)
            return True
        reply_to = self._admitted(subject, request)
        if reply_to is None:
            return True  # received, and rejected
        request.attested = True
        self._acknowledge(endpoint, request, reply_to)
        runtime.run_on_loop(self.runner.start, endpoint, request, reply_to, failed)
        return True

    def receive_payload(self, endpoint: Endpoint, subject: str, payload: bytes) -> None:
        """Take the payload of a message from the bus, where the connection is read."""
        runtime = self._runtime
        runtime.metrics.deliveries["nats"] += 1
        read = self._read(subject, payload)
        if read is None:
            return
        request, reply_to, failed = read
        self._acknowledge(endpoint, request, reply_to)
        if not self._backlog.add(len(payload)):
            self.runner.refuse(endpoint, subject, request, reply_to)
            return
        self._arrived.append((len(payload), endpoint, request, reply_to, failed))
        if len(self._arrived) == 1:
            self._seen, self._held_since = 1, _system.monotonic()
            self._transport.after_writes(self._hand_over)

    def _receive_acknowledged(
        self, messages: Sequence[tuple[Endpoint, str, bytes]]
    ) -> Callable[[], None] | None:
        """Take the payloads of requests that were acknowledged, where the connection is read.

        Returns:
            What begins with them, if that is this connector's loop.
        """
        runtime, backlog = self._runtime, self._backlog
        runtime.metrics.deliveries["nats"] += len(messages)
        for number, (_, _, payload) in enumerate(messages):
            if not backlog.add(len(payload)):
                messages, refused = messages[:number], messages[number:]
                for endpoint, subject, each in refused:
                    read = self._read(subject, each)
                    if read is not None:
                        self.runner.refuse(endpoint, subject, *read[:2])
                break
        return runtime.hand_over_all(self._begin_acknowledged, messages)

    def _hand_over(self) -> None:
        """Hand what has arrived to the connector's loop: all of it is acknowledged.

        While more arrives, handlers wait for a moment: they would compete with its acknowledgement.
        """
        arrived = len(self._arrived)
        if arrived > self._seen and _system.monotonic() - self._held_since < _LONGEST_HOLD:
            self._seen = arrived
            self._transport.after_writes(self._hand_over)
        else:
            self._hand_over_now()

    def _hand_over_now(self) -> None:
        while self._arrived:
            self._runtime.hand_over(self._begin_read, *self._arrived.popleft())

    def _hand_over_last(self, begun: asyncio.Future[None]) -> None:
        """Hand over what has arrived; ``begun`` is done when the loop has begun with all of it."""
        self._hand_over_now()
        self._runtime.hand_over(begun.set_result, None)

    def _read(
        self, subject: str, payload: bytes
    ) -> tuple[RequestEnvelope, str, HTTPError | None] | None:
        """Return a request, where its response goes, and its error if it exceeds a limit.

        Returns:
            None if it is rejected.
        """
        runtime, failed = self._runtime, None
        try:
            if request_address(subject) is None:
                raise refusal("BusError", "malformed", subject, field="subject")
            request = read_request(payload)
            name = too_long(request.headers.lists) if len(payload) > _SHORT else ""
            if name:
                failed = HTTPError(f"{name} is too long", status=431)
        except SubtrieError:
            large = oversized(subject, payload)
            if large is None:
                known = request_address(subject) is not None
                why = "malformed" if known else why_rejected(subject)
                runtime.metrics.reject(runtime.plane, why, subject)
                return None
            subject, request, failed = large
        reply_to = self._admitted(subject, request)
        return None if reply_to is None else (request, reply_to, failed)

    def _admitted(self, subject: str, request: RequestEnvelope) -> str | None:
        """Set the source of a request; return where the response goes, or None if rejected."""
        runtime, headers = self._runtime, request.headers.lists
        address = request_address(subject)
        if address is None or address.plane != runtime.plane:
            why = why_rejected(subject) if address is None else "source"
            runtime.metrics.reject(runtime.plane, why, subject)
            return None
        headers[control_headers.FROM_HOST] = [address.source]
        request.source = address.source
        # The broker checked the subject, not the request line.
        if request.path == address.path:
            request.url = url_at(address, request.url, request.url_query)
        else:
            request.url = address_url(address, request.url_query)
        request.method, request.path = address.method, address.path
        try:
            instance, message_id = (
                headers[control_headers.FROM_ID][0],
                headers[control_headers.MSG_ID][0],
            )
        except KeyError:
            runtime.metrics.reject(runtime.plane, "return-address", subject)
            return None
        reply_to = return_subject(runtime.plane, runtime.host, address.source, instance)
        if reply_to is None or not 0 < len(message_id) <= _LONGEST_ID:
            runtime.metrics.reject(runtime.plane, "return-address", subject)
            return None
        request.message_id = message_id
        budget = headers.get(control_headers.TIME_BUDGET)
        request.budget = control_headers.seconds_of(budget[0]) if budget else 0.0
        depth = headers.get(control_headers.CALL_DEPTH)
        request.depth = control_headers.number_of(depth[0]) if depth else 0
        return reply_to

    def _acknowledge(self, endpoint: Endpoint, request: RequestEnvelope, reply_to: str) -> None:
        fragment = request.headers.lists.get(control_headers.FRAGMENT)
        whole = not fragment or control_headers.fragment_of(fragment[0])[1] <= 1
        status = 202 if whole else 100
        if self._transport.in_process is not None:
            acknowledgement = self._acknowledgement(status, endpoint.queue, request)
            if self._transport.deliver(reply_to, acknowledgement):
                return
        before, after = self._written_ack(status, endpoint.queue)
        payload = before + request.message_id.encode() + after
        self._transport.publish_bytes(reply_to, payload, self._not_acknowledged)

    def _not_acknowledged(self, error: HTTPError) -> None:
        host = self._runtime.host
        logger.warning("%s: an acknowledgement could not be sent: %s", host, error)

    def _written_ack(self, status: int, queue: str | None) -> tuple[bytes, bytes]:
        """Return the bytes of an acknowledgement before and after the message id."""
        parts = self._written_acks.get((status, queue))
        if parts is None:
            placeholder = RequestEnvelope("GET", "", "", "", b"", message_id=_PLACEHOLDER)
            written = write_response(self._acknowledgement(status, queue, placeholder))
            before, _, after = written.partition(_PLACEHOLDER.encode())
            parts = self._written_acks[status, queue] = before, after
        return parts

    def _acknowledging(self, endpoint: Endpoint) -> Acknowledging:
        """Return how the connection may acknowledge the requests of an endpoint."""
        return Acknowledging(
            self._runtime.plane,
            self._runtime.host,
            self._written_ack(202, endpoint.queue),
            self._written_ack(100, endpoint.queue),
            self._acknowledged_receiver,
            endpoint,
        )

    def _acknowledgement(
        self, status: int, queue: str | None, request: RequestEnvelope
    ) -> ResponseEnvelope:
        acknowledgement = ResponseEnvelope(status, b"", _CLOSE)
        return acknowledgement.sealed(control_headers.ACK, self._runtime, queue, request)

    # --- on the connector's loop

    def _begin_acknowledged(self, endpoint: Endpoint, subject: str, payload: bytes) -> None:
        """Read a request that was acknowledged, and begin with it."""
        self._backlog.remove(len(payload))
        read = self._read(subject, payload)
        if read is not None:
            self._begin(endpoint, *read)

    def _begin_read(
        self,
        size: int,
        endpoint: Endpoint,
        request: RequestEnvelope,
        reply_to: str,
        failed: HTTPError | None,
    ) -> None:
        """Begin with a request that was read and acknowledged."""
        self._backlog.remove(size)
        self._begin(endpoint, request, reply_to, failed)

    def _begin(
        self,
        endpoint: Endpoint,
        request: RequestEnvelope,
        reply_to: str,
        failed: HTTPError | None,
    ) -> None:
        """Start the handler of a request from the bus, or add a fragment to its transfer."""
        if failed is not None:
            self.runner.start(endpoint, request, reply_to, failed)
            return
        fragment = request.headers.lists.get(control_headers.FRAGMENT)
        index, count = control_headers.fragment_of(fragment[0]) if fragment else (1, 1)
        if count <= 1:
            failed = self._too_large() if len(request.body) > self._runtime.max_body else None
            self.runner.start(endpoint, request, reply_to, failed)
            return
        source, instance = request.source, request.headers.lists[control_headers.FROM_ID][0]
        key = (source, instance, request.message_id)
        if self.transfers.ended(key):
            return
        if index == 1 and key in self.transfers:
            logger.warning("%s: repeated first fragment from %s", self._runtime.host, source)
            return
        now = asyncio.get_running_loop().time()
        try:
            if index == 1:
                budget = request.budget or control_headers.DEFAULT_BUDGET
                ends = now + min(budget, control_headers.MAX_BUDGET)
                given_up = partial(self.runner.start, endpoint, request, reply_to)
                self.transfers.begin(key, count, now=now, ends=ends, given_up=given_up)
            whole = self.transfers.add(key, index, count, request, now=now)
        except HTTPError as error:
            self.runner.start(endpoint, request, reply_to, error)
            return
        if whole is not None:
            self.runner.start(endpoint, whole, reply_to)

    def _too_large(self) -> HTTPError:
        limit = self._runtime.max_body
        return HTTPError(f"the body exceeds {limit} bytes (max_body)", status=413)


_MOST_WAITING = 10_000  # requests that may wait for the event loop, acknowledged
_MOST_BODIES = 4  # bodies of the largest size whose bytes may wait there
_LONGEST_ID = 128  # characters of a message id
_SHORT = 1024  # bytes of a message that cannot have a header that is too long by much
_CLOSE = {"Connection": ["close"]}
_PLACEHOLDER = "placeholder-of-the-message-id"
