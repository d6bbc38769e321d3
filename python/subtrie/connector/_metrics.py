"""Counters of a connector: deliveries, rejects, timeouts, requests served."""

from __future__ import annotations

import logging
import time
from collections import Counter

logger = logging.getLogger("subtrie.connector")

_LOG_EVERY = 60.0  # seconds between log entries of one plane and reason (A25)
_logged: dict[tuple[str, str], float] = {}


class Metrics:
    """Plain counters, which exporters read.

    ``deliveries`` by transport (``memory``, ``nats``); ``rejects`` by reason; ``ack_timeouts``;
    ``timeouts``; ``served`` by port, route, method and status: the number of requests and the
    seconds spent.
    """

    def __init__(self) -> None:
        self.deliveries: Counter[str] = Counter()  # "memory", "nats"
        self.rejects: Counter[str] = Counter()  # by reason
        self.ack_timeouts = 0
        self.timeouts = 0
        self.served: dict[tuple[str, str, str, int], list[float]] = {}

    def serve(self, port: str, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was handled.

        Args:
            port: The port of the endpoint.
            route: The path of the endpoint.
            method: The method of the request.
            status: The status of the response.
            seconds: How long the handler took.
        """
        kept = self.served.get((port, route, method, status))
        if kept is None:
            kept = self.served[port, route, method, status] = [0.0, 0.0]
        kept[0] += 1
        kept[1] += seconds

    def reject(self, plane: str, reason: str, subject: str) -> None:
        """Count a rejected message, and log it at most once a minute for a plane and reason.

        Args:
            plane: The connector's plane.
            reason: Why it was rejected.
            subject: The subject of the message.
        """
        self.rejects[reason] += 1
        now = time.monotonic()
        if now - _logged.get((plane, reason), -_LOG_EVERY) >= _LOG_EVERY:
            _logged[plane, reason] = now
            logger.warning(
                "message rejected: %s",
                reason,
                extra={"plane": plane, "reason": reason, "subject": ascii(subject[:200])},
            )


def prometheus_text(metrics: Metrics, host: str, instance: str) -> bytes:
    """Return the counters in the text format of Prometheus.

    Args:
        metrics: The counters.
        host: The host of the service.
        instance: The id of the instance.

    Raises:
        ImportError: The package ``prometheus_client`` is not installed.
    """
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import CounterMetricFamily, SummaryMetricFamily

    common = [host, instance]

    class Collector:
        def collect(self):  # type: ignore[no-untyped-def]
            for name, help_, label, values in (
                ("deliveries", "Messages received, by transport", "transport", metrics.deliveries),
                ("rejects", "Messages rejected, by reason", "reason", metrics.rejects),
            ):
                family = CounterMetricFamily(
                    f"microbus_{name}", help_, labels=["service", "id", label]
                )
                for key, count in sorted(values.items()):
                    family.add_metric([*common, key], count)
                yield family
            for name, help_, total in (
                ("ack_timeouts", "Requests without an acknowledgement", metrics.ack_timeouts),
                ("request_timeouts", "Requests that timed out", metrics.timeouts),
            ):
                family = CounterMetricFamily(f"microbus_{name}", help_, labels=["service", "id"])
                family.add_metric(common, total)
                yield family
            served = SummaryMetricFamily(
                "microbus_server_request_duration_seconds",
                "Time spent in handlers",
                labels=["service", "id", "port", "route", "method", "code"],
            )
            for (port, route, method, status), (times, seconds) in sorted(metrics.served.items()):
                served.add_metric(
                    [*common, port, route, method, str(status)],
                    count_value=int(times),
                    sum_value=seconds,
                )
            yield served

    registry = CollectorRegistry()
    registry.register(Collector())
    return bytes(generate_latest(registry))
