"""Spans that are exported only if somebody asks for their trace: ``/trace?id=…`` on port 888.

Most traces are never looked at; those of failed requests are. ``TailSamplingProcessor`` keeps the
latest spans of a process and exports those of one trace when the control plane asks. A handler that
with 500 or more asks everyone on the plane, once a trace, so that all of its spans are there to see.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict, deque
from typing import Any

try:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import SpanProcessor
except ImportError:  # the SDK is the application's choice
    trace = None  # type: ignore[assignment]
    SpanProcessor = object  # type: ignore[assignment, misc]

_all: weakref.WeakSet[TailSamplingProcessor] = weakref.WeakSet()
_ASKED = 4096  # traces
_asked: OrderedDict[str, None] = OrderedDict()


class TailSamplingProcessor(SpanProcessor):
    """A span processor: ``provider.add_span_processor(TailSamplingProcessor(exporter))``.

    ``exporter`` is any exporter of OpenTelemetry; ``capacity`` the number of spans kept, the oldest
    go first.
    """

    def __init__(self, exporter: Any, *, capacity: int = 8192) -> None:
        self._exporter = exporter
        self._kept: deque[Any] = deque(maxlen=capacity)
        self._chosen: OrderedDict[str, None] = OrderedDict()  # traces asked for
        self._lock = threading.Lock()
        _all.add(self)

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Nothing is kept before it is finished."""

    def on_end(self, span: Any) -> None:
        """Keeps a span that was sampled; exports it where its trace was asked for already."""
        if span.context is None or not span.context.trace_flags.sampled:
            return
        with self._lock:
            if f"{span.context.trace_id:032x}" not in self._chosen:
                self._kept.append(span)
                return
        self._exporter.export([span])

    def export(self, trace_id: str) -> int:
        """Exports the spans of a trace, those kept now and those still to end; how many now."""
        with self._lock:
            self._chosen[trace_id] = None
            if len(self._chosen) > _ASKED:
                self._chosen.popitem(last=False)
            wanted = [s for s in self._kept if f"{s.context.trace_id:032x}" == trace_id]
            for span in wanted:
                self._kept.remove(span)
        if wanted:
            self._exporter.export(wanted)
        return len(wanted)

    def shutdown(self) -> None:
        """Forgets what was never asked for."""
        self._kept.clear()
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """What nobody asked for stays."""
        return True


def export_trace(trace_id: str) -> None:
    """Exports what this process knows of a trace, and what other processors hold back. It waits
    for the exporters."""
    for each in list(_all):
        each.export(trace_id.lower())
    if trace is not None:
        flush = getattr(trace.get_tracer_provider(), "force_flush", None)
        if flush is not None:
            flush(5000)


def claim_export(trace_id: str) -> bool:
    """Whether everyone should be asked for a trace: where spans are kept, and once."""
    if not trace_id or not len(_all) or trace_id in _asked:
        return False
    _asked[trace_id] = None
    if len(_asked) > _ASKED:
        _asked.popitem(last=False)
    return True
