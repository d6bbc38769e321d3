"""Throughput of one call on a whole Arrow column, in subjects per second."""

from __future__ import annotations

from itertools import pairwise

import pyarrow
import pytest

from answers import COMPARED, checksum
from conftest import SIZES
from rivals import NATIVE, RIVALS, built
from workload import lines

SUBJECTS = 1_000_000
ENGINE = next(rival for rival in RIVALS if rival.who == NATIVE)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("order", ["hot", "uniform"])
@pytest.mark.parametrize("size", SIZES)
def test_match_batch(benchmark, size, order, threads):
    benchmark.group = f"a column of {SUBJECTS:,}, {size:,} subscriptions, {order}"
    trie = built(ENGINE, size).match.__self__
    texts = lines(size, order)
    column = pyarrow.array(texts * (SUBJECTS // len(texts)), pyarrow.string())
    found = trie.match_batch(column.slice(0, COMPARED), threads=threads)
    offsets, ids = found.offsets, found.ids
    answer = checksum(ids[start:end] for start, end in pairwise(offsets))
    assert answer == checksum(trie.match(text) for text in column.slice(0, COMPARED).to_pylist())
    benchmark.extra_info["row"] = {
        "who": f"match_batch, threads={threads}",
        "measure": "batch",
        "size": size,
        "order": order,
        "threads": threads,
        "subjects": SUBJECTS,
    }
    rounds = 1 if benchmark.disabled else 5
    benchmark.pedantic(trie.match_batch, (column,), {"threads": threads}, rounds=rounds)
