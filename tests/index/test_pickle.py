"""Pickles: subscriptions and indexes, whole, in either engine, with values that lead back."""

from __future__ import annotations

import copy
import pickle

import pytest

import subtrie
from engines import ENGINES, use_engine

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


class Service:
    """A value that knows the index it is in."""

    def __init__(self, trie):
        self.trie = trie
        self.subscription = trie.add("a.*", self, queue="q")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pickled_index_is_restored_completely(engine, trie, protocol):
    handles = trie.update([("a.>", 0, "q"), ("a", 1), ("*.b", 2, "q")])
    trie.remove(handles[1])
    trie.select("a.b")
    back = pickle.loads(pickle.dumps(trie, protocol))
    assert type(back) is subtrie.SubjectTrie
    assert [(s.id, s.pattern, s.value, s.queue) for s in back] == [
        (0, "a.>", 0, "q"), (2, "*.b", 2, "q")]  # fmt: skip
    assert back.select("a.b") == (2,)  # the turn came along
    assert back.add("x", 1).id == 3
    assert type(next(iter(back)).pattern) is subtrie.Pattern
    assert not any(handle in back for handle in handles)


@pytest.mark.parametrize("options", [
    {"dialect": "server"}, {"max_tokens": 3}, {"max_length": 9, "dialect": "server"}])  # fmt: skip
def test_options_are_restored(engine, options):
    trie = engine.SubjectTrie(**options)
    back = pickle.loads(pickle.dumps(trie))
    for name in ("dialect", "max_tokens", "max_length"):
        assert getattr(back, name) == getattr(trie, name)


def test_both_engines_write_the_same_form():
    forms = []
    for engine in ENGINES.values():
        trie = engine.SubjectTrie(dialect="server", max_tokens=7)
        handles = [trie.add("a.é", ["value"], queue="q"), trie.add("b", None)]
        made, arguments, (following, rows) = trie.__reduce__()
        assert [row[0] for row in rows] == handles
        assert type(rows) is tuple
        assert all(type(part) is str for row in rows for part in (row[1], row[3]) if part)
        forms.append((made, arguments, following, [row[1:] for row in rows]))
    assert forms[0] == forms[1]


@pytest.mark.parametrize("name", ["native", "reference"])
def test_a_pickle_loads_in_the_engine_in_use(trie, name, monkeypatch):
    handle = trie.add("a.*", "v")
    data = pickle.dumps((trie, handle))
    use_engine(ENGINES[name], monkeypatch)
    back, again = pickle.loads(data)
    assert type(back) is ENGINES[name].SubjectTrie
    assert again in back
    assert back.match("a.b") == ("v",)


@pytest.mark.parametrize("first", ["trie", "subscription", "value"])
def test_values_may_refer_to_the_index(trie, first):
    service = Service(trie)
    things = {"trie": trie, "subscription": service.subscription, "value": service}
    order = [first, *(name for name in things if name != first)]
    back = dict(zip(order, pickle.loads(pickle.dumps([things[n] for n in order])), strict=True))
    assert back["value"].trie is back["trie"]
    assert back["value"].subscription is back["subscription"]
    assert back["subscription"] in back["trie"]
    assert back["subscription"].value is back["value"]
    assert back["trie"].match("a.b") == (back["value"],)


def test_deepcopy_keeps_the_engine_and_the_shape(trie):
    service = Service(trie)
    twin = copy.deepcopy(trie)
    assert type(twin) is type(trie)
    (again,) = twin.match("a.b")
    assert again is not service
    assert again.trie is twin
    assert again.subscription in twin


def test_a_subscription_is_pickled_without_its_index(trie):
    handle = trie.add("a.*", [1], queue="q")
    back = pickle.loads(pickle.dumps(handle))
    assert back != handle
    assert (back.id, back.pattern, back.value, back.queue) == (0, "a.*", [1], "q")
    with pytest.raises(AttributeError):
        back.__setstate__(("b", 1, None, 3))


def test_answers_can_be_pickled(trie):
    trie.add("a", 1, queue="q")
    trie.add("a.b.c", 2)
    groups, why = trie.groups("a"), trie.explain("a.b")
    assert pickle.loads(pickle.dumps(groups)) == groups
    back = pickle.loads(pickle.dumps(why))
    assert str(back) == str(why)
    assert back.differs_at == why.differs_at == 2


@pytest.mark.parametrize(
    "change",
    [
        ("pattern", "a..b"),
        ("queue", ""),
        ("id", 5),
        ("id", -1),
        ("turn", -1),
        ("twice", 0),
        ("handle", 0),
    ],
)
def test_an_invalid_state_is_refused(trie, change):
    handle = trie.add("a", 1)
    names = ["handle", "pattern", "value", "queue", "id", "turn"]
    good = dict(zip(names, (handle, "a", 1, None, 0, 0), strict=True))
    name, value = change
    bad = [good | {name: value}] if name in good else [good, good]
    state = (1, tuple(tuple(row[n] for n in names) for row in bad))
    with pytest.raises((ValueError, OverflowError)):
        trie.__setstate__(state)
    assert list(trie) == [handle]


def test_texts_beyond_the_limits_of_the_dialect_are_unpickled(engine_in_use):
    """Bug: an index with bounds of its own could be pickled and not read again."""
    trie = engine_in_use.SubjectTrie(max_tokens=1000, max_length=10_000)
    deep = trie.add(".".join("a" * 100), 1)
    long = trie.add("b" * 3000, 2)
    for back in (pickle.loads(pickle.dumps(trie)), copy.deepcopy(trie)):
        assert [each.pattern for each in back] == [deep.pattern, long.pattern]
    assert pickle.loads(pickle.dumps(trie.explain("b" * 3000))).subject == "b" * 3000


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_witness_is_unpickled(engine_in_use, protocol):
    """Bug: the witness of a strict and a server pattern was called strict, and was not."""
    any_one, literal = subtrie.Pattern("*"), subtrie.Pattern("foo*", dialect="server")
    for witness in (any_one.overlaps(literal), literal.overlaps(any_one)):
        back = pickle.loads(pickle.dumps(witness, protocol))
        assert (type(back), back, back.dialect) == (subtrie.Subject, "foo*", "server")
    left = subtrie.Pattern(".".join(["a" * 500, "*", "b" * 500, ">"]))
    long = left.overlaps(".".join(["*", "c" * 500, ">"]))
    assert len(long) > 1024
    assert pickle.loads(pickle.dumps(long, protocol)) == copy.copy(long) == long


def test_a_forged_text_is_not_unpickled(engine_in_use):
    form = pickle.dumps(subtrie.Subject("some.text"), 0)
    with pytest.raises(subtrie.SubjectError):
        pickle.loads(form.replace(b"some.text", b"some.>xxx"))
    form = pickle.dumps(subtrie.Pattern("some.text"), 0)
    with pytest.raises(subtrie.PatternError):
        pickle.loads(form.replace(b"some.text", b"some..txt"))
