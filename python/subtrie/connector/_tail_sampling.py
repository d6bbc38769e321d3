"""Tail sampling: spans are kept, and exported only for traces that are asked for.

Most traces are never looked at; those of failed requests are. ``TailSamplingProcessor`` keeps the
latest spans of a process and exports those of one trace when the control plane asks for it
(``/trace?id=…`` on port 888). A handler that fails, with any status, asks every connector on the
plane, once for each trace.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict, deque
from typing import Any

from . import _system

try:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import SpanProcessor
except ImportError:  # the SDK is optional
    trace = None  # type: ignore[assignment]
    SpanProcessor = object  # type: ignore[assignment, misc]

_all: weakref.WeakSet[TailSamplingProcessor] = weakref.WeakSet()
_REMEMBERED = 4096  # traces that were asked for
_asked: OrderedDict[str, None] = OrderedDict()


class TailSamplingProcessor(SpanProcessor):
    """A span processor that exports the spans of a trace on request.

    ``provider.add_span_processor(TailSamplingProcessor(exporter))``.

    Args:
        exporter: Any span exporter of OpenTelemetry.
        capacity: The number of spans to keep; the oldest are dropped first.
    """

    def __init__(self, exporter: Any, *, capacity: int = 8192) -> None:
        self._exporter = exporter
        self._kept: deque[Any] = deque(maxlen=capacity)
        self._chosen: OrderedDict[str, None] = OrderedDict()  # traces to export
        self._lock = _system.lock()
        _all.add(self)

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Do nothing: a span is kept when it ends."""

    def on_end(self, span: Any) -> None:
        """Keep a sampled span, or export it if its trace was asked for already."""
        if span.context is None or not span.context.trace_flags.sampled:
            return
        with self._lock:
            if f"{span.context.trace_id:032x}" not in self._chosen:
                self._kept.append(span)
                return
        self._exporter.export([span])

    def export(self, trace_id: str) -> int:
        """Export the spans of a trace, now and as they end; return how many were exported now."""
        with self._lock:
            self._chosen[trace_id] = None
            if len(self._chosen) > _REMEMBERED:
                self._chosen.popitem(last=False)
            wanted = [s for s in self._kept if f"{s.context.trace_id:032x}" == trace_id]
            for span in wanted:
                self._kept.remove(span)
        if wanted:
            self._exporter.export(wanted)
        return len(wanted)

    def shutdown(self) -> None:
        """Drop the spans that were not asked for."""
        self._kept.clear()
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Do nothing and return True: spans leave only when asked for."""
        return True


def export_trace(trace_id: str) -> None:
    """Export this process's spans of a trace, and flush other processors. Waits for exporters."""
    for each in list(_all):
        each.export(trace_id.lower())
    if trace is not None:
        flush = getattr(trace.get_tracer_provider(), "force_flush", None)
        if flush is not None:
            flush(5000)


def claim_export(trace_id: str) -> bool:
    """Return True once for each trace, if spans are kept: then its export should be requested."""
    if not trace_id or not len(_all) or trace_id in _asked:
        return False
    _asked[trace_id] = None
    if len(_asked) > _REMEMBERED:
        _asked.popitem(last=False)
    return True
