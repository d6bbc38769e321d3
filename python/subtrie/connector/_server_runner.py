"""Running handlers: one task for each request, within its time budget, and exactly one response.

The caller gets the handler's return value, its error, 408 if it passed its deadline (the handler is
cancelled), or 503 if the connector shuts down. A caller in this process is given the response
itself; otherwise it is sent to the caller's instance.
"""

# A78

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable

from .. import _control_headers
from ._binding import to_response
from ._endpoint import Endpoint
from ._errors import HTTPError, RequestTimeout, error_body, to_http_error
from ._fragments import cut
from ._headers import Headers
from ._message import LocalCaller, Request, RequestContext, Response, current_request
from ._middleware import Middleware, around
from ._runtime import Runtime
from ._timers import Deadline
from ._tracing import NO_SPAN, server_span

logger = logging.getLogger("subtrie.connector")


class HandlerRunner:
    """The running handlers of one connector."""

    def __init__(self, connector: Runtime) -> None:
        self.connector = connector
        self.middleware: list[Middleware] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.on_failure: Callable[[str], None] | None = None  # takes the trace id
        self._round_trip = 0.0
        self._context = contextvars.Context()

    def open(self, round_trip: float) -> None:
        """Prepare to run handlers, given the round trip in seconds."""
        self._round_trip = round_trip
        self._context = contextvars.copy_context()
        self._context.run(current_request.set, None)

    def _budget(self, request: Request) -> float:
        texts = request.headers._values.get(_control_headers.TIME_BUDGET)
        budget = _control_headers.seconds_of(texts[0]) if texts else 0.0
        return min(budget or _control_headers.DEFAULT_BUDGET, _control_headers.MAX_BUDGET)

    def _start(
        self,
        endpoint: Endpoint,
        request: Request,
        reply_to: str,
        failed: HTTPError | None = None,
        caller: LocalCaller | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(
            self._handle(loop, endpoint, request, reply_to, failed, caller),
            context=self._context.copy(),
        )
        if not task.done():  # an eager loop may have run it already
            self.tasks.add(task)  # removed at the end of the task

    async def _handle(
        self,
        loop: asyncio.AbstractEventLoop,
        endpoint: Endpoint,
        request: Request,
        reply_to: str,
        failed: HTTPError | None,
        caller: LocalCaller | None,
    ) -> None:
        connector, values = self.connector, request.headers._values
        task = asyncio.current_task(loop)
        assert task is not None
        span = NO_SPAN
        begun = time.perf_counter()
        try:
            budget = self._budget(request)
            if endpoint.timeout is not None and endpoint.timeout < budget:
                budget = endpoint.timeout
            request.budget = budget
            values[_control_headers.TIME_BUDGET] = [_control_headers.duration(budget)]
            depth = values.get(_control_headers.CALL_DEPTH)
            left = budget - self._round_trip
            ends = loop.time() + left
            current_request.set(
                RequestContext(
                    request.headers, _control_headers.number_of(depth[0]) if depth else 0, ends
                )
            )
            if not endpoint.control:
                span = server_span(connector.host, endpoint.port, endpoint.path, request)
            response: Response | None = None
            result: object = None
            limit: Deadline | None = None
            cause: BaseException | None = None
            try:
                if failed is not None:
                    raise failed
                if left <= 0:
                    raise RequestTimeout("timeout")
                endpoint.fill_arguments(request)
                limit = Deadline(connector._timers, ends, task)
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
                response = to_response(result)
                if len(response.body) > connector.max_body:
                    raise HTTPError(
                        f"the response exceeds {connector.max_body} bytes (max_body)", status=413
                    )
            except asyncio.CancelledError:
                if limit is not None and limit.passed():
                    failed = RequestTimeout("timeout")
                else:  # the connector shuts down
                    failed = HTTPError("the service is shutting down", status=503)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                cause = error
                failed = to_http_error(error, detailed=connector.deployment != "PROD")
            if failed is not None:
                response = self._error_response(endpoint, failed, cause, span.trace_id)
                if response.status >= 500 and self.on_failure is not None:
                    self.on_failure(span.trace_id)
            assert response is not None
            span.end(response.status, failed)
            span.close()
            outgoing = self._outgoing(endpoint, request, response, failed, own=response is result)
            if caller is not None:
                caller.take(outgoing)
            else:
                try:
                    await self._respond(reply_to, outgoing)
                except HTTPError as error:  # the caller will time out
                    logger.warning("a response to %s could not be sent: %s", request.source, error)
            connector.metrics.serve(
                endpoint.port_text,
                endpoint.path,
                request.method,
                response.status,
                time.perf_counter() - begun,
            )
        finally:
            span.close()
            self.tasks.discard(task)

    def _error_response(
        self, endpoint: Endpoint, error: HTTPError, cause: BaseException | None, trace: str
    ) -> Response:
        """Log an error and return the response for it; ``cause`` is what the handler raised."""
        connector = self.connector
        status = error.status if 400 <= error.status <= 999 else 500
        sent = HTTPError(
            error.message,
            status=status,
            properties=error.properties,
            trace=trace or connector.ids.trace(),
            stack=[] if connector.deployment == "PROD" else error.stack,
        )
        unexpected = cause is not None and not isinstance(cause, HTTPError)
        logger.log(
            logging.ERROR if status >= 500 else logging.INFO,
            "handling %s %s failed: %s",
            endpoint.method,
            endpoint.path,
            f"{type(cause).__name__}: {cause}" if unexpected else sent,
            exc_info=cause if status >= 500 else None,
            extra={
                "service": connector.host,
                "trace": sent.trace,
                "status": status,
                "stack": error.stack,
            },
        )
        try:
            body = error_body(sent, indent=connector.deployment == "LOCAL")
        except (TypeError, ValueError):  # a property that JSON cannot represent
            sent.properties = {}
            body = error_body(sent, indent=connector.deployment == "LOCAL")
        response = Response(
            sent.status, headers=Headers._of({"Content-Type": ["application/json"]})
        )
        response.body = body
        return response

    def _outgoing(
        self,
        endpoint: Endpoint,
        request: Request,
        response: Response,
        failed: HTTPError | None,
        *,
        own: bool,
    ) -> Response:
        """Return the response as it is sent; ``own`` if the handler made it and may keep it."""
        connector = self.connector
        op = _control_headers.RESPONSE if failed is None else _control_headers.ERROR
        values = response.headers._values
        if own:
            values = {
                n: v
                for n, v in values.items()
                if n not in _control_headers.CONTROL and n != "Content-Length"
            }
            outgoing = Response.__new__(Response)
            outgoing.status, outgoing.body, outgoing.error = response.status, response.body, None
            outgoing.headers = Headers._of(values)
        else:
            outgoing = response
        outgoing.source = connector.host
        values |= connector.sender_headers(op, endpoint.queue)
        values[_control_headers.MSG_ID] = request.headers._values[_control_headers.MSG_ID]
        return outgoing

    async def _respond(self, reply_to: str, outgoing: Response) -> None:
        connector = self.connector
        if connector._deliver(reply_to, outgoing, kept=False):
            return
        parts = cut(outgoing.body, connector._fragment_size)
        for place, part in enumerate(parts, 1):
            if len(parts) > 1:
                outgoing = outgoing.received()
                outgoing.body = part
                outgoing.headers._values[_control_headers.FRAGMENT] = [f"{place}/{len(parts)}"]
            await connector._publish(reply_to, outgoing)

    async def finish(self, timeout: float) -> None:
        """Wait for running handlers; cancel them after ``timeout`` seconds."""
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=timeout)
        late = set(self.tasks)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=1.0)
