"""Receiving responses: verification, reassembly, and delivery to the pending request.

A response is matched to its request by the message id, on the subscription of this very instance; a
response that comes too late is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from functools import partial

from .._core import control_headers
from .._core.errors import SubtrieError, refusal
from . import _system
from ._ack_timer import AckTimer
from ._codec import read_response
from ._envelope import PendingRequest, ResponseEnvelope
from ._errors import HTTPError, PublishRefused, RequestTimeout, made_here, read_error
from ._fragments import MAX_SILENCE, Reassembler
from ._identity import reply_address
from ._limits import too_long
from ._message import Message, Request, Response
from ._routing import KnownResponders
from ._runner import Places
from ._runtime import Runtime
from ._transport import Transport

_READ_LIMIT = 2.0  # seconds for the broker to answer a ping, before a response is given up
_SHORT = 1024  # bytes of a message that cannot have a header that is too long by much
_MOST_INSTANCES = 16_384  # responders of one multicast, and of those in excess by other sources
MAX_BODIES = 2  # bodies of the largest size that wait for the caller of a multicast, and in excess
#: Of the time budget of a multicast: how long its end waits for the responses of sources that did
#: not respond to an earlier one. Longer waits for a slow one, shorter for an end that comes soon.
SILENT_WAIT = 0.1


class ResponseStream(AsyncIterator[Response]):
    """The responses to one multicast, to be iterated over once.

    The stream ends when every responder that acknowledged has responded and no more
    acknowledgements are expected: after one round trip, or as soon as all responders of the last
    multicast to the same subject were seen. A source that acknowledged an earlier multicast and did
    not respond holds the end for a tenth of the time only. Responders, and the bytes that wait for
    the caller, are bounded by source and in sum; what exceeds that is one response 503.

    Attributes:
        loop: The caller's event loop.
        subject: The subject of the request.
        expires: When the time budget is used up, on the loop's clock.
        on_ack: Called with each acknowledgement, unless None.
        sent: When it was sent over the bus, on the monotonic clock; 0 if it was not.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        subject: str,
        timeout: float,
        known: KnownResponders,
        closed: Callable[[], None],
        *,
        max_bytes: int = 1 << 62,
    ) -> None:
        self.loop, self.subject = loop, subject
        self.expires = loop.time() + timeout
        self.on_ack: Callable[[ResponseEnvelope], None] | None = None
        self.sent = 0.0
        self._known, self._closed = known, closed
        self._expected = known.get(subject)
        self._responses: deque[Response] = deque()
        self._error: SubtrieError | None = None
        self._changed = asyncio.Event()
        self._done = False
        self._no_more_acks = False
        self._instances: dict[str, str] = {}  # the source of each that was seen
        self._unanswered: set[str] = set()  # those that have not responded
        self._places, self._held = Places(_MOST_INSTANCES), Places(1 << 62, max_bytes)
        self._overflowed = False
        self._silent_timer: asyncio.TimerHandle | None = None
        self._queues: set[str] = set()
        self._ack_timer: AckTimer | None = None
        self._silent_wait = SILENT_WAIT * timeout
        self._timeout = loop.call_at(self.expires, self.expire)

    def await_acks(self, timeout: float, transport: Transport) -> None:
        """Start the acknowledgement timer."""
        if not self._done:
            self._ack_timer = AckTimer(
                self.loop, timeout, lambda: self._done, self._on_ack_timeout, transport
            )

    def receive(self, response: ResponseEnvelope) -> None:
        """Take an acknowledgement or a response; runs on the caller's loop."""
        answer, source = response.op != control_headers.ACK, response.source
        if answer:
            self._known.silent.pop(source, None)
        if self._done:
            if answer:
                self._known.drop(self.subject)
            return
        instance = f"{response.id}.{source}"
        new = instance not in self._instances
        if new:
            if not self._places.admits(source):
                self._overflow()
                return
            self._places.take(source)
            self._instances[instance] = source
            self._unanswered.add(instance)
        # A queue name is what the responder says; its host is verified.
        queue = response.queue
        if new or len(self._queues) < _MOST_INSTANCES:
            self._queues.add(instance if queue is None else f"{source} {queue}")
        if self._expected and self._queues == self._expected:
            self._no_more_acks = True
        if not answer:
            if self.on_ack is not None:
                self.on_ack(response)
            return
        if instance not in self._unanswered:
            return  # a second response of the same instance
        self._unanswered.discard(instance)
        size = len(response.body)
        if self._held.admits(source, size):
            self._held.add_bytes(source, size)
            self._responses.append(response)
        else:
            self._overflow()
        self._changed.set()
        self._check()

    def _overflow(self) -> None:
        """Tell the caller once that responses are missing."""
        if not self._overflowed:
            self._overflowed = True
            missing = Response(503)
            missing.error = HTTPError("too many responses, or too many bytes wait", status=503)
            self._responses.append(missing)
            self._changed.set()

    def fail(self, error: SubtrieError) -> None:
        """End the stream with an error: the request was not sent."""
        if not self._done:
            self._error = error
            self._finish()

    def fail_threadsafe(self, error: SubtrieError) -> None:
        """End the stream with an error, from any thread."""
        with contextlib.suppress(RuntimeError):  # the caller's loop is closed
            self.loop.call_soon_threadsafe(self.fail, error)

    def _on_ack_timeout(self) -> None:
        self._no_more_acks = True
        if not self._instances:
            self._known.drop(self.subject)
            self._finish()
        else:
            self._check()

    def _check(self) -> None:
        if not self._no_more_acks:
            return
        if not self._unanswered:
            self._known.keep(self.subject, frozenset(self._queues))
            self._finish()
        elif self._silent_timer is None and self._only_silent():
            self._silent_timer = self.loop.call_later(self._silent_wait, self._end_without_silent)

    def _only_silent(self) -> bool:
        """Return whether all that are waited for did not respond to an earlier multicast."""
        silent = self._known.silent
        return bool(silent) and all(self._instances[each] in silent for each in self._unanswered)

    def _end_without_silent(self) -> None:
        self._silent_timer = None
        if not self._done:
            if self._only_silent():
                self._finish()
            else:
                self._check()

    def expire(self) -> None:
        """End the stream with a timeout, unless it has ended."""
        if not self._done:
            late = Response(408)
            late.error = RequestTimeout("timeout")
            self._responses.append(late)
            self._known.drop(self.subject)
            for source in {self._instances[each] for each in self._unanswered}:
                self._known.note_silent(source)
            self._finish()

    def _finish(self) -> None:
        self._done = True
        self._timeout.cancel()
        if self._ack_timer is not None:
            self._ack_timer.stop()
        if self._silent_timer is not None:
            self._silent_timer.cancel()
        self._closed()
        self._changed.set()

    def __aiter__(self) -> ResponseStream:
        return self

    async def __anext__(self) -> Response:
        while not self._responses:
            if self._error is not None:
                raise made_here(self._error)
            if self._done:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        response = self._responses.popleft()
        if isinstance(response, ResponseEnvelope):
            self._held.add_bytes(response.source, -len(response.body))
        return response


class ResponseReceiver:
    """The pending requests of one connector, and its partially received responses.

    Attributes:
        waiting: The pending requests over the bus, and all multicasts, by message id.
        local: The pending requests to handlers in this process.
        transfers: The partially received responses.
    """

    def __init__(self, runtime: Runtime, transport: Transport) -> None:
        self._runtime, self._transport = runtime, transport
        self.waiting: dict[str, PendingRequest | ResponseStream] = {}
        self.local: dict[PendingRequest, None] = {}  # in the order in which they were sent
        self.transfers = self._new_transfers()

    def open(self) -> None:
        """Prepare to receive, once the round trip is known."""
        self.transfers = self._new_transfers()

    def _new_transfers(self) -> Reassembler[ResponseEnvelope]:
        runtime = self._runtime
        return Reassembler(
            max_body=runtime.max_body,
            max_fragments=runtime.max_fragments,
            silence=MAX_SILENCE * runtime.round_trip,
            read_all=self._read_all,
        )

    def refuse(self, subject: str) -> None:
        """Fail the requests to a subject to which the broker does not let this service publish.

        Args:
            subject: The subject as the broker's client tells it.
        """
        for call in list(self.waiting.values()):
            if call.subject == subject:
                why = self._transport.why_refused(call.subject)
                call.fail_threadsafe(PublishRefused(why))

    def close(self) -> None:
        """Fail every pending request: the connector shuts down."""
        for call in [*self.waiting.values(), *self.local]:
            if isinstance(call, PendingRequest):
                call.fail_threadsafe(HTTPError("the connector is shutting down", status=503))
            else:
                call.expire()
        self.transfers.close()

    def receive_local(self, subject: str, message: Message) -> bool:
        """Take a response from within the process, in the sender's thread."""
        if isinstance(message, Request) or self._runtime.loop is None:
            return False
        self._runtime.metrics.deliveries["memory"] += 1
        if not isinstance(message, ResponseEnvelope):
            message = ResponseEnvelope.of(message)
        self._receive(subject, message)
        return True

    def receive_payload(self, subject: str, payload: bytes) -> None:
        """Take the payload of a response from the bus."""
        runtime = self._runtime
        runtime.metrics.deliveries["nats"] += 1
        if reply_address(subject) is None:
            runtime.metrics.reject(runtime.plane, "source", subject)
            return
        try:
            response = read_response(payload)
            if len(payload) > _SHORT and too_long(response.headers.lists):
                raise refusal("BusError", "malformed", subject, field="headers")
        except SubtrieError:
            runtime.metrics.reject(runtime.plane, "malformed", subject)
            return
        self._receive(subject, response)

    def _receive(self, subject: str, response: ResponseEnvelope) -> None:
        runtime = self._runtime
        address = reply_address(subject)
        if address is None or address.host != runtime.host or address.id != runtime.id:
            runtime.metrics.reject(runtime.plane, "source", subject)
            return
        values = response.headers.lists
        values[control_headers.FROM_HOST] = [address.source]
        response.source = address.source
        op = response.op = values.get(control_headers.OP_CODE, [""])[0]
        message_id = response.message_id = values.get(control_headers.MSG_ID, [""])[0]
        if (
            op not in (control_headers.ACK, control_headers.RESPONSE, control_headers.ERROR)
            or not message_id
        ):
            runtime.metrics.reject(runtime.plane, "malformed", subject)
            return
        call = self.waiting.get(message_id)
        if call is None:
            return  # too late: the caller has stopped waiting
        if isinstance(call, PendingRequest) and call.expects not in ("", response.source):
            runtime.metrics.reject(runtime.plane, "other-source", subject)
            return  # another host responds for the one that was asked
        if op == control_headers.ACK:
            if call.sent and not (isinstance(call, PendingRequest) and call.acked):
                seconds = _system.monotonic() - call.sent
                self._transport.note_ack(seconds)
                runtime.metrics.note_ack(seconds)
            if isinstance(call, PendingRequest) and call.on_ack is None:
                call.acked = True  # the timer reads it: no other thread is woken
                return
        elif control_headers.FRAGMENT in values:
            index, count = control_headers.fragment_of(values[control_headers.FRAGMENT][0])
            if count > 1:
                runtime.hand_over(self._assemble, call, response, index, count)
                return
        self._complete(call, response)

    def _complete(self, call: PendingRequest | ResponseStream, response: ResponseEnvelope) -> None:
        if response.op == control_headers.ERROR and isinstance(call, ResponseStream):
            response.error = read_error(response.body, response.status)
        if call.loop is self._runtime.loop:
            self._runtime.hand_over(call.receive, response)
        elif not call.loop.is_closed():
            call.loop.call_soon_threadsafe(call.receive, response)

    def _assemble(
        self,
        call: PendingRequest | ResponseStream,
        response: ResponseEnvelope,
        index: int,
        count: int,
    ) -> None:
        key = (response.source, response.id, response.message_id)
        if self.transfers.ended(key):
            return
        now = asyncio.get_running_loop().time()
        try:
            if key not in self.transfers:
                given_up = partial(self._fail, call, response)
                ends = max(call.expires, now)
                self.transfers.begin(key, count, now=now, ends=ends, given_up=given_up)
            whole = self.transfers.add(key, index, count, response, now=now)
        except HTTPError as error:
            self._fail(call, response, error)
            return
        if whole is not None:
            self._complete(call, whole)

    def _fail(
        self, call: PendingRequest | ResponseStream, response: ResponseEnvelope, error: HTTPError
    ) -> None:
        """Complete a response of which fragments are missing or do not fit."""
        if isinstance(call, PendingRequest):
            call.fail_threadsafe(error)
        elif not call.loop.is_closed():
            response.error, response.status, response.body = error, error.status, b""
            call.loop.call_soon_threadsafe(call.receive, response)

    async def _read_all(self) -> bool:
        """Return once all that the broker has sent was received; False if it does not answer."""
        if not await self._transport.responds(_READ_LIMIT):
            return False
        received = asyncio.get_running_loop().create_future()
        self._runtime.hand_over(received.set_result, None)
        await received
        return True
