"""Running handlers: one task for each request, within its time budget, and exactly one response.

The caller gets the handler's return value, its error, 408 if it passed its deadline (the handler is
cancelled), or 503 if the connector shuts down. A caller in this process is given the response
itself; otherwise it is sent to the caller's instance. On Python 3.12 and newer the task starts at
once, within the call that delivers the request.
"""

# A78

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from .._core import control_headers
from . import _system
from ._endpoint import Endpoint
from ._envelope import RequestEnvelope, ResponseEnvelope, current_request
from ._errors import HTTPError, RequestTimeout, error_body, to_http_error, users_frames
from ._fragments import cut, fragment_of
from ._middleware import Middleware, around
from ._records import MAX_REFUSALS, REFUSAL_PERIOD, RecordRate
from ._runtime import Runtime
from ._threads import LARGE_BODY
from ._timers import Deadline
from ._tracing import NO_SPAN, Span, server_span, trace_of
from ._transport import Transport

logger = logging.getLogger("subtrie.connector")

#: Checks a request before its handler and its middleware; raises ``HTTPError`` to refuse it.
Check = Callable[[Endpoint, RequestEnvelope], Awaitable[None]]

MAX_CONTROL = 256  # requests to the control plane at work, and of those in excess by other sources
MAX_CONTROL_BYTES = 16 << 20  # of their bodies
MOST_BODIES = 4  # bodies of the largest size that the requests at work may have together

_COUNTED = 4096  # bytes of a body whose bytes count; the number of places bounds smaller ones

_EAGER = sys.version_info >= (3, 12)
_EAGER_DEPTH = 8  # calls in a chain that start at once; bounds the depth of the stack
_ERROR_HEADERS = {"Content-Type": ["application/json"]}


class Places:
    """A bound for the requests at work and their bytes, and a share for each source.

    While there is room a source may take what it needs. When the places or the bytes are used up, a
    source that holds less than its share of them is still admitted, up to as much again in sum: one
    source cannot keep the others out.

    Args:
        most: The number of requests at work, and of those in excess by other sources.
        most_bytes: The bytes of their bodies, and of those in excess.

    Attributes:
        most: The number of requests.
        most_bytes: The bytes.
        taken: The places that are taken.
        taken_bytes: The bytes of the requests that took them.
    """

    __slots__ = ("_by_source", "_bytes", "most", "most_bytes", "taken", "taken_bytes")

    def __init__(self, most: int, most_bytes: int = 1 << 62) -> None:
        if most < 1:
            raise ValueError(f"max_at_work must be at least 1, not {most!r}")
        self.most, self.most_bytes = most, most_bytes
        self.taken = self.taken_bytes = 0
        self._by_source: dict[str, int] = {}
        self._bytes: dict[str, int] = {}

    def admits(self, source: str, size: int = 0) -> bool:
        """Return whether there is a place for a request of a source.

        Args:
            source: The verified source.
            size: The bytes of its body.
        """
        total = self.taken_bytes + size
        if self.taken < self.most and total <= self.most_bytes:
            return True
        own, held = self._by_source.get(source, 0), self._bytes.get(source, 0)
        sources = max(len(self._by_source), len(self._bytes)) + (0 if own or held else 1)
        return (
            own < max(1, self.most // sources)
            and self.taken < 2 * self.most
            and held + size <= self.most_bytes // sources
            and total <= 2 * self.most_bytes
        )

    def take(self, source: str) -> None:
        """Take a place for a request of a source.

        Args:
            source: The verified source.
        """
        self.taken += 1
        by_source = self._by_source
        by_source[source] = by_source[source] + 1 if source in by_source else 1

    def add_bytes(self, source: str, size: int) -> None:
        """Count the bytes of a request that has a place; a negative number when it is given back.

        Args:
            source: The verified source.
            size: The bytes of its body.
        """
        held = self._bytes.get(source, 0) + size
        if held < 0:  # taken before a restart
            return
        self.taken_bytes += size
        self._bytes[source] = held
        if not held:
            del self._bytes[source]

    def give(self, source: str) -> None:
        """Give a place back."""
        by_source = self._by_source
        if source not in by_source:  # taken before a restart
            return
        self.taken -= 1
        if by_source[source] > 1:
            by_source[source] -= 1
        else:
            del by_source[source]


class HandlerRunner:
    """The running handlers of one connector.

    Attributes:
        middleware: The steps around every handler, the outermost first.
        check: Checks a request that carries an actor token, or whose endpoint requires one.
        on_failure: Called with the trace id of an error.
        places: The places of the requests at work.
        control_places: Those of requests to the control plane.
        tasks: The running handlers, and the bytes for which each has a place; -1 without one.
    """

    def __init__(self, runtime: Runtime, transport: Transport) -> None:
        self._runtime, self._transport = runtime, transport
        self.middleware: list[Middleware] = []
        self._new_places()
        self.check: Check | None = None
        self.on_failure: Callable[[str], None] | None = None
        self.tasks: dict[asyncio.Task[None], int] = {}
        self._refusals = RecordRate(MAX_REFUSALS, REFUSAL_PERIOD)
        self._context = contextvars.Context()

    def open(self) -> None:
        """Take the context of the caller as that of the handlers."""
        self._context = contextvars.copy_context()
        self._context.run(current_request.set, None)
        self._new_places()

    def _new_places(self) -> None:
        runtime = self._runtime
        self.places = Places(runtime.max_at_work, MOST_BODIES * runtime.max_body)
        self.control_places = Places(MAX_CONTROL, MAX_CONTROL_BYTES)

    def start(
        self,
        endpoint: Endpoint,
        request: RequestEnvelope,
        reply_to: str,
        failed: HTTPError | None = None,
    ) -> None:
        """Start the task of a handler; runs on the connector's loop.

        Args:
            endpoint: The endpoint.
            request: The request, with its budget, its depth, and its caller if that is local.
            reply_to: The subject of the response, unless the caller is local.
            failed: The error to respond with instead of running the handler.
        """
        runtime = self._runtime
        loop = runtime.loop
        if loop is None:  # the connector has stopped meanwhile
            return
        budget = request.budget or control_headers.DEFAULT_BUDGET
        if budget > control_headers.MAX_BUDGET:
            budget = control_headers.MAX_BUDGET
        if endpoint.timeout is not None and endpoint.timeout < budget:
            budget = endpoint.timeout
        request.budget = budget
        if request.sender is None:  # the headers are written already
            budget_text = control_headers.duration(budget)
            request.headers.lists[control_headers.TIME_BUDGET] = [budget_text]
        places = self.control_places if endpoint.control else self.places
        size = 0 if len(request.body) < _COUNTED else len(request.body)
        if (
            (
                places.taken >= places.most
                or (size and places.taken_bytes + size > places.most_bytes)
            )
            and failed is None
            and not places.admits(request.source, size)
        ):
            failed = HTTPError("too many requests at work", status=503)
        left = budget - runtime.round_trip
        if left <= 0 and failed is None:
            failed = RequestTimeout("timeout")
        caller = request.caller
        if caller is not None and caller.loop is loop:
            now = caller.began  # just now, in the same turn of the loop
        else:
            caller, now = None, loop.time()
        request.deadline = now + left
        work = self._handle(endpoint, request, reply_to, failed)
        context = self._context.copy()
        task: asyncio.Task[None]
        eager = _EAGER and request.depth <= _EAGER_DEPTH
        if eager:
            task = asyncio.Task(work, loop=loop, context=context, eager_start=True)  # type: ignore[call-arg]
        elif loop.get_task_factory() is None:  # as ``create_task``, at less cost
            task = asyncio.Task(work, loop=loop, name=endpoint.task_name, context=context)
        else:
            task = loop.create_task(work, context=context)
        if task.done():  # it was started eagerly, perhaps by a factory
            return
        request.task = task
        self.tasks[task] = size if failed is None else -1
        if failed is None:
            places.take(request.source)
            if size:
                places.add_bytes(request.source, size)
        if caller is not None and caller.limit(task, request.deadline, begins=not eager):
            request.limit = caller
        else:
            request.limit = Deadline(runtime.timers, request.deadline, task)

    def refuse(
        self, endpoint: Endpoint, subject: str, request: RequestEnvelope, reply_to: str
    ) -> None:
        """Respond with 503, in any thread: too many requests wait for the event loop.

        Args:
            endpoint: The endpoint.
            subject: The subject of the request.
            request: The request.
            reply_to: The subject of the response.
        """
        runtime = self._runtime
        runtime.metrics.reject(runtime.plane, "overload", subject)
        error = HTTPError("too many requests wait", status=503, trace=trace_of(request))
        body = error_body(error, indent=runtime.deployment == "LOCAL")
        response = ResponseEnvelope(error.status, body, _ERROR_HEADERS)
        response.sealed(control_headers.ERROR, runtime, endpoint.queue, request)
        self._respond(reply_to, response)

    async def _handle(
        self,
        endpoint: Endpoint,
        request: RequestEnvelope,
        reply_to: str,
        failed: HTTPError | None,
    ) -> None:
        runtime = self._runtime
        current_request.set(request)
        span: Span = NO_SPAN
        begun = _system.monotonic()
        try:
            if runtime.traced and not endpoint.control:
                span = server_span(runtime.host, endpoint.port, endpoint.path, request)
            response: ResponseEnvelope | None = None
            refused = failed is not None
            cause: BaseException | None = None
            try:
                if failed is not None:
                    raise failed
                try:
                    result = await self._result(endpoint, request)
                finally:
                    if request.limit is not None:
                        request.limit.stop()
                response = endpoint.respond(result)
                if len(response.body) > runtime.max_body:
                    raise HTTPError(
                        f"the response exceeds {runtime.max_body} bytes (max_body)", status=413
                    )
            except asyncio.CancelledError:
                if request.limit is not None and request.limit.passed():
                    failed = RequestTimeout("timeout")
                else:  # the connector shuts down
                    failed = HTTPError("the service is shutting down", status=503)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                cause = error
                failed = to_http_error(error, detailed=runtime.deployment != "PROD")
            op = control_headers.RESPONSE
            if failed is not None or response is None:
                assert failed is not None
                op = control_headers.ERROR
                trace = span.trace_id or trace_of(request)
                response = self._error_response(endpoint, failed, cause, trace, refused=refused)
                if self.on_failure is not None:
                    self.on_failure(span.trace_id)
            if span is not NO_SPAN:
                span.end(response.status, failed)
                span.close()
            response.sealed(op, runtime, endpoint.queue, request)
            if request.caller is not None:
                request.caller.take(response)
            else:
                self._respond(reply_to, response)
            runtime.metrics.serve(
                endpoint.labels,
                request.method,
                response.status,
                failed is not None,
                _system.monotonic() - begun,
                len(response.body),
            )
        finally:
            if span is not NO_SPAN:
                span.close()
            if failed is not None and request.limit is not None:
                request.limit.stop()  # the handler did not run, or was cancelled before it did
            if request.task is not None and (size := self.tasks.pop(request.task, -1)) >= 0:
                places = self.control_places if endpoint.control else self.places
                places.give(request.source)
                if size:
                    places.add_bytes(request.source, -size)
            # Nothing refers to itself now, so that nothing waits for the garbage collector.
            request.caller = request.limit = request.task = None

    def _result(self, endpoint: Endpoint, request: RequestEnvelope) -> Awaitable[Any]:
        """Return what the handler returns, to be awaited."""
        if endpoint.path_arguments:
            parts = request.path.split("/")
            for index, name, greedy in endpoint.path_arguments:
                if index < len(parts):
                    request.arguments[name] = "/".join(parts[index:]) if greedy else parts[index]
        if endpoint.control:
            return endpoint.call(request)
        if self.check is not None and (
            endpoint.requires is not None or request.header(control_headers.ACTOR)
        ):
            return self._checked(self.check, endpoint, request)
        if self.middleware:
            return around(self.middleware, endpoint.call)(request)
        if endpoint.is_async and (len(request.body) <= LARGE_BODY or not endpoint.decodes):
            result: Awaitable[Any] = endpoint.bind(request, endpoint.handler)
            return result
        return endpoint.call(request)

    async def _checked(self, check: Check, endpoint: Endpoint, request: RequestEnvelope) -> Any:
        await check(endpoint, request)
        return await around(self.middleware, endpoint.call)(request)

    def _error_response(
        self,
        endpoint: Endpoint,
        error: HTTPError,
        cause: BaseException | None,
        trace: str,
        *,
        refused: bool = False,
    ) -> ResponseEnvelope:
        """Log an error and return the response for it.

        Args:
            endpoint: The endpoint.
            error: The error.
            cause: What the handler raised, or None.
            trace: The trace id.
            refused: Whether the handler did not run: peers could fill the log.
        """
        runtime = self._runtime
        status = error.status
        sent = HTTPError(
            error.message,
            status=status,
            properties=error.properties,
            trace=trace,
            stack=[] if runtime.deployment == "PROD" else error.stack,
        )
        unexpected = cause is not None and not isinstance(cause, HTTPError)
        if not refused or self._refusals.admits():
            what: object = f"{type(cause).__name__}: {cause}" if unexpected else cause or sent
            if isinstance(cause, HTTPError) and cause._answered:
                what = f"{what}, from {cause._answered}"
            shown = None
            if cause is not None and status >= 500 and not refused:
                shown = (type(cause), cause, users_frames(cause))
            logger.log(
                logging.ERROR if status >= 500 else logging.INFO,
                "%s: handling %s %s failed: %s%s%s",
                runtime.host,
                endpoint.method,
                endpoint.path,
                what,
                f" (trace {sent.trace})" if sent.trace else "",
                self._refusals.left_out() if refused else "",
                exc_info=shown,
                extra={
                    "service": runtime.host,
                    "trace": sent.trace,
                    "status": status,
                    "stack": error.stack,
                },
            )
        try:
            body = error_body(sent, indent=runtime.deployment == "LOCAL")
        except (TypeError, ValueError):  # a property that JSON cannot represent
            sent.properties = {}
            body = error_body(sent, indent=runtime.deployment == "LOCAL")
        return ResponseEnvelope(sent.status, body, _ERROR_HEADERS)

    def _respond(self, reply_to: str, response: ResponseEnvelope) -> None:
        transport = self._transport
        if transport.deliver(reply_to, response) or transport.nats is None:
            return

        def failed(error: HTTPError) -> None:  # the caller will time out
            host = self._runtime.host
            logger.warning("%s: a response to %s could not be sent: %s", host, reply_to, error)

        if len(response.body) <= transport.fragment_size:
            transport.publish(reply_to, response, failed)
            return
        parts = cut(response.body, transport.fragment_size)
        for number in range(1, len(parts) + 1):
            transport.publish(reply_to, fragment_of(response, parts, number), failed)

    async def finish(self, timeout: float) -> None:
        """Wait for running handlers; cancel them after ``timeout`` seconds."""
        await asyncio.sleep(0)  # every task has begun: one cancelled before would not respond
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=timeout)
        late = list(self.tasks)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=1.0)
