"""Receiving requests: verification, acknowledgement, reassembly, then the handler.

The first steps run where the message arrives, for local messages in the sender's thread: the source
is read from the subject and overwrites ``Microbus-From-Host`` before anything else; a message
without a verified source is counted and dropped; every other message is acknowledged at once. The
handler runs in a task of its own on its connector's loop.
"""

# S0-040, S0-041, A25, A78

from __future__ import annotations

import asyncio
import logging

from .. import _control_headers
from .._errors import SubtrieError
from ._codec import read_request
from ._endpoint import Endpoint
from ._errors import HTTPError
from ._fragments import MAX_SILENCE, Reassembler, TransferKey
from ._headers import Headers
from ._identity import request_address, return_subject
from ._message import Message, Request, Response
from ._runtime import Runtime
from ._server_runner import HandlerRunner

logger = logging.getLogger("subtrie.connector")


class RequestReceiver(HandlerRunner):
    """The receiving side of one connector."""

    def __init__(self, connector: Runtime) -> None:
        super().__init__(connector)
        self.transfers: Reassembler[Request]
        self._sweep: asyncio.TimerHandle | None = None

    def open(self, round_trip: float) -> None:
        """Prepare to receive, given the round trip in seconds."""
        super().open(round_trip)
        self.transfers = Reassembler(
            max_body=self.connector.max_body,
            max_fragments=self.connector.max_fragments,
            silence=MAX_SILENCE * round_trip,
        )

    # --- arrival

    def receive_local(self, endpoint: Endpoint, subject: str, message: Message) -> bool:
        """Take a message in the sender's thread; False if the connector has stopped."""
        connector = self.connector
        loop = connector._loop
        if loop is None or loop.is_closed() or not isinstance(message, Request):
            return False
        connector.metrics.deliveries["memory"] += 1
        caller, message.caller = message.caller, None
        reply_to = self._admit(subject, message, attested=True, live=caller is not None)
        if reply_to is None:
            return True  # received, and rejected
        if caller is not None:
            caller.acked = True
        else:
            acknowledgement = self._acknowledgement(endpoint, message)
            if not connector._deliver(reply_to, acknowledgement, kept=False):
                connector._spawn(connector._publish(reply_to, acknowledgement))
        failed = _too_large(connector) if len(message.body) > connector.max_body else None
        connector._run_on_loop(self._start, endpoint, message, reply_to, failed, caller)
        return True

    async def receive_payload(self, endpoint: Endpoint, subject: str, payload: bytes) -> None:
        """Take the payload of a message from the bus."""
        connector = self.connector
        connector.metrics.deliveries["nats"] += 1
        if request_address(subject) is None:
            connector.metrics.reject(connector.plane, "source", subject)
            return
        try:
            request = read_request(payload)
        except SubtrieError:
            connector.metrics.reject(connector.plane, "malformed", subject)
            return
        reply_to = self._admit(subject, request, attested=False)
        if reply_to is None:
            return
        index, count = _control_headers.fragment_of(
            request.headers.get(_control_headers.FRAGMENT, "")
        )
        failed: HTTPError | None = None
        whole: Request | None = request
        if count > 1:
            key = _key(request)
            if self.transfers.ended(key):
                return
            failed, whole = None, None
            if index == 1 and key in self.transfers:
                logger.warning("repeated first fragment from %s", request.source)
                return
            if index == 1:
                failed = self._begin(key, count, request)
        await connector._send(reply_to, self._acknowledgement(endpoint, request))
        if count > 1 and failed is None:
            try:
                now = asyncio.get_running_loop().time()
                whole = self.transfers.add(key, index, count, request, now=now)
            except HTTPError as error:
                failed = error
        elif len(request.body) > connector.max_body:
            failed = _too_large(connector)
        if failed is not None or whole is not None:
            self._start(endpoint, whole or request, reply_to, failed)

    def _admit(
        self, subject: str, request: Request, *, attested: bool, live: bool = False
    ) -> str | None:
        """Set the verified source; return the subject for responses, or None to reject.

        A ``live`` caller, in this process, gets its response directly and needs no subject.
        """
        connector, headers = self.connector, request.headers._values
        address = request_address(subject)
        if address is None or address.plane != connector.plane:
            connector.metrics.reject(connector.plane, "source", subject)
            return None
        headers[_control_headers.FROM_HOST] = [address.source]
        request.source, request.attested = address.source, attested
        # The broker checked the subject, not the request line.
        request.method, request.path = address.method, address.path
        if live:
            return ""
        try:
            instance, message_id = (
                headers[_control_headers.FROM_ID][0],
                headers[_control_headers.MSG_ID][0],
            )
        except KeyError:
            connector.metrics.reject(connector.plane, "return-address", subject)
            return None
        reply_to = return_subject(connector.plane, connector.host, address.source, instance)
        if reply_to is None or not message_id:
            connector.metrics.reject(connector.plane, "return-address", subject)
            return None
        return reply_to

    def _acknowledgement(self, endpoint: Endpoint, request: Request) -> Response:
        values = request.headers._values
        signature = self.connector.sender_headers(_control_headers.ACK, endpoint.queue)
        headers = {**signature, "Connection": ["close"]}
        headers[_control_headers.MSG_ID] = values[_control_headers.MSG_ID]
        response = Response.__new__(Response)
        fragment = values.get(_control_headers.FRAGMENT)
        response.status = (
            100 if fragment and _control_headers.fragment_of(fragment[0])[1] > 1 else 202
        )
        response.body, response.headers, response.source, response.error = (
            b"",
            Headers._of(headers),
            "",
            None,
        )
        return response

    # --- fragments

    def _begin(self, key: TransferKey, count: int, request: Request) -> HTTPError | None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        try:
            self.transfers.begin(key, count, now=now, ends=now + self._budget(request))
        except HTTPError as error:
            return error
        if self._sweep is None:
            self._sweep = loop.call_later(self._round_trip / 2, self._sweep_transfers, loop)
        return None

    def _sweep_transfers(self, loop: asyncio.AbstractEventLoop) -> None:
        self._sweep = None
        for source, instance, _ in self.transfers.overdue(loop.time()):
            logger.info("incomplete fragmented message from %s (%s)", source, instance)
        if len(self.transfers):
            self._sweep = loop.call_later(self._round_trip / 2, self._sweep_transfers, loop)

    async def finish(self, timeout: float) -> None:
        """Wait for running handlers; cancel them after ``timeout`` seconds."""
        await super().finish(timeout)
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None


def _key(request: Request) -> TransferKey:
    values = request.headers._values
    return request.source, values[_control_headers.FROM_ID][0], values[_control_headers.MSG_ID][0]


def _too_large(connector: Runtime) -> HTTPError:
    return HTTPError(f"the body exceeds {connector.max_body} bytes (max_body)", status=413)
