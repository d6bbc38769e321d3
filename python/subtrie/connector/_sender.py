"""Sending requests: to one instance, the nearest first, or to all; in process or over the bus.

In process a message is delivered and acknowledged before ``request`` first waits. If no subscriber
is in the process and there is no broker, ``AckTimeout`` is raised at once.
"""

from __future__ import annotations

import asyncio
import logging

from .. import _control_headers
from .._errors import SubtrieError, refusal
from ._errors import AckTimeout, HTTPError, RequestTimeout, read_error
from ._fragments import cut, fragment_of_request
from ._identity import request_address, request_subject
from ._message import Request, Response
from ._pending import PendingRequest
from ._response_stream import ResponseStream
from ._responses import ResponseReceiver
from ._routing import has_slot
from ._timers import Timers
from ._tracing import client_span, inject
from ._url import ParsedURL

logger = logging.getLogger("subtrie.connector")


class Sender(ResponseReceiver):
    """The sending side of one connector."""

    def _new_id(self) -> str:
        message_id = self.connector.ids.message()
        while message_id in self.waiting:
            message_id = self.connector.ids.message()
        return message_id

    # --- unicast

    async def request(self, request: Request, target: ParsedURL, budget: float) -> Response:
        """Send to one instance, nearest first, and return its response or raise its error."""
        connector = self.connector
        with client_span(request.method, target.text, connector.host) as span:
            inject(request.headers)
            try:
                if connector.nearest is None or has_slot(target.host):
                    response = await self.send_once(request, target.text, budget)
                else:
                    response = await self._nearest(request, target, budget)
            except HTTPError as error:
                span.end(error.status, error)
                error.trace = span.trace_id or error.trace
                raise
            span.end(response.status)
            return response

    async def _nearest(self, request: Request, target: ParsedURL, budget: float) -> Response:
        nearest = self.connector.nearest
        assert nearest is not None
        key = (request.method, target.host.lower(), target.port)
        known = nearest.nearest(key)
        loop = asyncio.get_running_loop()
        ends = loop.time() + budget
        if known:
            try:
                response = await self.send_once(
                    request, target.within(f"loc-{known}"), budget, kept=True
                )
            except AckTimeout:
                nearest.forget(key)
                left = ends - loop.time()
                if left <= 0:
                    raise RequestTimeout("timeout") from None
                request.headers._values[_control_headers.TIME_BUDGET] = [
                    _control_headers.duration(left)
                ]
                response = await self.send_once(request, target.text, left)
        else:
            response = await self.send_once(request, target.text, budget)
        if response.locality:
            nearest.learn(key, response.locality)
        return response

    async def send_once(
        self, request: Request, url: str, budget: float, *, kept: bool = False
    ) -> Response:
        """Send to one instance and return its response, or raise its error."""
        connector = self.connector
        subject = request_subject(connector.plane, connector.host, request.method, url)
        request.url = url
        message_id = self._new_id()
        request.headers._values[_control_headers.MSG_ID] = [message_id]
        loop = asyncio.get_running_loop()
        timers = connector._timers if loop is connector._loop else Timers(loop)
        call = PendingRequest(loop, timers, connector.metrics, subject, budget)
        self.waiting[message_id] = call
        try:
            request.caller = call
            # Without a local subscriber the message is not consumed.
            if connector._deliver(subject, request, kept=kept):
                if not call.acked:
                    call.await_ack(self.round_trip, connector)
            elif connector._has_broker:
                request.caller = None
                await self._send(request, call)
            else:
                raise AckTimeout()
            response = await call.future
        except AckTimeout as error:
            connector.metrics.ack_timeouts += 1
            error.set_message("ack timeout: " + url.partition("?")[0])
            error.trace = connector.ids.trace()
            raise
        except RequestTimeout as error:
            connector.metrics.timeouts += 1
            error.set_message("timeout: " + url.partition("?")[0])
            error.trace = connector.ids.trace()
            raise
        finally:
            del self.waiting[message_id]
            call.close()
        if response.headers._values[_control_headers.OP_CODE][0] == _control_headers.ERROR:
            raise read_error(response.body, response.status)
        return response

    async def _send(self, request: Request, call: PendingRequest | ResponseStream) -> None:
        """Send over the bus, in fragments if needed.

        An instance that acknowledged the first fragment received it over the bus, so the other
        fragments take the same way.
        """
        connector = self.connector
        parts = cut(request.body, connector._fragment_size)
        if len(parts) > connector.max_fragments:
            raise refusal(
                "BusError", "too-many-fragments", f"of {len(request.body)} bytes", field="body"
            )
        first = request
        if len(parts) > 1:
            first = fragment_of_request(request, parts, 1)
            sent: set[str] = set()

            def send_rest(ack: Response) -> None:
                if ack.id not in sent:
                    sent.add(ack.id)
                    connector._spawn(self._send_rest(request, parts, call, ack.id))

            call.on_ack = send_rest
        await connector._publish(call.subject, first)
        if isinstance(call, PendingRequest):
            call.await_ack(self.round_trip, connector)
        else:
            call.await_acks(self.round_trip, connector)

    async def _send_rest(
        self,
        request: Request,
        parts: list[bytes],
        call: PendingRequest | ResponseStream,
        instance: str,
    ) -> None:
        """Send the remaining fragments to the instance that acknowledged the first."""
        address = request_address(call.subject)  # S0-043
        assert address is not None
        try:
            subject = str(address.replace(slot=instance))
            for number in range(2, len(parts) + 1):
                await self.connector._publish(subject, fragment_of_request(request, parts, number))
        except SubtrieError:
            logger.warning(
                "%s was acknowledged by %a, which is not a valid instance id",
                call.subject,
                instance,
            )

    # --- multicast

    def publish(self, request: Request, url: str, budget: float) -> ResponseStream:
        """Send to all subscribers; the responses are read from the returned stream."""
        connector = self.connector
        subject = request_subject(connector.plane, connector.host, request.method, url)
        inject(request.headers)
        message_id = self._new_id()
        request.headers._values[_control_headers.MSG_ID] = [message_id]
        call = ResponseStream(
            asyncio.get_running_loop(),
            subject,
            budget,
            connector.known_responders,
            lambda: self._retire(message_id),
        )
        self.waiting[message_id] = call
        if connector._has_broker:
            connector._spawn(self._publish(request, call))
        else:
            connector._deliver(subject, request)
            call.await_acks(self.round_trip, connector)
        return call

    async def _publish(self, request: Request, call: ResponseStream) -> None:
        try:
            await self._send(request, call)
        except Exception as error:
            call.fail(error)

    def _retire(self, message_id: str) -> None:
        """Keep a finished multicast for a round trip: late responses correct known responders."""
        call = self.waiting.get(message_id)
        if call is not None:
            call.loop.call_later(self.round_trip, self.waiting.pop, message_id, None)
