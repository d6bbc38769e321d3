"""Counters, gauges and histograms with labels: those that a service defines, and some of Go's.

They appear in ``:888/metrics`` beside those of the connector, with the labels of the service. They
need no package until the metrics are read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from . import _system

Labels = tuple[tuple[str, str], ...]

_MOST_SERIES = 10_000  # sets of labels of one metric; further ones are not counted


class OwnMetric:
    """A metric with labels.

    Attributes:
        name: The name.
        text: What it counts or measures.
        kind: ``counter``, ``gauge`` or ``histogram``.
        bounds: The upper bounds of a histogram.
    """

    def __init__(self, name: str, text: str, kind: str, bounds: Sequence[float] = ()) -> None:
        self.name, self.text, self.kind, self.bounds = name, text, kind, tuple(sorted(bounds))
        self._lock = _system.lock()
        self._values: dict[Labels, float] = {}
        self._counts: dict[Labels, list[int]] = {}

    def add(self, value: float = 1.0, **labels: object) -> None:
        """Add to a counter or a gauge.

        Args:
            value: What to add.
            labels: The labels and their values.

        Raises:
            ValueError: A counter would go down, or the metric is a histogram.
        """
        if self.kind == "histogram" or (self.kind == "counter" and value < 0):
            raise ValueError(f"a {self.kind} cannot have {value!r} added")
        self._write(labels, value)

    def set(self, value: float, **labels: object) -> None:
        """Set a gauge.

        Args:
            value: The value of the moment.
            labels: The labels and their values.

        Raises:
            ValueError: The metric is not a gauge.
        """
        if self.kind != "gauge":
            raise ValueError(f"a {self.kind} cannot be set")
        self._write(labels, value, replace=True)

    def observe(self, value: float, **labels: object) -> None:
        """Add an observation to a histogram.

        Args:
            value: The observed value.
            labels: The labels and their values.

        Raises:
            ValueError: The metric is not a histogram.
        """
        if self.kind != "histogram":
            raise ValueError(f"a {self.kind} has no observations")
        self._write(labels, value)

    def _write(self, labels: dict[str, object], value: float, *, replace: bool = False) -> None:
        """Add to the value for labels, or replace it; new labels only while there is room."""
        key = tuple(sorted((name, str(each)) for name, each in labels.items()))
        with self._lock:
            if key not in self._values and len(self._values) >= _MOST_SERIES:
                return
            before = 0.0 if replace else self._values.get(key, 0.0)
            self._values[key] = before + float(value)
            if self.kind == "histogram":
                counts = self._counts.setdefault(key, [0] * (len(self.bounds) + 1))
                counts[bisect_left(self.bounds, value)] += 1

    def families(self, names: list[str], common: list[str]) -> Iterator[Any]:
        """Yield the metric families of ``prometheus_client``, one for each set of label names."""
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        makers = {
            "counter": CounterMetricFamily,
            "gauge": GaugeMetricFamily,
            "histogram": HistogramMetricFamily,
        }
        with self._lock:
            values = sorted(self._values.items())
            counts = {key: list(accumulate(each)) for key, each in self._counts.items()}
        made: dict[tuple[str, ...], Any] = {}
        for key, value in values:
            own = tuple(name for name, _ in key)
            if own not in made:
                made[own] = makers[self.kind](self.name, self.text, labels=[*names, *own])
            shown = [*common, *(each for _, each in key)]
            if self.kind == "histogram":
                limits = [*(str(bound) for bound in self.bounds), "+Inf"]
                buckets = list(zip(limits, counts[key], strict=True))
                made[own].add_metric(shown, buckets=buckets, sum_value=value)
            else:
                made[own].add_metric(shown, value)
        yield from made.values()
