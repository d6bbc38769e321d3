"""Cost of the other lookup methods, in both engines."""

from __future__ import annotations

import pytest

import subtrie._subtrie
import subtrie.reference
from test_bench_match import timed
from workload import lines

ENGINES = {"subtrie, Python": subtrie._subtrie, "reference, Python": subtrie.reference}
SIZE = 6000


@pytest.mark.parametrize("who", ENGINES)
@pytest.mark.parametrize("ask", ["select", "groups", "has_interest", "count", "explain"])
def test_other_questions(benchmark, who, ask):
    benchmark.group = f"{ask}, {SIZE:,} subscriptions in 50 queues, zipf"
    row = {"who": who, "measure": ask, "size": SIZE, "order": "zipf"}
    benchmark.extra_info["row"] = row
    trie = ENGINES[who].SubjectTrie()
    trie.update((p, n, f"q{n % 50}") for n, p in enumerate(lines(SIZE, "patterns")))
    timed(benchmark, getattr(trie, ask), lines(SIZE, "zipf"), rounds=5)
