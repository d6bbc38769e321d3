"""The counters of every connector of this process, for OpenTelemetry where its API is installed.

They are read when somebody collects, so counting costs nothing more; they count the same things on
both transports (S0-131). A provider of meters may be set before or after the connectors start.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from ._runtime import Runtime

try:
    from opentelemetry import metrics
    from opentelemetry.metrics import Observation
except ImportError:  # it is optional
    metrics = None  # type: ignore[assignment]

_watched: weakref.WeakSet[Runtime] = weakref.WeakSet()
_made: list[Any] = []  # the instruments, once for the process


def watch(connector: Runtime) -> None:
    """From now on the counters of a connector are told to whoever collects."""
    _watched.add(connector)
    if metrics is not None and not _made:
        meter = metrics.get_meter("subtrie.connector")
        for name, unit, text, rows in (
            ("microbus_deliveries", "1", "Messages received, by transport", _deliveries),
            ("microbus_rejects", "1", "Messages refused, by reason", _rejects),
            ("microbus_ack_timeouts", "1", "Requests nobody acknowledged", _ack_timeouts),
            ("microbus_request_timeouts", "1", "Requests out of time", _timeouts),
            ("microbus_server_requests", "1", "Requests handled", _requests),
            ("microbus_server_request_seconds", "s", "Time handlers took", _seconds),
        ):
            _made.append(
                meter.create_observable_counter(
                    name, callbacks=[_callback(rows)], unit=unit, description=text
                )
            )


Row = tuple[dict[str, str | int], float]


def _callback(rows: Any) -> Any:
    def observe(_: object) -> Iterator[Any]:
        for connector in list(_watched):
            for labels, value in rows(connector):
                said = {"service": connector.host, "id": connector.id, **labels}
                yield Observation(value, said)

    return observe


def _deliveries(connector: Runtime) -> Iterable[Row]:
    return [({"transport": way}, n) for way, n in connector.metrics.deliveries.items()]


def _rejects(connector: Runtime) -> Iterable[Row]:
    return [({"reason": reason}, n) for reason, n in connector.metrics.rejects.items()]


def _ack_timeouts(connector: Runtime) -> Iterable[Row]:
    return [({}, connector.metrics.ack_timeouts)]


def _timeouts(connector: Runtime) -> Iterable[Row]:
    return [({}, connector.metrics.timeouts)]


def _requests(connector: Runtime) -> Iterable[Row]:
    return [(_labels(key), times) for key, (times, _) in list(connector.metrics.served.items())]


def _seconds(connector: Runtime) -> Iterable[Row]:
    return [(_labels(key), spent) for key, (_, spent) in list(connector.metrics.served.items())]


def _labels(key: tuple[str, str, str, int]) -> dict[str, str | int]:
    port, route, method, status = key
    return {"port": port, "route": route, "method": method, "code": status}
