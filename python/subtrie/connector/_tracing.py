"""OpenTelemetry spans, if its API is installed and a tracer provider is set.

The trace context travels in the header ``Traceparent`` on both transports, so the spans are the
same. Without a provider at startup no span is created.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._envelope import RequestEnvelope
from ._errors import HTTPError
from ._headers import Headers
from ._message import Request

try:
    from opentelemetry import propagate, trace
    from opentelemetry.trace import ProxyTracerProvider, SpanKind, Status, StatusCode
except ImportError:  # the package is optional
    trace = None  # type: ignore[assignment]


class Span:
    """A span, or nothing if tracing is off."""

    __slots__ = ("_scope", "_span")

    def __init__(self, span: Any = None, scope: Any = None) -> None:
        self._span, self._scope = span, scope

    @property
    def trace_id(self) -> str:
        """The trace id as 32 hexadecimal digits; empty if tracing is off."""
        if self._span is None:
            return ""
        context = self._span.get_span_context()
        return f"{context.trace_id:032x}" if context.is_valid else ""

    def end(self, status: int, error: HTTPError | None = None) -> None:
        """Record the status and the error."""
        if self._span is not None:
            self._span.set_attribute("http.response.status_code", status)
            if error is not None:
                self._span.set_status(Status(StatusCode.ERROR, error.message))

    def close(self) -> None:
        """Leave the span's context; does nothing the second time."""
        if self._scope is not None:
            scope, self._scope = self._scope, None
            scope.__exit__(None, None, None)


#: The span when tracing is off.
NO_SPAN = Span()


_enabled = False


def detect_provider() -> None:
    """Check whether a tracer provider is set; called each time a connector starts."""
    global _enabled
    _enabled = trace is not None and not isinstance(
        trace.get_tracer_provider(), ProxyTracerProvider
    )


def tracing_enabled() -> bool:
    """Return whether spans are created."""
    return _enabled


class _NoSpan:
    def __enter__(self) -> Span:
        return NO_SPAN

    def __exit__(self, *_: object) -> None:
        return None


_NO_SPAN = _NoSpan()


def server_span(service: str, port: int, path: str, request: Request) -> Span:
    """Return the entered span of a handler, child of the caller's; the caller must close it."""
    if not _enabled:
        return NO_SPAN
    return _server_span(service, port, path, request)


def client_span(method: str, url: str, host: str) -> Any:
    """Return a context manager with the span of a sent request."""
    if not _enabled:
        return _NO_SPAN
    return _client_span(method, url, host)


def _server_span(service: str, port: int, path: str, request: Request) -> Span:
    carrier = {name.lower(): request.headers[name] for name in request.headers}
    context = propagate.extract(carrier)
    attributes: dict[str, Any] = {
        "http.request.method": request.method,
        "http.route": path,
        "server.port": port,
        "microbus.service": service,
        "microbus.source": request.source,
    }
    scope = trace.get_tracer("subtrie.connector").start_as_current_span(
        f":{port}{path}",
        context=context,
        kind=SpanKind.SERVER,
        attributes=attributes,
    )
    return Span(scope.__enter__(), scope)


@contextmanager
def _client_span(method: str, url: str, host: str) -> Iterator[Span]:
    attributes = {"http.request.method": method, "url.full": url, "microbus.service": host}
    with trace.get_tracer("subtrie.connector").start_as_current_span(
        f"{method} {url.split('?')[0]}", kind=SpanKind.CLIENT, attributes=attributes
    ) as span:
        yield Span(span)


def inject(headers: Headers) -> None:
    """Write the current trace context into the headers of a request."""
    if _enabled:
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        if carrier and "Tracestate" in headers:
            del headers["Tracestate"]  # forwarded, and of another trace perhaps
        for name, value in carrier.items():
            headers[name] = value


def current_trace() -> str:
    """Return the trace id of the current span; empty if tracing is off."""
    return Span(trace.get_current_span()).trace_id if _enabled else ""


_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")


def trace_of(request: RequestEnvelope | None) -> str:
    """Return the trace id in ``Traceparent`` of a request; empty if there is none."""
    found = None
    if request is not None and (text := request.header("Traceparent")):
        found = _TRACEPARENT.fullmatch(text[:256])
    return found[1] if found is not None and found[1].strip("0") else ""
