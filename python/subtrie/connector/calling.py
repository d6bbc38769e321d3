"""Requests as they leave: composed, sent the right way, and their answers brought home.

In process the message is delivered and acknowledged before ``request`` first waits; where nobody
in the process listens and there is no bus, that is certain at once and nobody waits at all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import SubtrieError, refusal
from . import frame
from .answer import json_bytes
from .errors import AckTimeout, CallDepthExceeded, HTTPError, RequestTimeout, read_error
from .fragments import SILENCE, Assembly, cut, fragment_of_request
from .headers import Headers
from .http_text import read_response
from .inbound import inbound, passed_on
from .message import Message, Request, Response
from .multicast import Multicast
from .serving import DEFAULT_BUDGET, LONGEST_BUDGET
from .source import reply_address, request_address, request_subject
from .timers import Timers
from .tracing import calling_span, inject
from .unicast import Unicast
from .url import Location, Params, fill_path, locate, path_of, with_params

if TYPE_CHECKING:
    from .connector import Connector

logger = logging.getLogger("subtrie.connector")

DEEPEST = 64  # calls in a chain


class Calling:
    """The sending side of one connector."""

    def __init__(self, connector: Connector) -> None:
        self.connector = connector
        self.waiting: dict[str, Unicast | Multicast] = {}
        self.transfers: Assembly[Response]
        self._sweep: asyncio.TimerHandle | None = None

    def open(self, round_trip: float) -> None:
        """Ready to send."""
        self.round_trip = round_trip
        self.transfers = Assembly(
            max_body=self.connector.max_body,
            max_fragments=self.connector.max_fragments,
            silence=SILENCE * round_trip,
        )

    # --- composing

    def compose(
        self,
        method: str,
        url: str,
        *,
        params: Params | None,
        json: Any,
        body: bytes | str | None,
        headers: Mapping[str, str] | None,
        timeout: float | None,
    ) -> tuple[Request, Location, float]:
        """The request, where it goes, and its time budget in seconds.

        Raises what a caller made wrong: ``AddressError``, ``RequestTimeout`` where no time is
        left, ``CallDepthExceeded``, ``HTTPError`` 413, ``BusError`` for headers.
        """
        connector = self.connector
        if connector._transport is None:
            raise refusal("BusError", "not-started", connector.host)
        context = inbound.get()
        budget, depth = DEFAULT_BUDGET if timeout is None else float(timeout), 0
        if context is not None:
            depth = context.depth
            left = context.deadline - asyncio.get_running_loop().time()
            if left <= self.round_trip:
                raise RequestTimeout("timeout", trace=connector.ids.trace())
            if timeout is None or left < budget:
                budget = left
        if timeout is not None and timeout <= 0:
            raise RequestTimeout("timeout", trace=connector.ids.trace())
        if depth >= DEEPEST:
            raise CallDepthExceeded(trace=connector.ids.trace())
        budget = min(budget, LONGEST_BUDGET)
        where = locate(fill_path(with_params(url, params)))
        values = {} if context is None else passed_on(context.headers)
        content = b""
        if json is not None:
            content = json_bytes(json)
            values["Content-Type"] = ["application/json"]
        elif body is not None:
            content = body.encode() if isinstance(body, str) else bytes(body)
            if isinstance(body, str):
                values["Content-Type"] = ["text/plain; charset=utf-8"]
        if len(content) > connector.max_body:
            raise HTTPError(f"a body of more than {connector.max_body} bytes", status=413)
        if headers:
            given = headers if isinstance(headers, Headers) else Headers(headers)
            for name, several in given._values.items():
                if name not in frame.CONTROL and name not in ("Host", "Content-Length"):
                    values[name] = several.copy()
        values[frame.OP_CODE] = [frame.REQUEST]
        values[frame.FROM_HOST] = [connector.host]
        values[frame.FROM_ID] = [connector.id]
        if connector.version:
            values[frame.FROM_VERSION] = [str(connector.version)]
        values[frame.CALL_DEPTH] = [str(depth + 1)]
        values[frame.TIME_BUDGET] = [frame.duration(budget)]
        request = Request(
            method.upper(),
            where.text,
            path=path_of(where.path),
            url_query=where.query,
            headers=Headers._of(values),
            body=content,
        )
        return request, where, budget

    def _new_id(self) -> str:
        message_id = self.connector.ids.message()
        while message_id in self.waiting:
            message_id = self.connector.ids.message()
        return message_id

    # --- unicast

    async def request(self, request: Request, where: Location, budget: float) -> Response:
        """Sends to one, nearest first where that is known, and returns its answer or raises."""
        connector = self.connector
        with calling_span(request.method, where.text, connector.host) as span:
            inject(request.headers)
            try:
                if connector.nearest is None or "://id-" in where.text or "://loc-" in where.text:
                    response = await self.once(request, where.text, budget)
                else:
                    response = await self._nearest(request, where, budget)
            except HTTPError as error:
                span.end(error.status, error)
                error.trace = span.trace_id or error.trace
                raise
            span.end(response.status)
            return response

    async def _nearest(self, request: Request, where: Location, budget: float) -> Response:
        nearest = self.connector.nearest
        assert nearest is not None
        key = (request.method, where.host.lower(), where.port)
        known = nearest.nearest(key)
        loop = asyncio.get_running_loop()
        ends = loop.time() + budget
        if known:
            try:
                response = await self.once(request, where.within(f"loc-{known}"), budget, kept=True)
            except AckTimeout:
                nearest.forget(key)
                left = ends - loop.time()
                if left <= 0:
                    raise RequestTimeout("timeout") from None
                request.headers._values[frame.TIME_BUDGET] = [frame.duration(left)]
                response = await self.once(request, where.text, left)
        else:
            response = await self.once(request, where.text, budget)
        if response.locality:
            nearest.learn(key, response.locality)
        return response

    async def once(
        self, request: Request, url: str, budget: float, *, kept: bool = False
    ) -> Response:
        """Sends to one and returns its answer, or raises its error."""
        connector = self.connector
        subject = request_subject(connector.plane, connector.host, request.method, url)
        request.url = url
        message_id = self._new_id()
        request.headers._values[frame.MSG_ID] = [message_id]
        loop = asyncio.get_running_loop()
        timers = connector._timers if loop is connector._loop else Timers(loop)
        call = Unicast(loop, timers, subject, budget)
        self.waiting[message_id] = call
        try:
            request.caller = call
            # What nobody here hears is not given away.
            if connector._deliver(subject, request, kept=kept):
                if not call.acked:
                    call.await_ack(self.round_trip, connector._away)
            elif connector._has_bus:
                request.caller = None
                await self._send(request, call)
            else:
                raise AckTimeout()
            response = await call.future
        except AckTimeout as error:
            connector.counts.ack_timeouts += 1
            error.say("ack timeout: " + url.partition("?")[0])
            error.trace = connector.ids.trace()
            raise
        except RequestTimeout as error:
            connector.counts.timeouts += 1
            error.say("timeout: " + url.partition("?")[0])
            error.trace = connector.ids.trace()
            raise
        finally:
            del self.waiting[message_id]
            call.close()
        if response.headers._values[frame.OP_CODE][0] == frame.ERROR:
            raise read_error(response.body, response.status)
        return response

    async def _send(self, request: Request, call: Unicast | Multicast) -> None:
        """Over the bus, in fragments where it must be.

        Whoever acknowledged the first fragment heard it there, so the others take the same way.
        """
        connector = self.connector
        parts = cut(request.body, connector._fragment_size)
        if len(parts) > connector.max_fragments:
            raise refusal("BusError", "too-many-fragments", f"{len(request.body)} bytes")
        first = request
        if len(parts) > 1:
            first = fragment_of_request(request, parts, 1)
            sent: set[str] = set()

            def send_rest(ack: Response) -> None:
                if ack.id not in sent:
                    sent.add(ack.id)
                    connector._soon(self._send_rest(request, parts, call, ack.id))

            call.on_ack = send_rest
        await connector._publish(call.subject, first)
        if isinstance(call, Unicast):
            call.await_ack(self.round_trip, connector._away)
        else:
            call.await_acks(self.round_trip, connector._away)

    async def _send_rest(
        self, request: Request, parts: list[bytes], call: Unicast | Multicast, instance: str
    ) -> None:
        """The other fragments, to the instance that acknowledged the first (S0-043)."""
        address = request_address(call.subject)
        assert address is not None
        try:
            subject = str(address.replace(slot=instance))
            for place in range(2, len(parts) + 1):
                await self.connector._publish(subject, fragment_of_request(request, parts, place))
        except SubtrieError:
            logger.warning("%s acknowledged as %a, which is no instance", call.subject, instance)

    # --- multicast

    def publish(self, request: Request, url: str, budget: float) -> Multicast:
        """Sends to all; the answers are read from what is returned."""
        connector = self.connector
        subject = request_subject(connector.plane, connector.host, request.method, url)
        inject(request.headers)
        message_id = self._new_id()
        request.headers._values[frame.MSG_ID] = [message_id]
        call = Multicast(
            asyncio.get_running_loop(),
            subject,
            budget,
            connector.known_responders,
            lambda: self._retire(message_id),
        )
        self.waiting[message_id] = call
        if connector._has_bus:
            connector._soon(self._publish(request, call))
        else:
            connector._deliver(subject, request)
            call.await_acks(self.round_trip, connector._away)
        return call

    async def _publish(self, request: Request, call: Multicast) -> None:
        try:
            await self._send(request, call)
        except Exception as error:
            call.fail(error)

    def _retire(self, message_id: str) -> None:
        """A late answer says that somebody was not expected, so it is still looked at a while."""
        call = self.waiting.get(message_id)
        if call is not None:
            call.loop.call_later(self.round_trip, self.waiting.pop, message_id, None)

    # --- answers

    def from_memory(self, subject: str, message: Message) -> bool:
        """Takes a live answer, in the sender's thread."""
        if isinstance(message, Request) or self.connector._loop is None:
            return False
        self.connector.counts.deliveries["memory"] += 1
        self._hear(subject, message)
        return True

    async def from_bus(self, subject: str, payload: bytes) -> None:
        """Takes the payload of an answer."""
        self.connector.counts.deliveries["nats"] += 1
        if reply_address(subject) is None:
            self.connector.counts.reject(self.connector.plane, "source", subject)
            return
        try:
            response = read_response(payload)
        except SubtrieError:
            self.connector.counts.reject(self.connector.plane, "malformed", subject)
            return
        self._hear(subject, response)

    def _hear(self, subject: str, response: Response) -> None:
        connector, values = self.connector, response.headers._values
        address = reply_address(subject)
        if address is None or address.host != connector.host or address.id != connector.id:
            connector.counts.reject(connector.plane, "source", subject)
            return
        values[frame.FROM_HOST] = [address.source]
        response.source = address.source
        op = values.get(frame.OP_CODE, [""])[0]
        message_id = values.get(frame.MSG_ID, [""])[0]
        if op not in (frame.ACK, frame.RESPONSE, frame.ERROR) or not message_id:
            connector.counts.reject(connector.plane, "malformed", subject)
            return
        call = self.waiting.get(message_id)
        if call is None:
            return  # too late: the caller has given up
        if frame.FRAGMENT in values and op != frame.ACK:
            index, count = frame.fragment_of(values[frame.FRAGMENT][0])
            if count > 1:
                connector._on_loop(self._assemble, call, response, index, count)
                return
        self._tell(call, response)

    def _tell(self, call: Unicast | Multicast, response: Response) -> None:
        if response.headers._values[frame.OP_CODE][0] == frame.ERROR and isinstance(
            call, Multicast
        ):
            response.error = read_error(response.body, response.status)
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is call.loop:
            call.hear(response)
        elif not call.loop.is_closed():
            call.loop.call_soon_threadsafe(call.hear, response)

    def _assemble(
        self, call: Unicast | Multicast, response: Response, index: int, count: int
    ) -> None:
        values = response.headers._values
        key = (response.source, response.id, values[frame.MSG_ID][0])
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
            self._break_off(call, response, error)
            return
        if whole is not None:
            self._tell(call, whole)

    def _break_off(self, call: Unicast | Multicast, response: Response, error: HTTPError) -> None:
        if isinstance(call, Unicast):
            call.loop.call_soon_threadsafe(call.fail, error)
        else:
            response.error, response.status, response.body = error, error.status, b""
            call.loop.call_soon_threadsafe(call.hear, response)

    def _sweep_transfers(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep = None
        for _, _, message_id in self.transfers.overdue(loop.time()):
            call = self.waiting.get(message_id)
            if isinstance(call, Unicast):
                late = RequestTimeout("fragments of the answer are missing")
                call.loop.call_soon_threadsafe(call.fail, late)
        if len(self.transfers):
            self._sweep = loop.call_later(self.round_trip / 2, self._sweep_transfers)

    def close(self) -> None:
        """Ends every wait: the connector goes away."""
        for call in list(self.waiting.values()):
            if isinstance(call, Unicast):
                call.fail(HTTPError("the connector is shutting down", status=503))
            else:
                call._timed_out()
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
