"""One build of ``subtrie`` in a process of its own, which measures one round when it is told to.

    PYTHONPATH=BUILD/python:benches python benches/peers/worker.py

Reads a line of JSON, ``{"do": "lookup", "size": 6000, ...}``, and prints the answer as a line of
JSON. ``interleaved.py`` asks several such processes in turn, so that a burst of other load on the
machine meets all of them. It uses only what the compared builds both have.
"""

from __future__ import annotations

import functools
import gc
import json
import mmap
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import pyarrow

import subtrie._subtrie
from answers import COMPARED, checksum
from dictionary_trie import DictionaryTrie
from microbus_speed import CASES
from python_memory import STATM
from subtrie import SubjectTrie
from workload import fresh, lines

#: Strings made at once, outside the time: few enough to stay in the cache, as after a read.
PORTION = 1_000
#: Subjects of a column: short rounds, of which the least meets less of other load.
COLUMN = 200_000


@functools.cache
def trie(size: int) -> Any:
    """Build the index of a size, whose handles are kept."""
    made = SubjectTrie()
    trie.handles[size] = made.update(zip(lines(size, "patterns"), range(size), strict=True))  # type: ignore[attr-defined]
    return made


trie.handles = {}  # type: ignore[attr-defined]


@functools.cache
def subjects(size: int, order: str) -> list[str]:
    """Return the subjects of a round; the few hot ones repeat."""
    found = lines(size, order)
    return found * 20 if order == "hot" else found


def a_text(loop: Callable[[list[str]], None], texts: Sequence[str]) -> float:
    """Return the nanoseconds that a loop takes for each text, all of them new strings."""
    total = 0
    for start in range(0, len(texts), PORTION):
        portion = [fresh(text) for text in texts[start : start + PORTION]]
        before = perf_counter_ns()
        loop(portion)
        total += perf_counter_ns() - before
    return total / len(texts)


def a_call(call: Callable[[str], Any], texts: Sequence[str]) -> float:
    """Return the nanoseconds of a call, loop included, each with a new string."""

    def loop(portion: list[str]) -> None:
        for text in portion:
            call(text)

    return a_text(loop, texts)


def lookup(size: int, order: str, of: str = "trie") -> float:
    """Look up every subject of an order, in the index or in its image."""
    index = trie(size) if of == "trie" else image_of(size)
    return a_call(index.match, subjects(size, order))


@functools.cache
def image_of(size: int) -> Any:
    """Open the image of an index, with a list of values."""
    return SubjectTrie.from_bytes(trie(size).to_bytes(), list(range(size)))


@functools.cache
def one_pattern(count: int) -> Any:
    """Build an index of one pattern with so many subscriptions."""
    made = SubjectTrie()
    made.update(patterns=["orders.*.new"] * count, values=[None] * count)
    return made


def shared(count: int, form: str) -> float:
    """Add to a pattern with so many subscriptions, or remove from it; nanoseconds a change."""
    index = one_pattern(count)
    before = perf_counter_ns()
    added = [index.add("orders.*.new", None) for _ in range(PORTION)]
    between = perf_counter_ns()
    for each in added:
        index.remove(each)
    took = between - before if form == "add" else perf_counter_ns() - between
    return took / PORTION


def split(size: int, order: str) -> float:
    """Split every subject, which looks nothing up."""

    def loop(portion: list[str]) -> None:
        for text in portion:
            text.split(".")

    return a_text(loop, subjects(size, order))


def empty(size: int, order: str) -> float:
    """Call a native function that returns a stored tuple."""
    return a_call(subtrie._subtrie._empty_call, subjects(size, order))


def package() -> str:
    """Return the folder of the measured package."""
    return str(Path(subtrie.__file__).resolve().parent)


@functools.cache
def cached(size: int, most: int | None) -> Any:
    """Build the cache over a dictionary trie."""
    made = DictionaryTrie()
    for number, pattern in enumerate(lines(size, "patterns")):
        made.add(pattern, number)
    return functools.lru_cache(maxsize=most)(made.match)


def cache(size: int, order: str, most: int | None) -> float:
    """Look up every subject of an order in a cache over a dictionary trie."""
    return a_call(cached(size, most), subjects(size, order))


def growth(size: int, most: int | None) -> dict[str, Any]:
    """Return the bytes by which a cache grows while it meets the Zipf order, and its entries."""
    call = cached(size, most)
    call.cache_clear()
    texts = subjects(size, "zipf")
    before = resident()
    for text in texts:
        call(fresh(text))
    return {"cache_bytes": resident() - before, "entries": call.cache_info().currsize}


def resident() -> int:
    """Return the resident size of this process in bytes."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def answers(size: int, order: str, whose: str = "trie") -> dict[str, Any]:
    """Return the checksum of the answers to the first subjects of an order."""
    texts = lines(size, order)[:COMPARED]
    if whose == "batch":
        found = trie(size).match_batch(pyarrow.array(texts))
        offsets, ids = found.offsets, found.ids
        return checksum(ids[start:end] for start, end in pairwise(offsets))
    match = trie(size).match if whose == "trie" else cached(size, int(whose) or None)
    return checksum(match(text) for text in texts)


@functools.cache
def column(size: int, order: str) -> Any:
    """Return a column of subjects."""
    texts = lines(size, order)
    return pyarrow.array(texts * (COLUMN // len(texts)), pyarrow.string())


def batch(size: int, order: str) -> float:
    """Look up a column on one core; nanoseconds a subject."""
    given, index = column(size, order), trie(size)
    before = perf_counter_ns()
    found = index.match_batch(given, threads=1)
    took = perf_counter_ns() - before
    del found
    return took / COLUMN


def load(size: int, form: str) -> float:
    """Load an empty index; nanoseconds a subscription. The handles are kept meanwhile."""
    texts = lines(size, "patterns")
    made = SubjectTrie()
    given: dict[str, Any] | Iterable[Any]
    if form == "rows":
        given = list(zip(texts, range(size), strict=True))
    else:
        patterns = pyarrow.array(texts) if form == "Arrow" else texts
        given = {"patterns": patterns, "values": list(range(size))}
    gc.collect()
    before = perf_counter_ns()
    handles = made.update(**given) if isinstance(given, dict) else made.update(given)
    took = perf_counter_ns() - before
    assert len(handles) == len(made) == size
    return took / size


def codec(case: str, number: int) -> float:
    """Call a function of the codec with texts that no round has had; nanoseconds a call."""
    make, call = CASES[case]
    given = [make(at) for at in range(number * PORTION, (number + 1) * PORTION)]
    before = perf_counter_ns()
    for each in given:
        call(each)
    return (perf_counter_ns() - before) / PORTION


@functools.cache
def image(size: int) -> bytes:
    """Return the image of a size."""
    made = SubjectTrie()
    made.update(zip(lines(size, "patterns"), range(size), strict=True))
    return made.to_bytes()


def opened(size: int, then: str) -> float:
    """Open an image, or time what comes first after that; nanoseconds."""
    content, pattern = image(size), lines(size, "added")[0]
    subject = lines(size, "uniform")[0]
    later: dict[str, Callable[[Any], Any]] = {
        "match": lambda index: index.match(subject),
        "add": lambda index: index.add(pattern, 1),
        "matching": lambda index: index.matching(subject),
        "covered_by": lambda index: index.covered_by(pattern),
        "explain": lambda index: index.explain("microbus.safe.443.web.nowhere.at.all"),
    }
    took = float("inf")
    # Opening alone is so short that its first time is that of loading its code into the cache.
    for _ in range(100 if then == "unverified" else 1):
        started = perf_counter_ns()
        index = SubjectTrie.from_bytes(content, verify=then != "unverified")
        if then in later:
            started = perf_counter_ns()
            later[then](index)
        took = min(took, perf_counter_ns() - started)
    assert len(index) == size + (then == "add")
    return took


def mapped(size: int) -> float:
    """Open and verify an image from a memory map of a file; nanoseconds."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(image(size))
        file.flush()
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        before = perf_counter_ns()
        index = SubjectTrie.from_bytes(content)
        took = perf_counter_ns() - before
        assert len(index) == size
    return float(took)


def forget() -> None:
    """Free all indexes and caches of this process."""
    for kept in (trie, cached, column, image, image_of, one_pattern, subjects):
        kept.cache_clear()
    trie.handles.clear()  # type: ignore[attr-defined]
    gc.collect()


COMMANDS = (
    *(package, lookup, shared, split, empty, cache, growth, answers),
    *(batch, load, codec, opened, mapped, forget),
)
DO: dict[str, Callable[..., Any]] = {call.__name__: call for call in COMMANDS}


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(DO[asked.pop("do")](**asked)), flush=True)


if __name__ == "__main__":
    main()
