"""Receiving responses: verification, reassembly, and delivery to the pending request.

A response is matched to its request by the message id, on the subscription of this very instance; a
response that comes too late is dropped.
"""

from __future__ import annotations

import asyncio
import time

from .. import _control_headers
from .._errors import SubtrieError, refusal
from ._codec import read_response
from ._errors import HTTPError, RequestTimeout, read_error
from ._fragments import MAX_SILENCE, Reassembler, TransferKey
from ._identity import reply_address
from ._limits import too_long
from ._message import Message, Request, ResponseEnvelope
from ._pending import PendingRequest, ResponseStream
from ._runtime import Runtime
from ._transport import Transport

_SHORT = 1024  # bytes of a message that cannot have a header that is too long by much


class ResponseReceiver:
    """The pending requests of one connector, and its partially received responses.

    Attributes:
        waiting: The pending requests over the bus, and all multicasts, by message id.
        local: The pending requests to handlers in this process.
        transfers: The partially received responses.
    """

    transfers: Reassembler[ResponseEnvelope]

    def __init__(self, runtime: Runtime, transport: Transport) -> None:
        self._runtime, self._transport = runtime, transport
        self.waiting: dict[str, PendingRequest | ResponseStream] = {}
        self.local: set[PendingRequest] = set()

    def open(self) -> None:
        """Prepare to receive, once the round trip is known."""
        runtime = self._runtime
        self.transfers = Reassembler(
            max_body=runtime.max_body,
            max_fragments=runtime.max_fragments,
            silence=MAX_SILENCE * runtime.round_trip,
            overdue=self._on_overdue,
        )

    def refuse(self, subject: str, why: str) -> None:
        """Fail the requests to a subject to which the broker does not let this service publish.

        Args:
            subject: The subject in lower case.
            why: The text of the error.
        """
        for call in list(self.waiting.values()):
            if call.subject.lower() == subject:
                call.fail_threadsafe(HTTPError(why, status=403))

    def close(self) -> None:
        """Fail every pending request: the connector shuts down."""
        for call in [*self.waiting.values(), *self.local]:
            if isinstance(call, PendingRequest):
                call.fail_threadsafe(HTTPError("the connector is shutting down", status=503))
            else:
                call.expire()
        if hasattr(self, "transfers"):
            self.transfers.close()

    def receive_local(self, subject: str, message: Message) -> bool:
        """Take a response from within the process, in the sender's thread."""
        if isinstance(message, Request) or self._runtime.loop is None:
            return False
        self._runtime.metrics.deliveries["memory"] += 1
        if not isinstance(message, ResponseEnvelope):
            message = message.received()
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
        values[_control_headers.FROM_HOST] = [address.source]
        response.source = address.source
        op = response.op = values.get(_control_headers.OP_CODE, [""])[0]
        message_id = response.message_id = values.get(_control_headers.MSG_ID, [""])[0]
        if (
            op not in (_control_headers.ACK, _control_headers.RESPONSE, _control_headers.ERROR)
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
        if op == _control_headers.ACK:
            if call.sent and not (isinstance(call, PendingRequest) and call.acked):
                seconds = time.monotonic() - call.sent
                self._transport.note_ack(seconds)
                runtime.metrics.note_ack(seconds)
            if isinstance(call, PendingRequest) and call.on_ack is None:
                call.acked = True  # the timer reads it: no other thread is woken
                return
        elif _control_headers.FRAGMENT in values:
            index, count = _control_headers.fragment_of(values[_control_headers.FRAGMENT][0])
            if count > 1:
                runtime.hand_over(self._assemble, call, response, index, count)
                return
        self._complete(call, response)

    def _complete(self, call: PendingRequest | ResponseStream, response: ResponseEnvelope) -> None:
        if response.op == _control_headers.ERROR and isinstance(call, ResponseStream):
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
                self.transfers.begin(key, count, now=now, ends=max(call.expires, now))
            whole = self.transfers.add(key, index, count, response, now=now)
        except HTTPError as error:
            if isinstance(call, PendingRequest):
                call.fail_threadsafe(error)
            else:
                response.error, response.status, response.body = error, error.status, b""
                call.loop.call_soon_threadsafe(call.receive, response)
            return
        if whole is not None:
            self._complete(call, whole)

    def _on_overdue(self, key: TransferKey) -> None:
        call = self.waiting.get(key[2])
        if isinstance(call, PendingRequest):
            call.fail_threadsafe(RequestTimeout("fragments of the response are missing"))
