"""Requests as they arrive: verified, acknowledged, put together, handled, answered.

The first steps run where the message arrives, in process in the sender's thread: the source is
read from the subject and overwrites ``Microbus-From-Host`` before anything else happens (S0-040),
an unverifiable message is counted and dropped (S0-041, A25), everything else is acknowledged at
once. The handler runs in a task of its own on its connector's loop, within its time budget, and
whatever becomes of it, the caller gets one answer (A78).
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time

from ..errors import SubtrieError
from . import frame
from .answer import response_of
from .deadline import Deadline
from .endpoint import Endpoint
from .errors import HTTPError, RequestTimeout, converted, error_body
from .fragments import SILENCE, Assembly, Key, cut
from .headers import Headers
from .http_text import read_request
from .inbound import Inbound, inbound
from .message import Message, Request, Response
from .middleware import Middleware, around
from .sending import Sending
from .source import request_address, return_subject
from .tracing import serving_span

logger = logging.getLogger("subtrie.connector")


class Serving:
    """The receiving side of one connector."""

    def __init__(self, connector: Sending) -> None:
        self.connector = connector
        self.middleware: list[Middleware] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.transfers: Assembly[Request]
        self._sweep: asyncio.TimerHandle | None = None
        self._context = contextvars.Context()

    def open(self, round_trip: float) -> None:
        """Ready to receive."""
        self._round_trip = round_trip
        self._context = contextvars.copy_context()
        self._context.run(inbound.set, None)
        self.transfers = Assembly(
            max_body=self.connector.max_body,
            max_fragments=self.connector.max_fragments,
            silence=SILENCE * round_trip,
        )

    # --- arrival

    def from_memory(self, endpoint: Endpoint, subject: str, message: Message) -> bool:
        """Takes a live message, in the sender's thread; False where nobody is here any more."""
        connector = self.connector
        loop = connector._loop
        if loop is None or loop.is_closed() or not isinstance(message, Request):
            return False
        connector.counts.deliveries["memory"] += 1
        answer_to = self._admit(endpoint, subject, message, attested=True)
        if answer_to is None:
            return True  # heard, and rejected
        if message.caller is not None:
            message.caller.acked = True
            message.caller = None
        else:
            acknowledgement = self._acknowledgement(endpoint, message)
            if not connector._deliver(answer_to, acknowledgement, kept=False):
                connector._soon(connector._publish(answer_to, acknowledgement))
        failed = _too_large(connector) if len(message.body) > connector.max_body else None
        connector._on_loop(self._start, endpoint, message, answer_to, failed)
        return True

    async def from_bus(self, endpoint: Endpoint, subject: str, payload: bytes) -> None:
        """Takes the payload of a bus message."""
        connector = self.connector
        connector.counts.deliveries["nats"] += 1
        if request_address(subject) is None:
            connector.counts.reject(connector.plane, "source", subject)
            return
        try:
            request = read_request(payload)
        except SubtrieError:
            connector.counts.reject(connector.plane, "malformed", subject)
            return
        answer_to = self._admit(endpoint, subject, request, attested=False)
        if answer_to is None:
            return
        index, count = frame.fragment_of(request.headers.get(frame.FRAGMENT, ""))
        failed: HTTPError | None = None
        whole: Request | None = request
        if count > 1:
            key = _key(request)
            if self.transfers.ended(key):
                return
            failed, whole = None, None
            if index == 1 and key in self.transfers:
                logger.warning("a second first fragment from %s", request.source)
                return
            if index == 1:
                failed = self._begin(key, count, request)
        await connector._send(answer_to, self._acknowledgement(endpoint, request))
        if count > 1 and failed is None:
            try:
                now = asyncio.get_running_loop().time()
                whole = self.transfers.add(key, index, count, request, now=now)
            except HTTPError as error:
                failed = error
        elif len(request.body) > connector.max_body:
            failed = _too_large(connector)
        if failed is not None or whole is not None:
            self._start(endpoint, whole or request, answer_to, failed)

    def _admit(
        self, endpoint: Endpoint, subject: str, request: Request, *, attested: bool
    ) -> str | None:
        """The verified source overwrites what the headers say; where to answer, or None."""
        connector, headers = self.connector, request.headers._values
        address = request_address(subject)
        if address is None or address.plane != connector.plane:
            connector.counts.reject(connector.plane, "source", subject)
            return None
        headers[frame.FROM_HOST] = [address.source]
        request.source, request.attested = address.source, attested
        # The broker has judged the subject, not the request line: the subject is what counts.
        request.method, request.path = address.method, address.path
        try:
            instance, message_id = headers[frame.FROM_ID][0], headers[frame.MSG_ID][0]
        except KeyError:
            connector.counts.reject(connector.plane, "return-address", subject)
            return None
        answer_to = return_subject(connector.plane, connector.host, address.source, instance)
        if answer_to is None or not message_id:
            connector.counts.reject(connector.plane, "return-address", subject)
            return None
        return answer_to

    def _acknowledgement(self, endpoint: Endpoint, request: Request) -> Response:
        headers = self._control_headers(endpoint, request, frame.ACK)
        headers["Connection"] = ["close"]
        made = Response.__new__(Response)
        fragment = request.headers._values.get(frame.FRAGMENT)
        made.status = 100 if fragment and frame.fragment_of(fragment[0])[1] > 1 else 202
        made.body, made.headers, made.source, made.error = b"", Headers._of(headers), "", None
        return made

    def _control_headers(
        self, endpoint: Endpoint, request: Request, op: str
    ) -> dict[str, list[str]]:
        connector = self.connector
        headers = {
            frame.OP_CODE: [op],
            frame.MSG_ID: [request.headers._values[frame.MSG_ID][0]],
            frame.FROM_HOST: [connector.host],
            frame.FROM_ID: [connector.id],
        }
        if endpoint.queue is not None:
            headers[frame.QUEUE] = [endpoint.queue]
        if connector.locality:
            headers[frame.LOCALITY] = [connector.locality]
        return headers

    # --- fragments

    def _begin(self, key: Key, count: int, request: Request) -> HTTPError | None:
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
            logger.info("a transfer of %s (%s) broke off", source, instance)
        if len(self.transfers):
            self._sweep = loop.call_later(self._round_trip / 2, self._sweep_transfers, loop)

    # --- handling

    def _budget(self, request: Request) -> float:
        texts = request.headers._values.get(frame.TIME_BUDGET)
        budget = frame.seconds_of(texts[0]) if texts else 0.0
        return min(budget or frame.DEFAULT_BUDGET, frame.LONGEST_BUDGET)

    def _start(
        self, endpoint: Endpoint, request: Request, answer_to: str, failed: HTTPError | None
    ) -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(
            self._serve(endpoint, request, answer_to, failed), context=self._context.copy()
        )
        self.tasks.add(task)  # until its own end takes it out

    async def _serve(
        self, endpoint: Endpoint, request: Request, answer_to: str, failed: HTTPError | None
    ) -> None:
        try:
            await self._handle(endpoint, request, answer_to, failed)
        finally:
            self.tasks.discard(asyncio.current_task())

    async def _handle(
        self, endpoint: Endpoint, request: Request, answer_to: str, failed: HTTPError | None
    ) -> None:
        connector, values = self.connector, request.headers._values
        begun = time.perf_counter()
        budget = self._budget(request)
        if endpoint.timeout is not None and endpoint.timeout < budget:
            budget = endpoint.timeout
        request.budget = budget
        values[frame.TIME_BUDGET] = [frame.duration(budget)]
        left = budget - self._round_trip
        depth = frame.number_of(values[frame.CALL_DEPTH][0]) if frame.CALL_DEPTH in values else 0
        loop = asyncio.get_running_loop()
        ends = loop.time() + left
        inbound.set(Inbound(request.headers, depth, ends))
        with serving_span(endpoint, request) as span:
            response: Response | None = None
            limit: Deadline | None = None
            try:
                if failed is not None:
                    raise failed
                if left <= 0:
                    raise RequestTimeout("timeout")
                endpoint.fill_arguments(request)
                limit = Deadline(connector._timers, ends)
                try:
                    if self.middleware and not endpoint.control:
                        result = await around(self.middleware, endpoint.call)(request)
                    elif endpoint.is_async:
                        positional, named = endpoint.bind(request)
                        result = await endpoint.handler(*positional, **named)
                    else:
                        result = await endpoint.call(request)
                finally:
                    limit.stop()
                response = response_of(result)
                if len(response.body) > connector.max_body:
                    raise HTTPError(
                        f"an answer of more than {connector.max_body} bytes", status=413
                    )
            except Exception as error:
                failed = converted(error)
            except asyncio.CancelledError:
                if limit is not None and limit.passed():
                    failed = RequestTimeout("timeout")
                else:  # the connector goes away
                    failed = HTTPError("the service is shutting down", status=503)
            if failed is not None:
                response = self._error_response(endpoint, failed, span.trace_id)
            assert response is not None
            span.end(response.status, failed)
        op = frame.RESPONSE if failed is None else frame.ERROR
        await self._respond(endpoint, request, answer_to, response, op)
        spent = time.perf_counter() - begun
        connector.counts.serve(
            endpoint.port_text, endpoint.path, request.method, response.status, spent
        )

    def _error_response(self, endpoint: Endpoint, error: HTTPError, trace: str) -> Response:
        connector = self.connector
        told = HTTPError(
            error.message,
            status=error.status if 400 <= error.status <= 999 else 500,
            properties=error.properties,
            trace=trace or connector.ids.trace(),
            stack=error.stack,
        )
        logger.log(
            logging.ERROR if told.status >= 500 else logging.INFO,
            "handling %s %s failed: %s",
            endpoint.method,
            endpoint.path,
            told,
            exc_info=error if told.status >= 500 else None,
            extra={"service": connector.host, "trace": told.trace, "status": told.status},
        )
        try:
            body = error_body(told, indent=connector.deployment == "LOCAL")
        except (TypeError, ValueError):  # a property that is no JSON
            told.properties = {}
            body = error_body(told, indent=connector.deployment == "LOCAL")
        response = Response(
            told.status, headers=Headers._of({"Content-Type": ["application/json"]})
        )
        response.body = body
        return response

    async def _respond(
        self, endpoint: Endpoint, request: Request, answer_to: str, response: Response, op: str
    ) -> None:
        connector = self.connector
        control = self._control_headers(endpoint, request, op)
        if connector.version:
            control[frame.FROM_VERSION] = [str(connector.version)]
        own = response.headers._values
        made = Response.__new__(Response)
        made.status, made.body, made.source, made.error = response.status, response.body, "", None
        made.headers = Headers._of(
            {n: v for n, v in own.items() if n not in frame.CONTROL and n != "Content-Length"}
            | control
        )
        if connector._deliver(answer_to, made, kept=False):
            return
        parts = cut(made.body, connector._fragment_size)
        for place, part in enumerate(parts, 1):
            if len(parts) > 1:
                made = made.received()
                made.body = part
                made.headers._values[frame.FRAGMENT] = [f"{place}/{len(parts)}"]
            await connector._publish(answer_to, made)

    async def finish(self, timeout: float) -> None:
        """Waits for the handlers that are at work; after ``timeout`` seconds they are cancelled."""
        if self.tasks:
            _, late = await asyncio.wait(self.tasks, timeout=timeout)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=1.0)
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None


def _key(request: Request) -> Key:
    values = request.headers._values
    return request.source, values[frame.FROM_ID][0], values[frame.MSG_ID][0]


def _too_large(connector: Sending) -> HTTPError:
    return HTTPError(f"more than {connector.max_body} bytes", status=413)
