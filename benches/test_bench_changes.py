"""Cost of building, adding and removing from Python.

At full size, a random subscription is removed and a new one is added, each timed separately.
"""

from __future__ import annotations

import random
from time import perf_counter_ns

import pytest

from answers import at, clock_cost
from conftest import SIZES
from rivals import NATIVE, REFERENCE, RIVALS
from workload import lines

RIVAL = {rival.who: rival for rival in RIVALS}
CHANGING = [NATIVE, REFERENCE, "paho-mqtt, Python"]


def bearable(who, size):
    # Building is repeated, so pure-Python rivals are limited to a few seconds.
    if who != NATIVE and size > 100_000:
        pytest.skip("too slow above 100,000")
    return RIVAL[who]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("who", CHANGING)
def test_build(benchmark, who, size):
    benchmark.group = f"build, {size:,} subscriptions"
    rival = bearable(who, size)
    benchmark.extra_info["row"] = {"who": who, "measure": "build", "size": size}
    benchmark.pedantic(rival.build, (lines(size, "patterns"),), rounds=3)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("who", CHANGING)
def test_change(benchmark, who, size):
    """A round is 1,000 times: one goes, one comes."""
    benchmark.group = f"change, {size:,} subscriptions"
    rival = bearable(who, size)
    index = rival.build(lines(size, "patterns"))
    live, draw = list(index.handles), random.Random(size)
    added = [(rival.form(pattern), size + n) for n, pattern in enumerate(lines(size, "added"))]

    removes, inserts, clock = [], [], clock_cost()

    def change(portion):
        for pattern, number in portion:
            place = draw.randrange(len(live))
            handle = live[place]
            before = perf_counter_ns()
            index.remove(handle)
            between = perf_counter_ns()
            handle = index.add(pattern, number)
            after = perf_counter_ns()
            removes.append(max(0.0, between - before - clock))
            inserts.append(max(0.0, after - between - clock))
            live[place] = handle or pattern  # paho's handle is the topic itself

    portions = iter([added[start : start + 1000] for start in range(0, len(added), 1000)])
    rounds = 1 if benchmark.disabled else 8
    benchmark.pedantic(change, setup=lambda: ((next(portions),), {}), rounds=rounds)
    row = {"who": who, "measure": "change", "size": size}
    for name, times in (("remove", removes), ("insert", inserts)):
        times.sort()
        row[name] = {"median_ns": at(times, 0.5), "p99_ns": at(times, 0.99), "max_ns": times[-1]}
    benchmark.extra_info["row"] = row
