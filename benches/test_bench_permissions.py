"""Cost of comparing two sets of rules in both directions; answers are compared first.

``pytest benches --benchmark-only -k permissions``. ``services`` are sets like those of gencreds,
``hostile`` is 700 allow and 300 deny rules of 16 tokens over ``a``, ``b``, ``*`` and ``>``.
"""

from __future__ import annotations

import random

import pytest

import subtrie._subtrie
import subtrie.reference

ENGINES = {"native": subtrie._subtrie, "reference": subtrie.reference}


def services(count: int, seed: int) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)
    made: set[str] = set()
    while len(made) < count:
        source, host = (f"svc{rng.randrange(120)}_core" for _ in range(2))
        port = rng.choice(["443", "443", "417", "888", "*"])
        path = rng.choice(["items.*", "orders.new", f"p{rng.randrange(50)}", "a.*.>", ">"])
        made.add(f"prod.safe.{port}.{source}.{host}.*.{rng.choice(['GET', 'POST'])}.{path}")
    return sorted(made), []


def hostile(seed: int) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)

    def rules(count: int) -> list[str]:
        rows = []
        for _ in range(count):
            tokens = [rng.choice("ab**") for _ in range(16)]
            if rng.random() < 0.3:
                tokens[rng.randrange(4, 16) :] = [">"]
            rows.append(".".join(tokens))
        return rows

    return rules(700), rules(300)


SETS = {
    "services-1000": (services(1000, 1), services(1000, 2)),
    "services-equal": (services(1000, 1), (services(1000, 1)[0][::-1], [])),
    "hostile": (hostile(1), hostile(2)),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("row", ENGINES)
def test_permissions(benchmark, row, name):
    left, right = SETS[name]
    ask = ENGINES[row].rules_witness

    def both_ways():
        return ask(*left, *right), ask(*right, *left)

    if row == "reference" and name == "hostile":
        pytest.skip("timed for the native engine only")
    wanted = subtrie._subtrie.rules_witness(*left, *right)
    assert both_ways()[0] == wanted
    benchmark.pedantic(both_ways, rounds=3, iterations=1)
