"""Changes of an index: add, remove, clear, copy, on both engines."""

from __future__ import annotations

import copy
import enum

import pytest

import subtrie
from subtrie import Pattern


def ids(found):
    return [subscription.id for subscription in found]


def test_a_subscription_has_the_given_attributes(engine, trie):
    value = object()
    made = trie.add("a.*", value, queue="q")
    assert isinstance(made, engine.Subscription)
    assert type(made.pattern) is Pattern
    assert (made.pattern, made.value, made.queue, made.id) == ("a.*", value, "q", 0)
    assert trie.add("a", 1).queue is None
    assert repr(trie.add("a", [1], queue="w")) == (
        "Subscription(id=2, pattern='a', queue='w', value=[1])"
    )
    for name in ("id", "value", "new"):
        with pytest.raises(AttributeError):
            setattr(made, name, 1)
    with pytest.raises(AttributeError):
        del made.id
    with pytest.raises(TypeError):
        engine.Subscription()
    assert made != trie.add("a.*", value, queue="q")


def test_a_pattern_is_in_the_index_while_a_subscription_has_it(engine, trie):
    patterns = ["a", "a.b", "a.*", "a.>", "*.b", ">", "a.*.c.>", "*"]
    others = ["b", "a.c", "*.*", "a.*.>", "a.*.c", "b.>", "*.>", "", "a..b", "a.>.b", "\ud800", "é"]
    kept = [(trie.add(pattern, None, queue="q"), trie.add(pattern, None)) for pattern in patterns]
    for index in (trie, trie.copy(), engine.SubjectTrie.from_bytes(trie.to_bytes())):
        assert all(pattern in index for pattern in patterns)
        assert Pattern("a.*") in index
        assert not any(other in index for other in others)
    for pattern, (first, second) in zip(patterns, kept, strict=True):
        trie.remove(first)
        assert pattern in trie
        trie.remove(second)
        assert pattern not in trie


def test_remove_is_idempotent_and_ignores_other_subscriptions(engine, trie):
    other = engine.SubjectTrie()
    mine, foreign = trie.add("a", 1), other.add("a", 1)
    assert mine in trie
    assert foreign not in trie
    assert not trie.remove(foreign)
    assert trie.remove(mine)
    assert not trie.remove(mine)
    assert mine not in trie
    assert foreign in other
    for thing in (None, 0, "a", ("a", 1)):
        assert thing not in trie
        with pytest.raises(TypeError, match="subscription must be Subscription"):
            trie.remove(thing)


def test_remove_takes_one_of_equal_ones(trie):
    a, b, c = (trie.add("a.>", 1) for _ in range(3))
    assert trie.remove(b)
    assert trie.subscriptions("a.b") == (a, c)


def test_removal_frees_the_nodes(trie):
    handles = [trie.add(f"s{n % 37}.*.t{n}.>", n, queue=f"q{n}") for n in range(3000)]
    assert trie.stats()[:5] == (3000, 3000, 6037 - 3000 + 37, 3000, 4)
    full = trie.stats().memory
    for handle in handles[:-1]:
        assert trie.remove(handle)
    assert trie.match(f"s{2999 % 37}.x.t2999.y") == (2999,)
    assert trie.stats()[:5] == (1, 1, 3, 1, 4)
    trie.remove(handles[-1])
    assert trie.stats()[:5] == (0, 0, 0, 0, 0)
    assert trie.stats().memory < full / 20
    assert str(trie) == "SubjectTrie: 0 subscriptions"


@pytest.mark.requirement("T10")
def test_adding_and_removing_does_not_grow_memory(trie):
    trie.add("kept", "kept", queue="kept")  # so that the queues are never all gone

    def churn(start):
        for n in range(start, start + 2000):
            assert trie.remove(trie.add(f"once{n}.*.x{n}", n, queue=f"q{n}"))
        return trie.stats().memory

    early = churn(0)
    assert max(churn(n * 2000) for n in range(1, 6)) <= 2 * early
    assert early < 100_000
    assert trie.match("kept") == ("kept",)


def test_the_value_of_a_str_subclass_counts_and_not_its_str(trie):
    class Name(str, enum.Enum):  # noqa: UP042 - its str() is the point
        A = "a.b"

    assert str(Name.A) != "a.b"
    made = trie.add(Name.A, 1, queue=Name.A)
    assert (type(made.pattern), made.pattern, made.queue) == (Pattern, "a.b", "a.b")
    assert trie.match(Name.A) == (1,)
    assert trie.explain(Name.A).subject == "a.b"
    assert type(made.queue) is str


def test_update_is_all_or_nothing(trie):
    made = trie.update([("a", 1), ["a.*", 2, "q"], ("b", 3, None), iter(("c", 4))])
    assert ids(made) == [0, 1, 2, 3]
    assert [m.queue for m in made] == [None, "q", None, None]
    assert trie.update([]) == []

    def broken():
        yield "x", 1
        raise KeyError("halfway")

    for rows, error in (
        ([("x", 1), ("a..b", 2)], subtrie.PatternError),
        ([("x", 1), ("y", 2, "")], subtrie.InvalidName),
        ([("x", 1), ("y",)], ValueError),
        ([("x", 1), ("y", 1, None, 2)], ValueError),
        ([("x", 1), "yz"], TypeError),
        ([("x", 1), 3], TypeError),
        (broken(), KeyError),
        (7, TypeError),
    ):
        with pytest.raises(error):
            trie.update(rows)
        assert len(trie) == 4
        assert trie.match("x") == ()
    assert trie.add("z", 0).id == 4


def test_clear(trie):
    handle = trie.add("a.b", 1)
    trie.clear()
    assert len(trie) == 0
    assert handle not in trie
    assert trie.match("a.b") == ()
    assert trie.stats()[:5] == (0, 0, 0, 0, 0)


def test_iteration_sees_the_state_of_its_start(trie):
    first, second = trie.add("a", 1), trie.add("b", 2)
    walk = iter(trie)
    assert next(walk) is first
    trie.remove(second)
    trie.add("c", 3)
    assert list(walk) == [second]
    assert ids(trie) == [0, 2]


@pytest.mark.parametrize("twin_of", [lambda t: t.copy(), copy.copy], ids=["copy()", "copy.copy"])
def test_copy_is_independent_and_shares_handles(trie, twin_of):
    a = trie.add("a", "a", queue="q")
    b = trie.add("*", "b", queue="q")
    assert trie.select("a") == ("a",)
    twin = twin_of(trie)
    assert type(twin) is type(trie)
    assert list(twin) == [a, b]
    assert twin.select("a") == ("b",)  # the turn came along
    assert trie.select("a") == ("b",)
    assert trie.remove(a)
    assert a in twin
    assert twin.match("a") == ("a", "b")
    mine, its = trie.add("c", 1), twin.add("c", 2)
    assert mine.id == its.id == 2
    assert mine not in twin
    assert not trie.remove(its)


def test_repr_and_len(trie):
    assert repr(trie) == "<SubjectTrie of 0 subscriptions, dialect 'strict'>"
    trie.add("a", 1)
    assert len(trie) == 1
