"""One number for many answers, the same in every language, and single times without the clock's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median
from time import perf_counter_ns
from typing import Any

# So many subjects of each order are compared.
COMPARED = 10_000
_ALL = (1 << 64) - 1


def mixed(number: int) -> int:
    """The number of a subscription, spread over 64 bits."""
    spread = (number + 1) * 0x9E3779B97F4A7C15 & _ALL
    return spread ^ (spread >> 32)


def checksum(answers: Iterable[Iterable[int]]) -> dict[str, Any]:
    """``checksum`` and ``matches`` of answers; the order within an answer does not count."""
    total = matches = 0
    for answer in answers:
        numbers = list(answer)
        total = (total * 31 + sum(map(mixed, numbers))) & _ALL
        matches += len(numbers)
    return {"checksum": f"{total:016x}", "matches": matches}


def clock_cost() -> float:
    """What one reading of the clock adds to a time, in nanoseconds."""
    return median(-(perf_counter_ns() - perf_counter_ns()) for _ in range(10_001))


def single(call: Callable[..., Any], arguments: Iterable[Any]) -> list[float]:
    """The time of each call by itself, in nanoseconds, ascending."""
    clock, times = clock_cost(), []
    for argument in arguments:
        before = perf_counter_ns()
        call(argument)
        times.append(max(0.0, perf_counter_ns() - before - clock))
    return sorted(times)


def at(times: list[float], part: float) -> float:
    """The time below which this part of the ascending times lies."""
    return round(times[int((len(times) - 1) * part)], 1)
