"""Counters of a connector: deliveries, rejects, timeouts, requests served."""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, NamedTuple

from . import _system
from ._own_metrics import OwnMetric

logger = logging.getLogger("subtrie.connector")

_LOG_EVERY = 60.0  # seconds between log entries of one plane and reason (A25)
_logged: dict[tuple[str, str], float] = {}


#: Upper bounds of the histograms, as in Go: seconds, and bytes.
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
ACK_SECONDS = (0.001, 0.0025, 0.005, 0.0075, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SIZES = tuple(float(1 << n) for n in (10, 12, 14, 16, 18, 20, 22, 24))


class EndpointLabels(NamedTuple):
    """Labels of an endpoint in the metrics; ``kind``: ``function``, ``web`` or ``inboundevent``."""

    port: str
    route: str
    name: str
    canonical: str
    kind: str


class Served:
    """The requests of one endpoint, method and status.

    Attributes:
        count: The number of requests.
        seconds: The time spent in handlers.
        size: The bytes of the bodies of responses.
        by_seconds: The number of requests in each interval of ``SECONDS``, and above.
        by_size: The number of responses in each interval of ``SIZES``, and above.
    """

    __slots__ = ("by_seconds", "by_size", "count", "seconds", "size")

    def __init__(self) -> None:
        self.count, self.seconds, self.size = 0, 0.0, 0
        self.by_seconds = [0] * (len(SECONDS) + 1)
        self.by_size = [0] * (len(SIZES) + 1)


#: An endpoint, the method, the status, and whether the response is an error.
ServedKey = tuple[EndpointLabels, str, int, bool]


class Metrics:
    """Plain counters, which exporters read.

    ``deliveries`` by transport (``memory``, ``nats``); ``rejects`` by reason; ``ack_timeouts``;
    ``timeouts``; ``served`` by endpoint, method, status and whether it is an error; ``callbacks``,
    ``log_messages`` and ``cache_operations`` by the labels of Go.

    Args:
        host: The host of the service, which the log names.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self.deliveries = {"memory": 0, "nats": 0}
        self.rejects: Counter[str] = Counter()  # by reason
        self.ack_timeouts = 0
        self.timeouts = 0
        self.served: dict[ServedKey, Served] = {}
        self._began: float | None = None  # on the monotonic clock
        #: Values of the moment, by the name of the metric.
        self.gauges: dict[str, Callable[[], float]] = {}
        #: The metrics that the service defines, by name.
        self.own: dict[str, OwnMetric] = {}
        self._acks = [0] * (len(ACK_SECONDS) + 1)
        self._ack_seconds = 0.0
        self.callbacks = OwnMetric(
            "microbus_callback_duration_seconds",
            "Handler processing duration [seconds]",
            "histogram",
            SECONDS,
        )
        self.log_messages = OwnMetric(
            "microbus_log_messages", "Number of log messages recorded", "counter"
        )
        self.cache_operations = OwnMetric(
            "microbus_cache_operations",
            "Number of operations performed on the local shard of the distributed cache",
            "counter",
        )
        self.on_served: Callable[[ServedKey, float], None] | None = None

    def counter(self, name: str, text: str = "") -> OwnMetric:
        """Define a counter of the service: ``connector.metrics.counter("orders").add(kind="tea")``.

        Args:
            name: The name; the same name gives the same metric.
            text: What it counts.

        Raises:
            ValueError: The name is not valid, reserved, or that of another kind.
        """
        return self._define(OwnMetric(name, text, "counter"))

    def gauge(self, name: str, text: str = "") -> OwnMetric:
        """Define a gauge of the service; as ``counter``.

        Args:
            name: The name.
            text: What it measures.
        """
        return self._define(OwnMetric(name, text, "gauge"))

    def histogram(
        self, name: str, text: str = "", *, bounds: Sequence[float] = SECONDS
    ) -> OwnMetric:
        """Define a histogram of the service; as ``counter``.

        Args:
            name: The name.
            text: What it measures.
            bounds: The upper bounds of its intervals.
        """
        return self._define(OwnMetric(name, text, "histogram", bounds))

    def _define(self, metric: OwnMetric) -> OwnMetric:
        if not _NAME.fullmatch(metric.name) or metric.name.startswith("microbus_"):
            raise ValueError(f"{metric.name!r} is not a valid name of a metric")
        known = self.own.setdefault(metric.name, metric)
        if (known.kind, known.bounds) != (metric.kind, metric.bounds):
            raise ValueError(f"the metric {metric.name!r} is a {known.kind} already")
        return known

    @contextmanager
    def timed(self, name: str, kind: str) -> Iterator[None]:
        """Time a callback of the service, as Go does; an exception counts as an error.

        Args:
            name: The name of the callback.
            kind: ``lifecycle`` or ``ticker``.
        """
        begun, error = _system.monotonic(), "ERROR"
        try:
            yield
            error = "OK"
        finally:
            self.callbacks.observe(_system.monotonic() - begun, name=name, type=kind, error=error)

    def delivered(self) -> dict[str, int]:
        """Return the deliveries of the transports that delivered."""
        return {transport: count for transport, count in self.deliveries.items() if count}

    def start(self) -> None:
        """Begin to count the uptime: the connector has started."""
        self._began = _system.monotonic()

    def uptime(self) -> float:
        """Return the seconds since the connector started; 0 before."""
        return 0.0 if self._began is None else _system.monotonic() - self._began

    def note_ack(self, seconds: float) -> None:
        """Count an acknowledgement that arrived over the bus.

        Args:
            seconds: How long it took.
        """
        self._acks[bisect_left(ACK_SECONDS, seconds)] += 1
        self._ack_seconds += seconds

    def acks(self) -> tuple[list[int], float]:
        """Return the acknowledgements up to each bound, and the sum of their times in seconds."""
        return list(accumulate(self._acks)), self._ack_seconds

    def serve(
        self,
        endpoint: EndpointLabels,
        method: str,
        status: int,
        error: bool,
        seconds: float,
        size: int,
    ) -> None:
        """Count a request that was handled.

        Args:
            endpoint: The endpoint.
            method: The method of the request.
            status: The status of the response.
            error: Whether the response is an error.
            seconds: How long the handler took.
            size: The bytes of the body of the response.
        """
        key = (endpoint, method, status, error)
        served = self.served.get(key)
        if served is None:
            served = self.served[key] = Served()
        served.count += 1
        served.seconds += seconds
        served.size += size
        # Most are within the first bound: a comparison costs less than a call.
        served.by_seconds[0 if seconds <= SECONDS[0] else bisect_left(SECONDS, seconds)] += 1
        served.by_size[0 if size <= SIZES[0] else bisect_left(SIZES, size)] += 1
        if self.on_served is not None:
            self.on_served(key, seconds)

    def reject(self, plane: str, reason: str, subject: str) -> None:
        """Count a rejected message, and log it at most once a minute for a plane and reason.

        Args:
            plane: The connector's plane.
            reason: Why it was rejected.
            subject: The subject of the message.
        """
        self.rejects[reason] += 1
        now = _system.monotonic()
        if now - _logged.get((plane, reason), -_LOG_EVERY) >= _LOG_EVERY:
            _logged[plane, reason] = now
            logger.warning(
                "%s: message rejected: %s",
                self._host,
                reason,
                extra={"plane": plane, "reason": reason, "subject": ascii(subject[:200])},
            )


def prometheus_text(metrics: Metrics, identity: Mapping[str, str], *, program: bool) -> bytes:
    """Return the counters in the text format of Prometheus.

    Args:
        metrics: The counters.
        identity: The labels of the connector: ``service``, ``id`` and others.
        program: Whether the collectors of the program are among them, with the same labels.

    Raises:
        ImportError: The package ``prometheus_client`` is not installed.
    """
    from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
    )

    names, common = list(identity), list(identity.values())

    def counters(name: str, text: str, label: str, values: Mapping[str, int]) -> Any:
        family = CounterMetricFamily(name, text, labels=[*names, label])
        for key, count in sorted(values.items()):
            family.add_metric([*common, key], count)
        return family

    def counter(name: str, text: str, value: int) -> Any:
        family = CounterMetricFamily(name, text, labels=names)
        family.add_metric(common, value)
        return family

    def gauge(name: str, text: str, value: float) -> Any:
        family = GaugeMetricFamily(name, text, labels=names)
        family.add_metric(common, value)
        return family

    def histogram(name: str, text: str, bounds: Sequence[float], size: bool) -> Any:
        labels = ["name", "route", "canonical", "port", "method", "code", "type", "error"]
        family = HistogramMetricFamily(name, text, labels=[*names, *labels])
        for (endpoint, method, status, error), served in list(metrics.served.items()):
            counts = accumulate(served.by_size if size else served.by_seconds)
            limits = [*(f"{bound:g}" if bound < 1e6 else str(bound) for bound in bounds), "+Inf"]
            family.add_metric(
                [
                    *common, endpoint.name, endpoint.route, endpoint.canonical, endpoint.port,
                    method, str(status), endpoint.kind, "ERROR" if error else "OK",
                ],
                buckets=list(zip(limits, counts, strict=True)),
                sum_value=float(served.size) if size else served.seconds,
            )  # fmt: skip
        return family

    class Collector:
        def collect(self) -> Iterator[Any]:
            for family in REGISTRY.collect() if program else ():
                yield _labelled(family, identity)
            yield counters(
                "microbus_deliveries", "Messages received, by transport", "transport",
                metrics.delivered(),
            )  # fmt: skip
            yield counters(
                "microbus_rejects", "Messages rejected, by reason", "reason", metrics.rejects
            )
            yield counter(
                "microbus_ack_timeouts",
                "Requests without an acknowledgement",
                metrics.ack_timeouts,
            )
            yield counter("microbus_request_timeouts", "Requests that timed out", metrics.timeouts)
            yield counter(
                "microbus_client_timeout_requests",
                "Number of requests downstream that timed out",
                metrics.timeouts,
            )
            acks = HistogramMetricFamily(
                "microbus_client_ack_roundtrip_latency_seconds",
                "Downstream ack roundtrip latency [seconds]",
                labels=names,
            )
            counts, seconds = metrics.acks()
            limits = [*(str(bound) for bound in ACK_SECONDS), "+Inf"]
            acks.add_metric(common, list(zip(limits, counts, strict=True)), seconds)
            yield acks
            labelled = (metrics.callbacks, metrics.log_messages, metrics.cache_operations)
            for own in (*labelled, *list(metrics.own.values())):
                yield from own.families(names, common)
            for name, value in metrics.gauges.items():
                yield gauge(name, _GAUGES.get(name, name), value())
            yield histogram(
                "microbus_server_request_duration_seconds",
                "Request processing duration [seconds]",
                SECONDS,
                False,
            )
            yield histogram(
                "microbus_server_response_body_bytes", "Response body size [bytes]", SIZES, True
            )

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector())
    return bytes(generate_latest(registry))


def _labelled(family: Any, identity: Mapping[str, str]) -> Any:
    """Return a metric family of the program with the labels of a connector, its own ones first."""
    from prometheus_client.metrics_core import Metric

    made = Metric(family.name, family.documentation, family.type, family.unit)
    made.samples = [each._replace(labels={**identity, **each.labels}) for each in family.samples]
    return made


_GAUGES = {
    "microbus_uptime_duration_seconds": "Duration since connector was established [seconds]",
    "microbus_cache_memory_bytes": "Total size of the cached elements [bytes]",
    "microbus_cache_elements": "Total number of cached elements",
}
