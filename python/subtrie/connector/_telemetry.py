"""The counters of every connector in this process as OpenTelemetry metrics.

They are observable counters: values are read when a reader collects, so counting costs nothing
more. Both transports count the same. A meter provider may be set before or after startup.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from ._runtime import Runtime

try:
    from opentelemetry import metrics
    from opentelemetry.metrics import Observation
except ImportError:  # the package is optional
    metrics = None  # type: ignore[assignment]

_watched: weakref.WeakSet[Runtime] = weakref.WeakSet()
_instruments: list[Any] = []  # the instruments, created once for the process


def watch(connector: Runtime) -> None:
    """Include a connector in the metrics from now on."""
    _watched.add(connector)
    if metrics is not None and not _instruments:
        meter = metrics.get_meter("subtrie.connector")
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
        for connector in list(_watched):
            for labels, value in rows(connector):
                labelled = {"service": connector.host, "id": connector.id, **labels}
                yield Observation(value, labelled)

    return observe


def _deliveries(connector: Runtime) -> Iterable[Measurement]:
    return [({"transport": transport}, n) for transport, n in connector.metrics.deliveries.items()]


def _rejects(connector: Runtime) -> Iterable[Measurement]:
    return [({"reason": reason}, n) for reason, n in connector.metrics.rejects.items()]


def _ack_timeouts(connector: Runtime) -> Iterable[Measurement]:
    return [({}, connector.metrics.ack_timeouts)]


def _timeouts(connector: Runtime) -> Iterable[Measurement]:
    return [({}, connector.metrics.timeouts)]


def _requests(connector: Runtime) -> Iterable[Measurement]:
    return [(_labels(key), times) for key, (times, _) in list(connector.metrics.served.items())]


def _seconds(connector: Runtime) -> Iterable[Measurement]:
    return [(_labels(key), spent) for key, (_, spent) in list(connector.metrics.served.items())]


def _labels(key: tuple[str, str, str, int]) -> dict[str, str | int]:
    port, route, method, status = key
    return {"port": port, "route": route, "method": method, "code": status}
