"""Cost of a lookup, compared with the alternatives in Python.

``pytest benches --benchmark-only``. One round looks up 1,000 subjects, so the µs of a round are
ns per subject, including the loop; every subject is a new ``str``, created outside the measured
time. ``hot`` uses the same 1,000 texts every round, ``zipf`` and ``uniform`` continue through their
files. All answers are compared before anything is timed.
"""

from __future__ import annotations

import functools
import itertools

import pytest

import subtrie._subtrie
from answers import COMPARED, at, checksum, single
from conftest import SIZES
from rivals import REFERENCE, RIVALS, built
from workload import ORDERS, fresh, lines

COUNT = 1000
ROUNDS = 100
# These get two rounds, and fewer answers compared.
SLOW = {"compiled regex, Python"}
FEW = 500
NAMES = {rival.who: rival for rival in RIVALS}


@functools.cache
def expected(size: int) -> dict[tuple[str, int], dict]:
    """Return the checksums of the reference, by order and number of compared subjects."""
    match = built(NAMES[REFERENCE], size).match
    return {
        (order, compared): checksum(map(match, lines(size, order)[:compared]))
        for order in ORDERS
        for compared in (COMPARED, FEW)
    }


def loop(call):
    def run(subjects):
        for subject in subjects:
            call(subject)

    return run


def timed(benchmark, call, subjects, rounds=ROUNDS):
    portions = itertools.cycle(
        [subjects[start : start + COUNT] for start in range(0, len(subjects), COUNT)]
    )

    # New strings for every round, made outside the time.
    def setup():
        return ([fresh(subject) for subject in next(portions)],), {}

    benchmark.pedantic(loop(call), setup=setup, rounds=rounds, warmup_rounds=min(rounds, 5))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: rival.who)
def test_match(benchmark, rival, size, order):
    if size > rival.most:
        pytest.skip(f"too slow or too large above {rival.most:,}")
    benchmark.group = f"match, {size:,} subscriptions, {order}"
    compared = FEW if rival.who in SLOW else COMPARED
    wanted = expected(size)[order, compared]
    call = built(rival, size).match
    subjects = [rival.form(subject) for subject in lines(size, order)]
    answer = checksum(map(call, subjects[:compared]))
    assert answer == wanted
    row = {"who": rival.who, "measure": "lookup", "size": size, "order": order}
    benchmark.extra_info["row"] = row | ({} if compared == FEW else answer)
    timed(benchmark, call, subjects, 2 if compared == FEW else ROUNDS)
    if not benchmark.disabled:
        some = subjects[: 200 if compared == FEW else COMPARED]
        benchmark.extra_info["row"]["p99_ns"] = at(single(call, map(fresh, some)), 0.99)


YARDSTICKS = {
    'subject.split(".") alone, Python': lambda subject: subject.split("."),
    "native check alone, Python": subtrie._subtrie.check_subject,
    "native call on an empty index, Python": subtrie._subtrie.SubjectTrie().match,
    "empty call of C, Python": callable,
    "empty call of Python, Python": lambda subject: None,
}
# A native function that takes the same str and returns a stored tuple; only a build with the cargo
# feature `bench`, such as that of `make bench`, has it.
if hasattr(subtrie._subtrie, "_empty_call"):
    YARDSTICKS["empty native call, Python"] = subtrie._subtrie._empty_call


@pytest.mark.parametrize("who", YARDSTICKS)
def test_cost_of_a_call(benchmark, who):
    benchmark.group = "cost of a call"
    row = {"who": who, "measure": "yardstick", "size": SIZES[0], "order": "uniform"}
    benchmark.extra_info["row"] = row
    timed(benchmark, YARDSTICKS[who], lines(SIZES[0], "uniform"))
