"""Checksums of answers, equal in every language, and times of single calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median
from time import perf_counter_ns
from typing import Any

# The number of subjects of each order whose answers are compared.
COMPARED = 10_000
_ALL = (1 << 64) - 1


def mixed(number: int) -> int:
    """Mix the number of a subscription into 64 bits."""
    spread = (number + 1) * 0x9E3779B97F4A7C15 & _ALL
    return spread ^ (spread >> 32)


def checksum(answers: Iterable[Iterable[int]]) -> dict[str, Any]:
    """Return ``checksum`` and ``matches`` of answers, independent of the order in an answer."""
    total = matches = 0
    for answer in answers:
        numbers = list(answer)
        total = (total * 31 + sum(map(mixed, numbers))) & _ALL
        matches += len(numbers)
    return {"checksum": f"{total:016x}", "matches": matches}


def clock_cost() -> float:
    """Measure the cost of one reading of the clock, in nanoseconds."""
    return median(-(perf_counter_ns() - perf_counter_ns()) for _ in range(10_001))


def single(call: Callable[..., Any], arguments: Iterable[Any]) -> list[float]:
    """Measure each call separately, in nanoseconds; return the times in ascending order."""
    clock, times = clock_cost(), []
    for argument in arguments:
        before = perf_counter_ns()
        call(argument)
        times.append(max(0.0, perf_counter_ns() - before - clock))
    return sorted(times)


def at(times: list[float], part: float) -> float:
    """Return a quantile of ascending times."""
    return round(times[int((len(times) - 1) * part)], 1)
