"""The counters of every connector in this process as OpenTelemetry metrics.

They are observable counters: values are read when a reader collects, so counting costs nothing
more. Beside them is the histogram ``http.server.request.duration``. Both transports count the same.
A meter provider may be set before or after startup.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from ._metrics import SECONDS, Served, ServedKey
from ._runtime import Runtime

try:
    from opentelemetry import metrics
    from opentelemetry.metrics import Observation
except ImportError:  # the package is optional
    metrics = None  # type: ignore[assignment]

_watched: weakref.WeakSet[Runtime] = weakref.WeakSet()
_instruments: list[Any] = []  # the instruments, created once for the process
_duration: list[Any] = []  # the histogram of durations, created with them
_collected: list[bool] = []  # not empty once a meter provider reads: before, nothing is recorded


def watch(connector: Runtime) -> None:
    """Include a connector in the metrics from now on."""
    _watched.add(connector)
    if metrics is None:
        return
    provider = type(metrics.get_meter_provider()).__module__
    if _collected or not provider.startswith("opentelemetry.metrics"):  # not a placeholder
        _record_all()
    if not _instruments:
        meter = metrics.get_meter("subtrie.connector")
        histogram: Any = partial(
            meter.create_histogram,
            "http.server.request.duration",
            unit="s",
            description="Duration of HTTP server requests.",
        )
        try:
            _duration.append(histogram(explicit_bucket_boundaries_advisory=SECONDS))
        except TypeError:  # an older version of the package
            _duration.append(histogram())
        for name, unit, text, rows in (
            ("microbus_deliveries", "1", "Messages received, by transport", _deliveries),
            ("microbus_rejects", "1", "Messages rejected, by reason", _rejects),
            ("microbus_ack_timeouts", "1", "Requests without an acknowledgement", _ack_timeouts),
            ("microbus_request_timeouts", "1", "Requests that timed out", _timeouts),
            ("microbus_server_requests", "1", "Requests handled", _requests),
            ("microbus_server_request_seconds", "s", "Time spent in handlers", _seconds),
        ):
            _instruments.append(
                meter.create_observable_counter(
                    name, callbacks=[_callback(rows)], unit=unit, description=text
                )
            )


Measurement = tuple[dict[str, str | int], float]


def _callback(rows: Any) -> Any:
    def observe(_: object) -> Iterator[Any]:
        if not _collected:
            _record_all()
        for connector in list(_watched):
            for labels, value in rows(connector):
                labelled = {"service": connector.host, "id": connector.id, **labels}
                yield Observation(value, labelled)

    return observe


def _deliveries(connector: Runtime) -> Iterable[Measurement]:
    return [({"transport": transport}, n) for transport, n in connector.metrics.delivered().items()]


def _rejects(connector: Runtime) -> Iterable[Measurement]:
    return [({"reason": reason}, n) for reason, n in connector.metrics.rejects.items()]


def _ack_timeouts(connector: Runtime) -> Iterable[Measurement]:
    return [({}, connector.metrics.ack_timeouts)]


def _timeouts(connector: Runtime) -> Iterable[Measurement]:
    return [({}, connector.metrics.timeouts)]


def _requests(connector: Runtime) -> Iterable[Measurement]:
    return _sums(connector, lambda served: served.count)


def _seconds(connector: Runtime) -> Iterable[Measurement]:
    return _sums(connector, lambda served: served.seconds)


def _sums(connector: Runtime, value: Callable[[Served], float]) -> Iterable[Measurement]:
    sums: dict[tuple[str, str, str, int], float] = {}
    for (endpoint, method, status, _), served in list(connector.metrics.served.items()):
        key = (endpoint.port, endpoint.route, method, status)
        sums[key] = sums.get(key, 0) + value(served)
    return [
        ({"port": port, "route": route, "method": method, "code": status}, total)
        for (port, route, method, status), total in sums.items()
    ]


def _record_all() -> None:
    """Record the durations of every connector from now on: a meter provider reads them."""
    _collected[:] = [True]
    for each in list(_watched):
        each.metrics.on_served = _record(each.host)


def _record(service: str) -> Callable[[ServedKey, float], None]:
    """Return a function that records ``http.server.request.duration`` of a service."""

    def record(key: ServedKey, seconds: float) -> None:
        endpoint, method, status, _ = key
        attributes: dict[str, str | int] = {
            "http.request.method": method,
            "http.response.status_code": status,
            "http.route": endpoint.route,
            "server.address": service,
            "server.port": int(endpoint.port),
            "url.scheme": "https",
        }
        if status >= 500:
            attributes["error.type"] = str(status)
        _duration[0].record(seconds, attributes)

    return record
