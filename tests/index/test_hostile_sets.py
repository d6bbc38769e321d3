"""Pattern sets made to hurt: both engines answer alike, whole, and give all memory back."""

from __future__ import annotations

import ctypes
import gc
import itertools
from pathlib import Path

import pytest

import subtrie._subtrie
from engines import ENGINES

SETS = {
    "a and * at depth 12": [".".join(p) for p in itertools.product("a*", repeat=12)],
    "one node, many children": [f"a.t{n}.b" for n in range(20_000)],
    "64 tokens": [".".join("a*"[n >> bit % 9 & 1] for bit in range(64)) for n in range(512)],
    "> at every level": ["".join("*." * n) + ">" for n in range(64)]
    + ["".join("a." * n) + ">" for n in range(1, 64)],
    "long runs": [".".join("a" * n + "*" * m) for n in range(1, 33) for m in range(32)],
    "one pattern": ["a.*.a"] * 5000,
}
SUBJECTS = [
    *(".".join("a" * n) for n in (1, 2, 3, 12, 13, 33, 63, 64)),
    *(".".join("b" * n) for n in (1, 12, 64)),
    "a.t7.b", "a.t19999.b", "a.x.b", ".".join("ab" * 32), ".".join("a" * 11 + "b"),
]  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_both_engines_answer_alike(name):
    tries = [engine.SubjectTrie() for engine in ENGINES.values()]
    for trie in tries:
        trie.update((p, n, "q" if n % 3 == 0 else None) for n, p in enumerate(SETS[name]))
    for subject in SUBJECTS:
        for question in ("match", "count", "has_interest", "select", "groups"):
            one, other = (getattr(trie, question)(subject) for trie in tries)
            assert one == other, (question, subject)
    ids = [[each.id for each in trie.matching("a.*.a.>")] for trie in tries]
    assert ids[0] == ids[1]
    near = [
        [(miss.pattern, miss.differs_at) for miss in trie.explain("a.a.b.z", limit=5).nearest]
        for trie in tries
    ]
    assert near[0] == near[1]
    assert tries[0].stats()[:-1] == tries[1].stats()[:-1]


@pytest.mark.parametrize("name", SETS)
def test_memory_is_released(engine, name):
    trie = engine.SubjectTrie()
    empty = trie.stats().memory
    handles = trie.update((p, None, "q" if n % 2 else None) for n, p in enumerate(SETS[name]))
    full = trie.stats().memory
    for handle in handles[::2] + handles[1::2]:
        assert trie.remove(handle)
    left = trie.stats()
    assert left[:-1] == (0,) * 6
    assert left.memory <= empty + full // 20 + 1024


class AllocatorStatistics(ctypes.Structure):
    """The result of ``mallinfo2`` of the C library."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                     "uordblks", "fordblks", "keepcost")
    ]  # fmt: skip


def allocated():
    """Return the bytes that the process has allocated; small Python objects are not among them."""
    statistics = ctypes.CDLL(None).mallinfo2
    statistics.restype = AllocatorStatistics
    found = statistics()
    return found.uordblks + found.hblkhd


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs glibc 2.33")
@pytest.mark.parametrize("name", SETS)
def test_the_memory_is_what_the_process_allocates(name):
    """Of the index itself and of what it keeps for each subscription."""
    rows = [(p, None, "q" if n % 2 else None) for n, p in enumerate(SETS[name])]
    trie = subtrie._subtrie.SubjectTrie()
    gc.collect()
    before, empty = allocated(), trie.stats().memory
    trie.update(rows)
    grown = trie.stats().memory - empty
    assert allocated() - before == pytest.approx(grown, rel=0.1, abs=10_000)


@pytest.mark.parametrize(
    ("patterns", "shapes"),
    [
        ([], 0),
        (["a.b", "c.d", "a.b"], 1),
        (["a", "a.b", "a.*", "*.a", "a.>", "*.>", ">", "*", "b"], 8),
        (["ab.c", "a.bc", "x.x.*.>", "y.z.*.>"], 2),
    ],
)
def test_shapes(engine, patterns, shapes):
    trie = engine.SubjectTrie()
    trie.update((pattern, None) for pattern in patterns)
    assert trie.stats().shapes == shapes


def test_the_empty_call_is_only_in_builds_for_benchmarks(engine):
    assert not hasattr(engine.SubjectTrie, "_empty_call")
    stub = Path(subtrie.__file__).with_name("_subtrie.pyi")
    assert "_empty_call" not in stub.read_text(encoding="utf-8")
    # The cargo feature `bench`, which `make bench` asks for, adds it to the native module.
    empty_call = getattr(subtrie._subtrie, "_empty_call", None)
    assert empty_call is None or empty_call("a.b") == ()
