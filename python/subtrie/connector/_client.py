"""The request client: ``request`` for one response, ``publish`` for all of them.

The time budget is the caller's, at most what is left of the request being handled; the call depth
is one more than there. In process a message is delivered and acknowledged before ``request`` first
waits. If no subscriber is in the process and there is no broker, ``AckTimeout`` is raised at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from .. import microbus
from .._core import control_headers, engine
from .._core.errors import refusal
from ._ack_timer import AckTimer, ack_limit
from ._answers import Triggered
from ._envelope import (
    PendingRequest,
    RequestEnvelope,
    ResponseEnvelope,
    current_request,
    forwarded_headers,
)
from ._errors import (
    AckTimeout,
    CallDepthExceeded,
    HTTPError,
    RequestTimeout,
    answered,
    made_here,
    read_error,
)
from ._event import Event, Payload
from ._headers import Headers, HeaderValues
from ._json import json_bytes
from ._limits import check_head
from ._message import Response
from ._overdue import OverdueRequests
from ._request_fragments import publish_request
from ._responses import MAX_BODIES, ResponseReceiver, ResponseStream
from ._routing import KnownResponders, NearestReplicas
from ._runtime import Runtime
from ._timers import Timers
from ._tracing import client_span, inject, trace_of
from ._transport import Transport
from ._url import Params, argument_without_value, at_instance, has_slot
from ._uses import DeclaredUses

logger = logging.getLogger("subtrie.connector")

MAX_DEPTH = 64  # calls in a chain
_YIELD_EVERY = 64  # answers without waiting, before other tasks have their turn

_LONG_URL = 1024  # characters; shorter ones alone do not make a head too long

_CONTENT_JSON: HeaderValues = {"Content-Type": ["application/json"]}
_CONTENT_TEXT: HeaderValues = {"Content-Type": ["text/plain; charset=utf-8"]}
_NO_HEADERS: HeaderValues = {}


class RequestClient:
    """Sends the requests of one connector and receives their responses.

    Attributes:
        nearest: The nearest replicas by locality, or None without a locality.
        known_responders: The responders of earlier multicasts.
        responses: The pending requests, and what arrives for them.
    """

    def __init__(self, runtime: Runtime, transport: Transport, uses: DeclaredUses) -> None:
        self._runtime, self._transport, self._uses = runtime, transport, uses
        self.nearest: NearestReplicas | None = None
        self.known_responders = KnownResponders()
        self.responses = ResponseReceiver(runtime, transport)
        self._unwaited = 0  # answers since other tasks had their turn
        self._targets: engine.RequestTargets | None = None  # while it can send
        self._overdue: OverdueRequests | None = None

    @property
    def host(self) -> str:
        """The host name of the sender."""
        return self._runtime.host

    def open(self) -> None:
        """Prepare to send, once the round trip is known."""
        runtime = self._runtime
        self.nearest = NearestReplicas(runtime.locality) if runtime.locality else None
        self._targets = engine.RequestTargets(plane=runtime.plane, source=runtime.host)
        self.responses.open()
        self._overdue = OverdueRequests(self.responses.waiting, self._transport)
        self._uses.open()

    def close(self) -> None:
        """Fail every pending request: the connector shuts down."""
        self.responses.close()
        if self._overdue is not None:
            self._overdue.close()

    # --- requests

    async def request(
        self,
        method: str,
        url: str,
        *,
        params: Params | None = None,
        json: Any = None,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        source: str = "",
        instance: str = "",
    ) -> Response:
        """Send a request to one instance and return its response.

        Args:
            method: The HTTP method.
            url: The URL; path arguments stand in braces, as in ``/order/{id}``.
            params: Path arguments by name; the rest become the query.
            json: A value to send as a JSON body.
            body: The body as bytes or text, unless ``json`` is given.
            headers: Headers of the request.
            timeout: The time budget in seconds, 20 by default; at most what is left of the request
                being handled.
            source: The host that must respond: what others send as a response is not taken.
            instance: The id of the instance that is asked, as in ``Response.id``; empty for any.

        Returns:
            The response, whatever its status.

        Raises:
            AddressError: The URL, the method or the instance is not valid.
            InvalidInput: Both ``json`` and ``body`` are given, a path argument has no value, or the
                timeout is not a number.
            AckTimeout: No service acknowledged the request (404).
            RequestTimeout: The time budget is used up (408).
            CallDepthExceeded: The request would be the 65th in a chain (508).
            HTTPError: The service responded with an error.
            BusError: The connector is not running, or a header is not valid.
        """
        if instance:
            url = at_instance(url, instance)
        request, subject, host = self._build(method, url, params, json, body, headers, timeout)
        request.expects = source
        if self.nearest is not None or self._runtime.traced:
            return await self._traced(request, subject, host)
        call = self._send(request, subject)
        if call.response is None and call.error is None:
            try:
                await call.wait()
            finally:
                self._end(call)
        else:
            self._unwaited += 1
            if self._unwaited >= _YIELD_EVERY:
                self._unwaited = 0
                await asyncio.sleep(0)
        return self._outcome(request, call)

    async def _once(
        self, request: RequestEnvelope, subject: str, *, kept: bool = False
    ) -> ResponseEnvelope:
        """Send to one instance and return its response, or raise its error."""
        call = self._send(request, subject, kept=kept)
        if not call.done:
            try:
                await call.wait()
            finally:
                self._end(call)
        return self._outcome(request, call)

    async def _traced(self, request: RequestEnvelope, subject: str, host: str) -> Response:
        """Send within a span, to the nearest replica first."""
        with client_span(request.method, request.url, self._runtime.host) as span:
            request.given = request.given.copy()
            inject(Headers.of(request.given))
            try:
                if self.nearest is None or has_slot(host):
                    response = await self._once(request, subject)
                else:
                    response = await self._nearest(self.nearest, request, subject)
            except HTTPError as error:
                span.end(error.status, error)
                error.trace = span.trace_id or error.trace
                raise
            span.end(response.status)
            return response

    async def _nearest(
        self, nearest: NearestReplicas, request: RequestEnvelope, subject: str
    ) -> ResponseEnvelope:
        url = request.url
        key = (request.method, url.partition("?")[0])
        known = nearest.nearest(key)
        loop = asyncio.get_running_loop()
        ends = loop.time() + request.budget
        if known:
            try:
                at = url.replace("://", f"://loc-{known}.", 1)
                request.url, *_, near = self._target(request.method, at)
                response = await self._once(request, near, kept=True)
            except AckTimeout:
                nearest.forget(key)
                left = ends - loop.time()
                if left <= 0:
                    raise RequestTimeout("timeout") from None
                request = request.again(url, left)
                response = await self._once(request, subject)
        else:
            response = await self._once(request, subject)
        nearest.learn(key, response.locality)
        return response

    def publish(
        self,
        method: str,
        url: str,
        *,
        params: Params | None = None,
        json: Any = None,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        instance: str = "",
    ) -> ResponseStream:
        """Send a request to all instances that subscribe to it.

        It is sent by the call, whether or not the result is iterated.

        The arguments are those of ``request``.

        Returns:
            An asynchronous iterator of responses; one that is an error has it in ``.error``.

        Raises:
            SubtrieError: As for ``request``, except for what ends in ``.error``.
        """
        if instance:
            url = at_instance(url, instance)
        request, subject, _ = self._build(method, url, params, json, body, headers, timeout)
        transport = self._transport
        request.given = request.given.copy()
        inject(Headers.of(request.given))
        message_id = self._identify(request)
        call = ResponseStream(
            asyncio.get_running_loop(),
            subject,
            request.budget,
            self.known_responders,
            lambda: self._retire(message_id),
            max_bytes=MAX_BODIES * self._runtime.max_body,
        )
        self.responses.waiting[message_id] = call
        if transport.nats is None:
            transport.deliver(subject, request)
        else:
            publish_request(request, call, self._runtime, self._transport)
        call.await_acks(ack_limit(request, self._runtime, transport), transport)
        return call

    def trigger(self, event: Event[Payload], body: Payload | None = None) -> Triggered[Any]:
        """Publish an event of this service. It is sent by the call.

        ``await`` returns the responses of all subscribers; ``async for answer in`` yields them as
        they come, and ``answer.get()`` is the result that the event declares.

        Args:
            event: The event.
            body: The payload, sent as JSON.

        Raises:
            BusError: The event is of another host; also what ``publish`` raises.
        """
        if event.host != self._runtime.host:  # as the rules of gencreds, which a broker enforces
            raise refusal("BusError", "event-host", event.host, field="event")
        return Triggered(self.publish("POST", event.url, json=body), event.answer)

    def _retire(self, message_id: str) -> None:
        """Keep a finished multicast for a round trip: late responses correct known responders."""
        call = self.responses.waiting.get(message_id)
        if call is not None:
            call.loop.call_later(
                self._runtime.round_trip, self.responses.waiting.pop, message_id, None
            )

    # --- building

    def _build(
        self,
        method: str,
        url: str,
        params: Params | None,
        json: Any,
        body: bytes | str | None,
        headers: Mapping[str, str] | None,
        timeout: float | None,
    ) -> tuple[RequestEnvelope, str, str]:
        """Return the request, its subject and the host; raises what ``request`` lists."""
        runtime, targets = self._runtime, self._targets
        if targets is None or not self._transport.is_open:
            raise refusal("BusError", "not-started", runtime.host, field="connector")
        context = current_request.get()
        if timeout is not None and type(timeout) not in (int, float):
            raise refusal("InvalidInput", "timeout-type", timeout, field="timeout")
        budget, depth = control_headers.DEFAULT_BUDGET if timeout is None else float(timeout), 0
        given: HeaderValues = _NO_HEADERS
        if context is not None:
            depth = context.depth
            left = context.deadline - asyncio.get_running_loop().time()
            if left <= runtime.round_trip:
                raise RequestTimeout("timeout", trace=trace_of(context))
            if timeout is None or left < budget:
                budget = left
            given = forwarded_headers(context)
        if timeout is not None and timeout <= 0:
            raise RequestTimeout("timeout", trace=trace_of(context))
        if depth >= MAX_DEPTH:
            raise CallDepthExceeded(trace=trace_of(context))
        if budget > control_headers.MAX_BUDGET:
            budget = control_headers.MAX_BUDGET
        method = method.upper()
        if "{" in url and (missing := argument_without_value(url, params)):
            raise refusal("InvalidInput", "path-value", missing, field="params")
        text, _, host, port, _, query, path, subject = targets(method, url, params)
        if self._uses.declared:
            self._uses.check(subject, text, runtime)
        if port == "0":  # warns
            microbus.request_from_url(
                plane=runtime.plane, source=runtime.host, method=method, url=text
            )
        content = b""
        if json is not None:
            if body is not None:
                raise refusal("InvalidInput", "json-and-body", url, field="body")
            try:
                content = json_bytes(json)
            except RecursionError:
                told = "the body contains itself, or is nested too deeply"
                raise HTTPError(told, status=400) from None
            given = {**given, **_CONTENT_JSON} if given else _CONTENT_JSON
        elif body is not None:
            if isinstance(body, str):
                content = body.encode()
                given = {**given, **_CONTENT_TEXT}
            else:
                content = bytes(body)
        if len(content) > runtime.max_body:
            raise HTTPError(f"the body exceeds {runtime.max_body} bytes (max_body)", status=413)
        if headers:
            named = headers if isinstance(headers, Headers) else Headers(headers)
            given = given | {
                name: several
                for name, several in named.lists.items()
                if name not in control_headers.CONTROL and name not in ("Host", "Content-Length")
            }
        if headers or context is not None or len(text) > _LONG_URL:
            check_head(text, given, "request", 431)
        request = RequestEnvelope(
            method, text, path, query, content, given, runtime, budget, depth + 1
        )
        return request, subject, host

    def _target(self, method: str, url: str) -> tuple[str, ...]:
        """Return the parts of a URL, its decoded path and the subject. Raises ``AddressError``."""
        if self._targets is None:
            raise refusal("BusError", "not-started", self._runtime.host, field="connector")
        return self._targets(method, url)

    def _identify(self, request: RequestEnvelope) -> str:
        """Give a request a message id that no pending request has, and return it."""
        message_id = self._runtime.ids.message()
        while message_id in self.responses.waiting:
            message_id = self._runtime.ids.message()
        request.message_id = message_id
        return message_id

    # --- sending

    def _send(
        self, request: RequestEnvelope, subject: str, *, kept: bool = False
    ) -> PendingRequest:
        """Send to one instance; ``kept`` if the request is used again."""
        runtime, transport = self._runtime, self._transport
        loop = asyncio.get_running_loop()
        timers = runtime.timers if loop is runtime.loop else Timers(loop)
        call = PendingRequest(loop, timers, runtime.metrics, subject, request.budget)
        call.expects = request.expects
        request.caller = call
        local = transport.in_process
        # Without a local subscriber the message is not consumed.
        if local is not None and local.deliver(subject, request, kept=kept):
            if call.response is None and call.error is None:
                self.responses.local[call] = None
        elif transport.nats is not None:
            request.caller = None
            call.message_id = self._identify(request)
            self.responses.waiting[call.message_id] = call
            limit = ack_limit(request, runtime, transport)
            if self._overdue is not None and loop is runtime.loop:
                self._overdue.watch(call, limit)
            else:
                timer = AckTimer(loop, limit, call.is_acked, call.on_ack_timeout, transport)
                call.stop_ack_timer = timer.stop
            publish_request(request, call, self._runtime, self._transport)
            if call.done:  # it could not be sent
                self._end(call)
        else:
            call.fail(AckTimeout())
        return call

    def _end(self, call: PendingRequest) -> None:
        """Stop waiting for a request that was not complete when it was sent."""
        if call.message_id:
            self.responses.waiting.pop(call.message_id, None)
        else:
            self.responses.local.pop(call, None)
        call.close()

    def _outcome(self, request: RequestEnvelope, call: PendingRequest) -> ResponseEnvelope:
        """Return the response of a complete request, or raise its error."""
        response, error = call.response, call.error
        if error is not None:
            if isinstance(error, AckTimeout | RequestTimeout):
                if isinstance(error, AckTimeout):
                    self._runtime.metrics.ack_timeouts += 1
                    what = "ack timeout"
                else:
                    self._runtime.metrics.timeouts += 1
                    what = "timeout"
                text = f"{what}: {request.url.partition('?')[0]}"
                if isinstance(error, AckTimeout):
                    error.hint = f"is the service running, on the plane {self._runtime.plane}?"
                    if self._transport.nats is None:
                        text += "; there is no broker, so only this process is reached"
                        error.hint += " Set MICROBUS_NATS to reach others"
                error.set_message(text)
                error.trace = trace_of(request)
            raise made_here(error)
        assert response is not None
        if response.op == control_headers.ERROR:
            error = read_error(response.body, response.status)
            raise answered(error, f"{request.method} {request.url.partition('?')[0]}")
        return response
