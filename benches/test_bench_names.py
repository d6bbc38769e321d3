"""Cost of checking a name; one round checks 1,000 names of each length."""

from __future__ import annotations

import pytest

import subtrie._subtrie
import subtrie.reference

ENGINES = {"native": subtrie._subtrie, "reference": subtrie.reference}
COUNT = 1000
KINDS = {"stream": "ORDERS_{:0{}}", "subject": "orders.eu.{:0{}}", "kv-key": "orders.eu/{:0{}}"}


@pytest.mark.parametrize("length", [16, 40, 120])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", ENGINES)
def test_check_name(benchmark, engine, kind, length):
    head = KINDS[kind]
    width = length - len(head.format(0, 1)) + 1
    names = [head.format(n, width) for n in range(COUNT)]
    assert all(len(name) == length for name in names)
    check = ENGINES[engine].check_name

    def run() -> None:
        for name in names:
            check(name, kind)

    assert all(check(name, kind) for name in names)
    benchmark.group = f"check 1,000 names: {kind} of {length}"
    benchmark.pedantic(run, rounds=20, warmup_rounds=2)
