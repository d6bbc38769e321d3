"""``update`` with columns: the same index as row by row, all or nothing, handles when asked for."""

from __future__ import annotations

import gc
import random
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie import InvalidName, PatternError

tokens = st.sampled_from(["a", "b", "*", "longer-token"])
texts = st.lists(tokens, min_size=1, max_size=4).map(".".join)
rows = st.lists(st.tuples(texts, st.integers(), st.none() | st.sampled_from(["q", "r"])))


def of_arrow(kind):
    def made(texts):
        pa = pytest.importorskip("pyarrow")
        if kind == "dictionary":
            return pa.array(list(texts), pa.string()).dictionary_encode()
        if kind == "chunked":
            texts = list(texts)
            return pa.chunked_array([texts[:1], texts[1:]], pa.large_string())
        return pa.array(list(texts), getattr(pa, kind)())

    made.__name__ = kind
    return made


FORMS = [
    list,
    tuple,
    iter,
    *map(of_arrow, ["string", "large_string", "string_view", "dictionary", "chunked"]),
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_columns_are_like_rows(trie, form):
    patterns, queues = ["a.*", "b.>", "a.b"], [None, "q", None]
    made = trie.update(
        patterns=form(patterns),
        values=iter("xyz") if form is iter else list("xyz"),
        queues=form(queues),
    )
    assert trie.match("a.b") == ("x", "z")
    assert [(s.id, s.pattern, s.value, s.queue) for s in made] == [
        (0, "a.*", "x", None),
        (1, "b.>", "y", "q"),
        (2, "a.b", "z", None),
    ]
    assert list(trie) == list(made) == [made[0], made[1], made[-1]]
    assert trie.subscriptions("a.b") == (made[0], made[2])
    assert made[0] is made[0]
    assert all(handle in trie for handle in made)
    assert (len(made), made[1:]) == (3, [made[1], made[2]])
    assert "3 subscriptions" in repr(made)
    assert trie.remove(made[2])
    assert made[2].value == "z"
    assert trie.match("a.b") == ("x",)
    assert trie.add("c", 1).id == 3
    for row in (3, -4):
        with pytest.raises(IndexError):
            made[row]


@given(before=rows, columns=rows)
def test_law_columns_equal_rows(before, columns):
    from subtrie import SubjectTrie

    by_rows, by_columns = SubjectTrie(), SubjectTrie()
    for trie in (by_rows, by_columns):
        trie.update(before)
    expected = by_rows.update(columns)
    patterns, values, queues = ([row[part] for row in columns] for part in range(3))
    made = by_columns.update(patterns=patterns, values=values, queues=queues)

    def of(handles):
        return [(s.id, s.pattern, s.value, s.queue, type(s.pattern)) for s in handles]

    assert of(made) == of(expected)
    assert of(by_columns) == of(by_rows)
    assert str(by_columns) == str(by_rows)
    for subject in ("a.b", "a", "longer-token.b.a"):
        assert by_columns.match(subject) == by_rows.match(subject)
        assert by_columns.select(subject) == by_rows.select(subject)


@pytest.mark.parametrize("form", [list, of_arrow("string")], ids=["list", "arrow"])
@pytest.mark.parametrize(
    ("patterns", "queues", "error", "row"),
    [
        (["a", "b..c", "d."], None, PatternError, 1),
        (["a", "b", "d. "], [None, "", None], PatternError, 2),
        (["a", "b", "c"], [None, "x", "y z"], InvalidName, 2),
        (["a", None, "c"], None, TypeError, 1),
    ],
)
def test_a_row_that_is_not_valid(trie, form, patterns, queues, error, row):
    trie.add("x", 0)
    queues = queues and form(queues)
    with pytest.raises(error) as caught:
        trie.update(patterns=form(patterns), values=[1, 2, 3], queues=queues)
    assert caught.value.__notes__ == [f"row {row}"]
    assert len(trie) == 1
    assert trie.add("y", 0).id == 1


def test_bytes_that_are_not_utf8(trie):
    pa = pytest.importorskip("pyarrow")
    for data, reason in ((b"a\xff", "utf8"), (b"a\xed\xa0\x80", "surrogate")):
        with pytest.raises(PatternError) as caught:
            trie.update(patterns=pa.array([b"a", data], pa.binary()), values=[1, 2])
        assert (caught.value.reason, caught.value.position) == (reason, 1)
        assert caught.value.__notes__ == ["row 1"]
    assert len(trie) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "update takes rows"),
        ({"patterns": ["a"]}, TypeError, "update takes rows"),
        ({"rows": [], "patterns": [], "values": []}, TypeError, "update takes rows"),
        ({"patterns": ["a"], "values": []}, ValueError, "values must have as many rows"),
        ({"patterns": ["a"], "values": [1], "queues": []}, ValueError, "queues must have as many"),
        ({"patterns": "a", "values": [1]}, TypeError, "patterns must be a sequence"),
        ({"patterns": ["a"], "values": "v"}, TypeError, "values must be a sequence"),
        ({"patterns": [1], "values": [1]}, TypeError, "pattern must be str, not int"),
        ({"patterns": ["a"], "values": [1], "queues": [1]}, TypeError, "queue must be str"),
    ],
)
def test_arguments_that_do_not_fit(trie, arguments, error, message):
    with pytest.raises(error, match=message):
        trie.update(**arguments)
    assert len(trie) == 0


def test_handles_after_all_is_removed(trie):
    made = trie.update(patterns=["a", "b.*"], values=[1, 2], queues=[None, "q"])
    first = made[0]
    trie.clear()
    assert made[0] is first
    assert (made[1].pattern, made[1].value, made[1].queue, made[1].id) == ("b.*", 2, "q", 1)
    assert made[1] is made[1]
    assert made[1] not in trie
    assert not trie.remove(made[1])


def test_copies_and_pickles_have_the_handles(trie):
    import pickle

    made = trie.update(patterns=["a", "b.*"], values=[1, 2])
    copy = trie.copy()
    assert all(handle in copy for handle in made)
    assert [s.pattern for s in pickle.loads(pickle.dumps(trie))] == ["a", "b.*"]


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_before(engine, trie, enabled):
    before = gc.isenabled()
    try:
        gc.enable() if enabled else gc.disable()
        trie.update(patterns=["a"], values=[1])
        assert gc.isenabled() == enabled
        with pytest.raises(PatternError):
            trie.update(patterns=["a..b"], values=[1])
        with pytest.raises(PatternError):
            trie.update([("a..b", 1)])
        assert gc.isenabled() == enabled
    finally:
        gc.enable() if before else gc.disable()


def test_cycles_through_the_sequence_are_collected(engine):
    class Value:
        pass

    value, trie = Value(), engine.SubjectTrie()
    value.rows = trie.update(patterns=["a"], values=[value])
    assert value.rows[0].value is value
    watch = weakref.ref(value)
    del value, trie
    gc.collect()
    assert watch() is None


def test_an_index_forgets_the_copies_that_are_gone(trie):
    """Handles are referred to weakly for the copies of an index, while there is one."""
    made = trie.update(patterns=["a", "b.*", "b.c"], values=[1, 2, 3])
    copies = [trie.copy()]
    copies.append(copies[0].copy())
    handles = list(copies[1])
    assert [list(each) for each in (trie, *copies)] == [handles] * 3
    copies.clear()
    trie.copy()
    assert [weakref.getweakrefcount(handle) for handle in made] == [0, 0, 0]
    assert trie.subscriptions("b.c") == (handles[1], handles[2])


@pytest.mark.parametrize("count", [1_000, 20_000])
def test_patterns_that_were_loaded_are_found_when_they_are_added_again(trie, count):
    dice = random.Random(1)

    def pattern():
        tokens = (dice.choice(["*", f"t{dice.randrange(30)}", f"u{dice.randrange(2000)}"])
                  for _ in range(dice.randrange(2, 6)))  # fmt: skip
        return ".".join(tokens)

    patterns = list(dict.fromkeys(pattern() for _ in range(count)))
    trie.update(patterns=patterns, values=range(len(patterns)))
    for each in patterns[:500]:
        trie.add(each, None)
    assert trie.stats()[:2] == (len(patterns) + 500, len(patterns))
