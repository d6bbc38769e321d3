"""Receiving responses: verification, reassembly, and delivery to the pending request.

A response is matched to its request by the message id, on the subscription of this very instance.
A response that comes too late is dropped.
"""

from __future__ import annotations

import asyncio

from .. import _control_headers
from .._errors import SubtrieError
from ._codec import read_response
from ._errors import HTTPError, RequestTimeout, read_error
from ._fragments import MAX_SILENCE, Reassembler
from ._identity import reply_address
from ._message import Message, Request, Response
from ._pending import PendingRequest
from ._response_stream import ResponseStream
from ._runtime import Runtime


class ResponseReceiver:
    """The pending requests of one connector, and its partially received responses."""

    def __init__(self, connector: Runtime) -> None:
        self.connector = connector
        self.waiting: dict[str, PendingRequest | ResponseStream] = {}
        self.round_trip = 0.0  # seconds; set by ``open``
        self.transfers: Reassembler[Response]
        self._sweep: asyncio.TimerHandle | None = None

    def open(self, round_trip: float) -> None:
        """Prepare to receive, given the round trip in seconds."""
        self.round_trip = round_trip
        self.transfers = Reassembler(
            max_body=self.connector.max_body,
            max_fragments=self.connector.max_fragments,
            silence=MAX_SILENCE * round_trip,
        )

    def receive_local(self, subject: str, message: Message) -> bool:
        """Take a response from within the process, in the sender's thread."""
        if isinstance(message, Request) or self.connector._loop is None:
            return False
        self.connector.metrics.deliveries["memory"] += 1
        self._receive(subject, message)
        return True

    async def receive_payload(self, subject: str, payload: bytes) -> None:
        """Take the payload of a response from the bus."""
        self.connector.metrics.deliveries["nats"] += 1
        if reply_address(subject) is None:
            self.connector.metrics.reject(self.connector.plane, "source", subject)
            return
        try:
            response = read_response(payload)
        except SubtrieError:
            self.connector.metrics.reject(self.connector.plane, "malformed", subject)
            return
        self._receive(subject, response)

    def _receive(self, subject: str, response: Response) -> None:
        connector, values = self.connector, response.headers._values
        address = reply_address(subject)
        if address is None or address.host != connector.host or address.id != connector.id:
            connector.metrics.reject(connector.plane, "source", subject)
            return
        values[_control_headers.FROM_HOST] = [address.source]
        response.source = address.source
        op = values.get(_control_headers.OP_CODE, [""])[0]
        message_id = values.get(_control_headers.MSG_ID, [""])[0]
        if (
            op not in (_control_headers.ACK, _control_headers.RESPONSE, _control_headers.ERROR)
            or not message_id
        ):
            connector.metrics.reject(connector.plane, "malformed", subject)
            return
        call = self.waiting.get(message_id)
        if call is None:
            return  # too late: the caller has stopped waiting
        if _control_headers.FRAGMENT in values and op != _control_headers.ACK:
            index, count = _control_headers.fragment_of(values[_control_headers.FRAGMENT][0])
            if count > 1:
                connector._run_on_loop(self._assemble, call, response, index, count)
                return
        self._complete(call, response)

    def _complete(self, call: PendingRequest | ResponseStream, response: Response) -> None:
        if response.headers._values[_control_headers.OP_CODE][
            0
        ] == _control_headers.ERROR and isinstance(call, ResponseStream):
            response.error = read_error(response.body, response.status)
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is call.loop:
            call.receive(response)
        elif not call.loop.is_closed():
            call.loop.call_soon_threadsafe(call.receive, response)

    def _assemble(
        self, call: PendingRequest | ResponseStream, response: Response, index: int, count: int
    ) -> None:
        values = response.headers._values
        key = (response.source, response.id, values[_control_headers.MSG_ID][0])
        if self.transfers.ended(key):
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        try:
            if key not in self.transfers:
                self.transfers.begin(key, count, now=now, ends=now + max(call.expires - now, 0))
                if self._sweep is None:
                    self._sweep = loop.call_later(self.round_trip / 2, self._sweep_transfers)
            whole = self.transfers.add(key, index, count, response, now=now)
        except HTTPError as error:
            self._fail_transfer(call, response, error)
            return
        if whole is not None:
            self._complete(call, whole)

    def _fail_transfer(
        self, call: PendingRequest | ResponseStream, response: Response, error: HTTPError
    ) -> None:
        if isinstance(call, PendingRequest):
            call.loop.call_soon_threadsafe(call.fail, error)
        else:
            response.error, response.status, response.body = error, error.status, b""
            call.loop.call_soon_threadsafe(call.receive, response)

    def _sweep_transfers(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep = None
        for _, _, message_id in self.transfers.overdue(loop.time()):
            call = self.waiting.get(message_id)
            if isinstance(call, PendingRequest):
                late = RequestTimeout("fragments of the response are missing")
                call.loop.call_soon_threadsafe(call.fail, late)
        if len(self.transfers):
            self._sweep = loop.call_later(self.round_trip / 2, self._sweep_transfers)

    def close(self) -> None:
        """Fail every pending request: the connector shuts down."""
        for call in list(self.waiting.values()):
            if isinstance(call, PendingRequest):
                call.fail(HTTPError("the connector is shutting down", status=503))
            else:
                call._on_timeout()
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
