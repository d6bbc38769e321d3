"""The garbage collector sees all values of an index, and values are dropped without a lock."""

from __future__ import annotations

import gc
import weakref
from collections import Counter

import pytest

from engines import ENGINES

pytestmark = pytest.mark.usefixtures("few_objects")


class Value:
    """Something that can be watched, and that can point back."""


@pytest.mark.parametrize("how", ["value", "attribute", "bound method", "subscription"])
def test_cycles_are_collected(engine, how):
    trie = engine.SubjectTrie()
    value = Value()
    watch = weakref.ref(value)
    trie.add("a", value)
    if how == "value":
        trie.add("b", trie)
        value.me = value
    elif how == "attribute":
        value.trie = trie
    elif how == "bound method":
        value.call = trie.match
    else:
        value.subscription = next(iter(trie))
        value.trie = trie
    watch_trie = weakref.ref(trie)
    del trie, value
    gc.collect()
    assert watch() is None
    assert watch_trie() is None


@pytest.mark.parametrize("how", ["values", "result"])
def test_cycles_through_the_values_of_an_opened_index_are_collected(engine, how):
    written = engine.SubjectTrie()
    written.add("a", None)
    values = {0: Value()}
    watch = weakref.ref(values[0])
    trie = engine.SubjectTrie.from_bytes(written.to_bytes(), values)
    if how == "values":
        values[0].trie = trie
    else:
        values[0].found = trie.match_batch(["a"])
        trie.clear()
    del trie, values
    gc.collect()
    assert watch() is None


def test_a_receiver_that_refers_to_its_reader_is_collected(engine):
    reader, receiver, tag = engine.DeliveryReader(), Value(), Value()
    watches = weakref.ref(receiver), weakref.ref(tag)
    reader.acknowledge(7, "p", "a.example", (b"", b""), (b"", b""), receiver, tag)
    receiver.reader = tag.reader = reader
    gc.collect()
    reader.forget(8)
    assert None not in (watches[0](), watches[1]())
    del reader, receiver, tag
    gc.collect()
    assert [watch() for watch in watches] == [None, None]


def test_each_object_is_reported_to_the_collector_once():
    import subtrie._subtrie

    trie = subtrie._subtrie.SubjectTrie()
    values = [Value() for _ in range(9)]
    handles = [trie.add(f"a.{n}", value) for n, value in enumerate(values)]

    def seen():
        """Count the handles, and the values by the tuples that hold them."""
        referents = gc.get_referents(trie)
        singles = [each for each in referents if type(each) is tuple]
        assert len(singles) == len(set(map(id, singles)))
        return Counter(map(id, [*referents, *(value for (value,) in singles)]))

    assert all(seen()[id(thing)] == 1 for thing in [*values, *handles])
    assert all(values[n] in gc.get_referents(*gc.get_referents(handles[n])) for n in range(9))
    trie.remove(handles[0])
    assert seen()[id(values[0])] == seen()[id(handles[0])] == 0
    trie.clear()
    assert not any(id(thing) in seen() for thing in [*values, *handles])


@pytest.mark.parametrize("drop", ["remove", "clear", "setstate", "forget"])
def test_values_are_freed_when_they_are_removed(engine, drop):
    trie = engine.SubjectTrie()
    value = Value()
    watch = weakref.ref(value)
    handle = trie.add("a", value)
    del value
    assert watch() is not None
    if drop == "remove":
        trie.remove(handle)
    elif drop == "clear":
        trie.clear()
    elif drop == "setstate":
        trie.__setstate__((5, ()))
    else:
        del trie
    del handle
    gc.collect()
    assert watch() is None


def test_the_values_of_an_opened_index_are_freed_when_it_is_cleared(engine):
    class Values(dict):
        """A mapping to which a weak reference can be made."""

    trie = engine.SubjectTrie()
    trie.add("a", 1)
    values = Values({0: "v"})
    watch = weakref.ref(values)
    opened = engine.SubjectTrie.from_bytes(trie.to_bytes(), values)
    assert opened.match("a") == ("v",)
    del values
    gc.collect()
    assert watch() is not None
    opened.clear()
    gc.collect()
    assert watch() is None


@pytest.mark.parametrize("drop", ["remove", "clear"])
def test_a_value_is_kept_as_long_as_a_result_may_ask_for_it(engine, drop):
    trie = engine.SubjectTrie()
    watches, results = [], [trie.match_batch(["a"])]
    for _ in range(3):
        value = Value()
        trie.add("a", value)
        watches.append(weakref.ref(value))
        results.append(trie.match_batch(["a"]))
        results.append(trie.match_batch(["a"]))
    newest = Value()
    trie.add("a", newest)
    watches.append(weakref.ref(newest))
    del value, newest
    if drop == "clear":
        trie.clear()
    else:
        for handle in list(trie):
            trie.remove(handle)
        del handle
    gc.collect()

    def alive():
        return sum(watch() is not None for watch in watches)

    assert alive() == 3, "no result asks for the last value"
    while results:
        count = len(results) // 2
        values = results[-1].values(0)
        assert values == tuple(watch() for watch in watches[:count])
        assert len(set(map(id, values))) == len(values)
        del values
        results.pop()
        gc.collect()
        assert alive() == len(results) // 2
    assert trie.match_batch(["a"]).values(0) == ()


def test_a_handle_is_the_same_in_an_index_and_its_copies(engine):
    trie = engine.SubjectTrie()
    trie.update(patterns=["a", "b", "c"], values=[1, 2, 3])
    copy = trie.copy()
    again = copy.copy()
    for index in [copy, trie, again]:
        assert [each.id for each in index] == [0, 1, 2]
    assert all(a is b is c for a, b, c in zip(trie, copy, again, strict=True))
    assert again.remove(next(iter(trie)))
    assert [each.id for each in copy.subscriptions("a")] == [0]


@pytest.mark.parametrize("drop", ["remove", "clear", "setstate"])
def test_a_value_may_use_the_index_while_it_is_freed(trie, drop):
    seen = []

    class Last:
        def __del__(self):
            seen.append(trie.match("b"))
            trie.add("from.the.grave", 1)
            trie.clear()
            trie.add("after", 2)

    trie.add("b", 0)
    handle = trie.add("a", Last())
    if drop == "remove":
        assert trie.remove(handle)
        del handle
    elif drop == "clear":
        del handle
        trie.clear()
    else:
        del handle
        trie.__setstate__((5, ()))
    gc.collect()
    assert len(seen) == 1
    assert trie.match("after") == (2,)


def test_a_collection_may_run_anywhere(trie):
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for n in range(300):
            value = Value()
            value.trie, value.me = trie, value
            handle = trie.add("a.*", value)
            trie.groups("a.b"), trie.explain("b"), trie.copy(), list(trie), trie.match("a.b")
            assert trie.remove(handle)
            assert len(trie) == 0, n
    finally:
        gc.set_threshold(*before)


def test_values_are_never_hashed_nor_compared(trie):
    class Shy:
        __hash__ = None

        def __eq__(self, other):
            raise AssertionError("compared")

        def __bool__(self):
            raise AssertionError("judged")

        def __repr__(self):
            raise AssertionError("shown")

    shy = Shy()
    handle = trie.add("a.*", shy, queue="q")
    for ask in (trie.match, trie.select):
        (found,) = ask("a.b")
        assert found is shy
    assert trie.groups("a.b").queues["q"][0] is shy
    assert (str(trie), repr(trie), str(trie.explain("a.b"))) != ("", "", "")
    assert handle in trie
    assert trie.remove(handle)


def test_nested_indexes_are_freed_without_exhausting_the_stack(engine):
    inner = None
    for _ in range(100_000):
        trie = engine.SubjectTrie()
        trie.add("a", inner)
        inner = trie
    watch = weakref.ref(inner)
    del trie, inner
    assert watch() is None


def _references() -> int:
    return sum(type(each) is weakref.ref for each in gc.get_objects())


def test_an_index_forgets_the_handles_that_its_copies_made_and_dropped():
    trie = ENGINES["native"].SubjectTrie()
    rows = [f"p{number % 20}.x{number}" for number in range(20_000)]
    trie.update(patterns=rows, values=range(20_000))
    copy = trie.copy()
    before = _references()
    for part in range(20):
        again = copy.copy()
        assert len(again.matching(f"p{part}.>")) == 1_000
        del again
    assert _references() - before < 4_000
    kept = copy.matching("p7.>")
    assert trie.matching("p7.>") == kept
