"""The handle of a subscription: immutable, the same object each time, the same in both engines."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest

import subtrie
from subtrie import Pattern


def test_the_class_of_the_engine_in_use_is_public(engine_in_use):
    assert isinstance(engine_in_use.SubjectTrie().add("a", 1), engine_in_use.Subscription)
    assert subtrie.Subscription in (
        subtrie.reference.Subscription,
        subtrie._core.engine.module.Subscription,
    )


@pytest.mark.parametrize("name", ["id", "pattern", "queue", "value", "new", "__class__"])
def test_it_is_immutable(trie, name):
    handle = trie.add("a.*", 1, queue="q")
    with pytest.raises(AttributeError, match=f"a subscription is immutable: '{name}' cannot be s"):
        setattr(handle, name, 1)
    with pytest.raises(AttributeError, match=f"a subscription is immutable: '{name}' cannot be d"):
        delattr(handle, name)
    assert not hasattr(handle, "__dict__")
    assert (handle.id, handle.pattern, handle.queue, handle.value) == (0, "a.*", "q", 1)


@pytest.mark.parametrize("arguments", [(), ("a",), ("a", 1, None, 0)])
def test_it_is_created_by_an_index_only(engine, arguments):
    with pytest.raises(TypeError):
        engine.Subscription(*arguments)


def test_it_equals_itself_only(trie):
    first, second = trie.add("a", 1), trie.add("a", 1)
    assert first == first
    assert first != second
    assert len({first, second, first}) == 2
    assert hash(first) == hash(trie.subscriptions("a")[0])


@pytest.mark.parametrize("text", ["a.*", Pattern("a.*"), type("Text", (str,), {})("a.*")])
def test_its_pattern_is_one_pattern_of_the_dialect_of_the_index(engine, text):
    trie = engine.SubjectTrie(dialect="server")
    handle = trie.add(text, 1, queue=type("Name", (str,), {})("q"))
    assert type(handle.pattern) is Pattern
    assert handle.pattern is handle.pattern
    assert (handle.pattern, handle.pattern.dialect) == ("a.*", "server")
    assert type(handle.queue) is str


@pytest.mark.parametrize("how", ["add", "rows", "columns", "pickle", "copy", "image"])
def test_it_is_the_same_object_each_time(engine_in_use, how):
    trie = engine_in_use.SubjectTrie()
    rows = [("a.*", 1, "q"), ("a.b", 2, None), ("a.b", 3, None)]
    made = []
    if how == "add":
        made = [trie.add(pattern, value, queue=queue) for pattern, value, queue in rows]
    elif how == "rows":
        made = trie.update(rows)
    else:
        patterns, values, queues = zip(*rows, strict=True)
        columns = trie.update(patterns=patterns, values=values, queues=queues)
    if how == "pickle":
        trie = pickle.loads(pickle.dumps(trie))
    elif how == "copy":
        trie = trie.copy()
    elif how == "image":
        trie = engine_in_use.SubjectTrie.from_bytes(trie.to_bytes(), [1, 2, 3])
    elif how == "columns":
        made = list(columns)
    handles = list(trie)
    assert all(one is other for one, other in zip(made, handles, strict=bool(made)))
    assert trie.subscriptions("a.b") == tuple(handles)
    assert trie.matching("a.>") == trie.explain("a.b").matches == tuple(handles)
    assert [(h.id, h.pattern, h.value, h.queue) for h in handles] == [
        (number, *row) for number, row in enumerate(rows)
    ]
    assert all(handle in trie for handle in handles)
    assert all(trie.remove(handle) for handle in handles)


def test_a_copy_has_the_same_handles(trie):
    columns = trie.update(patterns=["a", "b", "c"], values=[1, 2, 3])
    before = columns[0]
    twin = trie.copy()
    assert before in twin
    assert all(handle in twin for handle in trie)
    assert list(twin) == list(trie) == list(columns)
    added = trie.add("d", 4)
    assert twin.add("e", 5) not in trie
    assert added not in twin
    assert twin.remove(columns[1])
    assert columns[1] in trie
    third = twin.copy()
    assert list(third) == list(twin)


def test_copies_made_between_loads_have_the_same_handles(trie):
    twins = []
    for start in (0, 2, 4):
        trie.update(patterns=["a", "b"], values=[start, start + 1])
        twins.append(trie.copy())
    handles = list(trie)
    for count, twin in zip((2, 4, 6), twins, strict=True):
        assert len(twin) == count
        assert all(one is other for one, other in zip(twin, handles, strict=False))


def test_a_handle_is_found_by_a_copy_made_before_it(trie):
    columns = trie.update(patterns=["a", "b"], values=[1, 2])
    twin = trie.copy()
    (of_twin,) = twin.subscriptions("b")
    assert of_twin is columns[1]
    assert trie.remove(of_twin)
    assert of_twin in twin
    del of_twin
    assert twin.remove(next(iter(twin)))
    assert columns[0] not in twin


def test_it_can_be_watched(trie):
    handle = trie.add("a", 1)
    watch = weakref.ref(handle)
    assert watch() is handle
    del handle
    assert watch() in trie
    trie.clear()
    assert watch() is None


def test_its_text_ends(trie):
    value = [None]
    value[0] = handle = trie.add("a", value)
    assert repr(handle) == "Subscription(id=0, pattern='a', value=[...])"
    assert repr(trie.add("b.*", "v" * 99, queue="q")).startswith(
        "Subscription(id=1, pattern='b.*', queue='q', value='vvv"
    )


def test_a_blank_one(engine):
    blank = engine.blank_subscription()
    assert repr(blank) == "<Subscription being unpickled>"
    trie = engine.SubjectTrie()
    assert blank not in trie
    assert not trie.remove(blank)
    for name in ("id", "pattern", "queue", "value"):
        with pytest.raises(AttributeError):
            getattr(blank, name)
    blank.__setstate__((Pattern("a.*"), [1], "q", 7))
    assert (blank.id, blank.pattern, blank.value, blank.queue) == (7, "a.*", [1], "q")
    with pytest.raises(AttributeError, match="a subscription is immutable"):
        blank.__setstate__((Pattern("b"), [1], "q", 8))


@pytest.mark.parametrize(
    "state",
    [None, (), ("a", 1, None, 0), (Pattern("a"), 1, 2, 0), (Pattern("a"), 1, None, -1),
     (Pattern("a"), 1, None, 2**64), (Pattern("a"), 1, None, "0"), (Pattern("a"), 1, None)],
)  # fmt: skip
def test_a_forged_state_is_refused(engine, state):
    blank = engine.blank_subscription()
    with pytest.raises(ValueError, match="not the state of a Subscription"):
        blank.__setstate__(state)
    assert not hasattr(blank, "id")


def test_copies_of_it(trie):
    handle = trie.add("a.*", [1], queue="q")
    for twin in (copy.copy(handle), copy.deepcopy(handle), pickle.loads(pickle.dumps(handle))):
        assert twin != handle
        assert twin not in trie
        assert (twin.id, twin.pattern, twin.value, twin.queue) == (0, "a.*", [1], "q")
    assert copy.deepcopy(handle).value is not handle.value
    assert type(copy.deepcopy(handle)) is type(handle)


def test_neither_a_copy_nor_a_pickle_makes_handles():
    """Counted in the native engine; the reference makes its handles when it inserts."""
    import subtrie._subtrie

    def count():
        gc.collect()
        kind = subtrie._subtrie.Subscription
        return sum(type(each) is kind for each in gc.get_objects())

    before = count()
    trie = subtrie._subtrie.SubjectTrie()
    columns = trie.update(patterns=[f"a.{n}" for n in range(50)], values=range(50))
    twin = trie.copy()
    assert [row[0] for row in trie.__reduce__()[2][1]] == [None] * 50
    back = pickle.loads(pickle.dumps(twin))
    image = subtrie._subtrie.SubjectTrie.from_bytes(trie.to_bytes(), range(50))
    assert image.select("a.7") == trie.match("a.7") == back.match("a.7") == (7,)
    assert count() == before
    assert columns[7] in twin
    assert count() == before + 1


def test_handles_within_handles_are_freed_without_exhausting_the_stack(engine):
    inner = None
    for _ in range(100_000):
        inner = engine.SubjectTrie().add("a", inner)
    watch = weakref.ref(inner)
    del inner
    assert watch() is None
