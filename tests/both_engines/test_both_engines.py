"""``SUBTRIE_ENGINE=both`` gives the answers of one engine, and raises where they differ."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import warnings

import pytest

import cross_engine
import subtrie.reference
from engines import use_engine
from subtrie import microbus
from subtrie._core import both_engines as both
from subtrie._core import engine


@pytest.fixture
def in_use(monkeypatch):
    use_engine(both, monkeypatch)


@pytest.mark.requirement("M-09")
def test_its_answers_are_those_of_the_native_engine(monkeypatch, in_use):
    monkeypatch.setattr(cross_engine, "REFERENCE", both)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases, differences = cross_engine.run(3000, seed=20_261_122)
    assert cases >= 3000
    assert not differences, "\n".join(map(str, differences[:5]))


#: A wrong engine: the name of what is broken, what it does, and a call that shows it.
BROKEN = {
    "covers": (lambda *_: True, lambda: both._function("covers")("a", "b")),
    "check_subject": (lambda *_, **__: None, lambda: both._function("check_subject")("a..b")),
    "decode": (lambda *_: None, lambda: both._function("decode")("p.reply._.a_b.c_d.id-1")),
    "SubjectTrie.match": (lambda *_: (), lambda: _filled().match("a.b")),
    "SubjectTrie.select": (lambda *_: (9,), lambda: _filled().select("a.b")),
    "SubjectTrie.remove": (lambda *_: False, lambda: _removed()),
    "SubjectTrie.explain": (lambda *_, **__: "", lambda: _filled().explain("z")),
    "Parser.feed": (lambda *_: [], lambda: both.Parser("client").feed(b"PING\r\n")),
}


def _filled():
    trie = both.SubjectTrie()
    trie.update([("a.*", 1), ("a.b", 2, "q"), ("a.>", 3, "q")])
    return trie


def _removed():
    trie = both.SubjectTrie()
    trie.remove(trie.add("a", 1))


@pytest.mark.parametrize("name", BROKEN)
def test_a_wrong_engine_is_an_error(monkeypatch, name):
    wrong, call = BROKEN[name]
    call_is_right = {"check_subject"}
    if name not in call_is_right:
        call()
    holder, _, attribute = name.rpartition(".")
    where = getattr(subtrie.reference, holder) if holder else subtrie.reference
    monkeypatch.setattr(where, attribute, wrong)
    with pytest.raises(AssertionError, match="the engines differ in") as caught:
        call()
    assert type(caught.value).__name__ == "EngineDifference"


def test_operations_before_an_error_are_compared(monkeypatch):
    feed = subtrie.reference.Parser.feed

    def forgetful(self, data):
        try:
            return feed(self, data)
        except subtrie.WireError as error:
            error.operations = []
            raise

    monkeypatch.setattr(subtrie.reference.Parser, "feed", forgetful)
    with pytest.raises(both.EngineDifference, match="precedes the error"):
        both.Parser("client").feed(b"PING\r\nPUB a x\r\n")


def test_subscriptions_live_through_copies_and_pickles(in_use):
    trie = _filled()
    first = next(iter(trie))
    copied = trie.copy()
    assert copied.remove(first)
    assert not copied.remove(first)
    again, handle = pickle.loads(pickle.dumps((trie, first)))
    assert handle in again
    assert again.remove(handle)
    assert copy.deepcopy(trie).match("a.b") == (1, 2, 3)
    assert first in trie
    assert not trie.remove(both.SubjectTrie().add("a", 1))
    trie.clear()
    assert (len(trie), first in trie, list(trie)) == (0, False, [])


def test_iterators_are_used_once(in_use):
    trie = both.SubjectTrie()
    trie.update(row for row in [("a.*", 1), ("a.b", 2)])
    assert len(trie) == 2
    rows = trie.match_batch(iter(["a.b", "z"]))
    assert (rows.values(0), rows.values(1)) == ((1, 2), ())
    image = both.SubjectTrie.from_bytes(trie.to_bytes())
    assert image.count("a.b") == 2


def test_the_whole_library_runs_on_both():
    code = (
        "import subtrie; from subtrie import Pattern, Dispatcher, microbus\n"
        "print(subtrie.engine().name, Pattern('a.*').overlaps('*.b'))\n"
        "calls = []; bus = Dispatcher()\n"
        "bus.subscribe('a.*', calls.append)\n"
        "bus.dispatch('a.b', 'a.b'); print(calls)\n"
        "print(microbus.decode('p.safe.443.c_d.a_b._.GET.x').source)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "SUBTRIE_ENGINE": "both"},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["both a.b", "['a.b']", "c.d"], done.stderr


def test_every_name_of_an_engine_is_there():
    assert [name for name in engine.module.__all__ if not hasattr(both, name)] == []
    assert microbus.decode("p.reply._.a_b.c_d.id-1") == both.decode("p.reply._.a_b.c_d.id-1")
