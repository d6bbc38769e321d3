"""The values of the result of a batch stay right, whatever happens to the index afterwards."""

from __future__ import annotations

import gc
import itertools
import random
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("few_objects")


class Value:
    """A value that can be watched."""

    def __init__(self, subject: str) -> None:
        self.subject = subject


@pytest.fixture
def _switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run(*jobs: Callable[[], None]) -> None:
    failures: list[BaseException] = []

    def guarded(job):
        try:
            job()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def wrong_rows(found: Any, subjects: list[str]) -> list[str]:
    """Return the subjects whose values a result does not have, or has of another one."""
    wrong = []
    offsets = found.offsets.tolist()
    for row, subject in enumerate(subjects):
        try:
            values = found.values(row)
        except KeyError:
            values = ()
        count = offsets[row + 1] - offsets[row]
        if [value.subject for value in values] != [subject] * count:
            wrong.append(subject)
    return wrong


@pytest.mark.usefixtures("_switch_often")
def test_a_removal_during_clear_does_not_exchange_the_values_of_an_older_result(engine):
    rows, rounds = (3_000, 20) if engine.__name__.endswith("_subtrie") else (200, 3)
    subjects = [f"a.{n}" for n in range(rows)]
    for _ in range(rounds):
        trie = engine.SubjectTrie()
        handles = trie.update([(subject, Value(subject)) for subject in subjects])
        found = trie.match_batch(subjects)
        removing, cleared = threading.Event(), threading.Event()

        def read(trie=trie, cleared=cleared):
            while not cleared.is_set():
                trie.to_bytes()  # without the GIL: changes wait for it

        def remove(some, trie=trie, removing=removing, cleared=cleared):
            for handle in some:
                trie.remove(handle)
                removing.set()
                if cleared.is_set():
                    break

        def clear(trie=trie, removing=removing, cleared=cleared):
            removing.wait()
            trie.clear()
            cleared.set()

        halves = [lambda some=handles[half::2], of=remove: of(some) for half in (0, 1)]
        run(read, read, *halves, clear)
        assert wrong_rows(found, subjects) == []


@pytest.mark.usefixtures("_switch_often")
def test_results_keep_their_values_beside_changes_of_every_kind(engine):
    """Each pattern is added again and again; each value says which pattern it belongs to."""
    native = engine.__name__.endswith("_subtrie")
    subjects = [f"a.{n}" for n in range(1_500 if native else 60)]
    trie, done, wrong = engine.SubjectTrie(), threading.Event(), []

    def batches():
        try:
            old = []
            for turn in range(40 if native else 15):
                found = trie.match_batch(subjects, threads=1 + turn % 2)
                old = [*old[-3:], found]
                wrong.extend(subject for each in old for subject in wrong_rows(each, subjects))
        finally:
            done.set()

    def add_and_remove():
        choose = random.Random(7)
        while not done.is_set():
            some = choose.sample(subjects, 50)
            handles = trie.update([(subject, Value(subject)) for subject in some])
            for handle in choose.sample(handles, 25):
                trie.remove(handle)

    def clear():
        while not done.is_set():
            if len(trie) > len(subjects):
                trie.clear()
            trie.to_bytes()

    run(batches, add_and_remove, clear)
    assert wrong == []


@pytest.mark.parametrize("change", ["clear", "add", "remove", "add and clear"])
def test_a_result_of_an_opened_index_keeps_its_values(engine, change):
    written = engine.SubjectTrie()
    written.update([("a", None), ("b.*", None)])
    trie = engine.SubjectTrie.from_bytes(written.to_bytes(), ["one", "two"])
    found = trie.match_batch(["a", "b.c", "c"])
    if change == "remove":
        for each in trie:
            assert trie.remove(each)
    elif change != "clear":
        trie.add("c", "three")
    if "clear" in change:
        trie.clear()
    trie.add("a", "four")
    assert list(found) == [("one",), ("two",), ()]
    assert trie.match_batch(["a"]).values(0)[-1:] == ("four",)


def test_a_result_holds_nothing_that_was_added_after_it(trie):
    first = Value("a")
    watch = weakref.ref(first)
    handle = trie.add("a", first)
    found = trie.match_batch(["a"])
    assert trie.remove(handle)
    del first, handle
    for drop in (trie.remove, lambda _: trie.clear()):
        later = Value("a")
        watch_later = weakref.ref(later)
        handle = trie.add("a", later)
        del later
        drop(handle)
        del handle
        assert watch_later() is None
    assert found.values(0) == (watch(),)
    del found
    assert watch() is None


def test_results_that_replace_each_other_hold_no_more_than_one_of_them(trie):
    """A program that always has the latest result must not hold all values it ever removed."""
    watches, found = [], None
    for _ in range(20):
        value = Value("a")
        watches.append(weakref.ref(value))
        handle = trie.add("a", value)
        del value
        found = trie.match_batch(["a"])
        trie.remove(handle)
        del handle
        assert found.values(0) == (watches[-1](),)
    assert [watch() is not None for watch in watches] == [False] * 19 + [True]


@pytest.mark.parametrize("seed", range(20))
def test_a_value_lives_as_long_as_a_result_may_ask_for_it(engine, seed):
    """A model: random changes and results, which are dropped in any order."""
    choose = random.Random(seed)
    trie = engine.SubjectTrie()
    subjects = [f"a.{n}" for n in range(5)]
    handles: dict[int, Any] = {}
    watches: dict[int, weakref.ref[Value]] = {}
    removed: dict[int, tuple[int, int]] = {}  # by id: the step, and the next id then
    results: list[tuple[int, int, Any, list[tuple[int, ...]]]] = []
    next_id = 0
    for step in range(150):
        act = choose.choice(["add", "add", "remove", "match", "match", "drop", "drop", "clear"])
        if act == "add":
            subject = choose.choice(subjects)
            value = Value(subject)
            handles[next_id] = trie.add(subject, value)
            watches[next_id] = weakref.ref(value)
            next_id += 1
            del value
        elif act == "remove" and handles:
            number = choose.choice(list(handles))
            assert trie.remove(handles.pop(number))
            removed[number] = (step, next_id)
        elif act == "clear" and choose.random() < 0.2:
            trie.clear()
            removed |= dict.fromkeys(handles, (step, next_id))
            handles.clear()
        elif act == "match":
            found = trie.match_batch(subjects)
            ids, offsets = found.ids.tolist(), found.offsets.tolist()
            rows = [tuple(ids[a:b]) for a, b in itertools.pairwise(offsets)]
            results.append((step, next_id, found, rows))
            del found
        elif act == "drop" and results:
            results.pop(choose.choice([0, -1, choose.randrange(len(results))]))
        for _, _, found, rows in results:
            for row, ids in enumerate(rows):
                assert found.values(row) == tuple([watches[number]() for number in ids])
                assert None not in found.values(row)
            del found
        for number, (when, next_then) in removed.items():
            may_ask = any(
                number < bound and (made < when or bound == next_then)
                for made, bound, _, _ in results
            )
            assert may_ask or watches[number]() is None
    handles.clear()
    results.clear()
    trie.clear()
    gc.collect()
    assert not any(watch() for watch in watches.values())
