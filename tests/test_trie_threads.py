"""Several threads add, remove and match at once; a fork in the middle harms neither side."""

from __future__ import annotations

import os
import sys
import threading

import pytest


@pytest.fixture(autouse=True)
def _switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run(*jobs):
    failures = []

    def guarded(job):
        try:
            job()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
        assert not thread.is_alive(), "a thread hangs"
    if failures:
        raise failures[0]


def test_writers_and_readers_at_once(trie):
    fixed = [trie.add(p, p) for p in ("s.>", "s.*.x", "s.a.x")]
    done = threading.Event()
    changed = []

    def writer(name):
        def work():
            for n in range(150):
                mine = [
                    trie.add(f"s.{name}.{t}", name, queue=t.strip("*") or None)
                    for t in ("x", "*", "y")
                ]
                mine += trie.update([(f"s.{name}.x.{n}", n), (f"*.{name}.x", name)])
                assert all(handle in trie for handle in mine)
                # s.>, s.*.x and three of its own; the first writer's token is also a fixed one's.
                assert trie.count(f"s.{name}.x") == (6 if name == "a" else 5)
                for handle in mine:
                    assert trie.remove(handle)
                    assert handle not in trie
                changed.append(len(mine))

        return work

    def reader():
        while not done.is_set():
            found = trie.match("s.a.x")
            assert set(found) >= {"s.>", "s.*.x", "s.a.x"}
            ids = [s.id for s in trie.subscriptions("s.a.x")]
            assert ids == sorted(set(ids))
            assert ids[:3] == [0, 1, 2]
            for handle in trie:
                assert handle.pattern
            assert trie.matching("s.a.*")
            assert trie.covered_by("s.>")
            assert not trie.explain("q.q").matches
            assert trie.groups("s.a.x").plain[:3] == ("s.>", "s.*.x", "s.a.x")
            trie.select("s.b.x"), str(trie), trie.stats(), trie.copy()

    def writers():
        try:
            run(writer("a"), writer("b"))
        finally:
            done.set()

    run(writers, reader, reader)
    assert sum(changed) == 2 * 150 * 5
    assert list(trie) == fixed
    assert trie.stats().patterns == 3


def test_ids_are_given_once(trie):
    made = [[] for _ in range(4)]
    run(*(lambda mine=mine: mine.extend(trie.add("a", 0) for _ in range(500)) for mine in made))
    assert sorted(s.id for mine in made for s in mine) == list(range(2000))
    assert [s.id for s in trie] == sorted(s.id for s in trie)
    assert trie.count("a") == 2000


@pytest.mark.requirement("A19")
def test_turns_are_fair_between_threads(engine, trie):
    members = [trie.add("a", n, queue="q") for n in range(4)]
    served = [[] for _ in range(4)]
    run(
        *(lambda mine=mine: mine.extend(trie.select("a")[0] for _ in range(500)) for mine in served)
    )
    counts = [sum(mine.count(n) for mine in served) for n in range(4)]
    assert sum(counts) == 2000
    assert len(members) == 4
    # The native counter is atomic; the reference's may lose a turn between threads.
    assert max(counts) - min(counts) <= (0 if engine.__name__.endswith("_subtrie") else 600)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_fork_amid_writers(trie):
    trie.add("a.>", "old")
    done = threading.Event()

    def churn():
        while not done.is_set():
            trie.remove(trie.add("a.*.c", "new", queue="q"))

    writers = [threading.Thread(target=churn, daemon=True) for _ in range(3)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                ok = False
                try:
                    trie.add("a.b", "child")
                    found = trie.match("a.b")
                    ok = found == ("old", "child") and len(str(trie)) > 0
                    trie.clear()
                finally:
                    os._exit(0 if ok else 1)
            deadline = threading.Timer(30, os.kill, (child, 9))
            deadline.start()
            _, status = os.waitpid(child, 0)
            deadline.cancel()
            assert os.waitstatus_to_exitcode(status) == 0
            assert "old" in trie.match("a.b")
    finally:
        done.set()
        for writer in writers:
            writer.join(30)
    assert trie.match("a.b") == ("old",)
