"""The index: what it promises, on both engines."""

from __future__ import annotations

import copy
import enum
import itertools
import json
import pathlib
import time

import pytest

import subtrie
from subtrie import Explanation, Groups, Pattern, Subject, Subscription


@pytest.fixture
def trie(engine):
    return engine.SubjectTrie()


def ids(found):
    return [subscription.id for subscription in found]


# Matching


@pytest.mark.parametrize(
    ("pattern", "subject", "heard"),
    [
        pytest.param("a.*.c", "a.b.c", True, id="S0-080"),
        pytest.param("a.*.c", "a.b.b.c", False, id="S0-080-one-segment-only"),
        pytest.param("a.>", "a.b.c.d", True, id="S0-081"),
        pytest.param("a.>", "b.b", False, id="S0-081-other-start"),
        pytest.param(">", "a", True, id="S1-029"),
        pytest.param("*", "a", True, id="S1-030"),
        pytest.param("*.a", "b.a", True, id="S1-036-first"),
        pytest.param("a.*", "a.b", True, id="S1-036-last"),
        pytest.param("a.*", "a", False, id="S1-036-needs-a-token"),
        pytest.param("foo.>", "foo.bar", True, id="S1-038"),
        pytest.param("foo.>", "foo.bar.baz.1", True, id="S1-037-S1-039"),
        pytest.param("foo.>", "foo", False, id="S1-040"),
        pytest.param("foo.bar", "foo.bar", True, id="S0-128-literal"),
        pytest.param("foo.bar", "foo.Bar", False, id="S0-128-case"),
        pytest.param("foo", "foo.bar", False, id="S0-128-longer"),
        pytest.param("foo.bar", "foo", False, id="S0-128-shorter"),
    ],
)
def test_M_05_who_hears(trie, pattern, subject, heard):
    subscription = trie.add(pattern, "v")
    assert trie.match(subject) == (("v",) if heard else ())
    assert trie(subject) == trie.match(subject)
    assert trie.subscriptions(subject) == ((subscription,) if heard else ())
    assert trie.has_interest(subject) is heard
    assert trie.count(subject) == heard


def test_S1_047_S1_048_two_patterns(trie):
    trie.add("foo.*.quux", "star")
    trie.add("foo.>", "tail")
    assert trie.match("foo.bar.quux") == ("star", "tail")
    assert trie.match("foo.bar.baz") == ("tail",)


def test_order_is_that_of_insertion(trie):
    patterns = ["a.>", "a.b", ">", "*.b", "a.*", "a.b", "*.*", "*.>"]
    for number, pattern in enumerate(patterns):
        assert trie.add(pattern, number, queue="q" if number % 3 == 0 else None).id == number
    assert trie.match("a.b") == tuple(range(len(patterns)))
    assert ids(trie) == list(range(len(patterns)))


def test_ids_are_never_given_again(trie):
    first = trie.add("a", 1)
    assert trie.remove(first)
    trie.clear()
    assert trie.add("a", 2).id == 1
    with pytest.raises(subtrie.PatternError):
        trie.add("a..b", 3)
    assert trie.add("a", 4).id == 2


def test_same_value_twice_is_two_subscriptions(trie):
    value = object()
    trie.add("a", value)
    trie.add("*", value)
    assert trie.match("a") == (value, value)


# Queue groups


def test_A18_one_group_a_name_over_all_patterns(trie):
    trie.add("a.b", "plain")
    trie.add("a.*", "w1", queue="w")
    trie.add("a.b", "x1", queue="x")
    trie.add("a.>", "w2", queue="w")
    groups = trie.groups("a.b")
    assert isinstance(groups, Groups)
    assert groups.plain == ("plain",)
    assert list(groups.queues.items()) == [("w", ("w1", "w2")), ("x", ("x1",))]
    assert trie.match("a.b") == ("plain", "w1", "x1", "w2")
    assert trie.groups("b") == Groups((), {})


def test_A18_groups_stand_in_order_of_their_oldest_member(trie):
    for number, name in enumerate("zyxzyx"):
        trie.add("a", number, queue=name)
    gone = trie.add("a", 6, queue="w")
    trie.remove(gone)
    assert list(trie.groups("a").queues) == ["z", "y", "x"]


def test_A19_members_take_turns_and_lookups_do_not_count(trie):
    for number in range(3):
        trie.add("a.b", number, queue="q")
    trie.add("a.b", "plain")
    seen = []
    for _ in range(7):
        trie.match("a.b"), trie.groups("a.b"), trie.has_interest("a.b"), trie.explain("a.b")
        seen.append(trie.select("a.b"))
    assert seen == [(n % 3, "plain") for n in range(7)]


def test_A19_the_turn_is_counted_by_the_oldest_member_that_matches(trie):
    trie.add("a.*", "first", queue="q")
    trie.add("*.b", "second", queue="q")
    trie.add("*.b", "third", queue="q")
    assert trie.select("x.b") == ("second",)  # counted by the second
    assert trie.select("a.b") == ("first",)  # counted by the first
    assert trie.select("x.b") == ("third",)
    assert trie.select("a.b") == ("second",)
    assert trie.select("a.b") == ("third",)
    assert trie.select("a.x") == ("first",)  # 3 % 1
    assert trie.select("a.b") == ("second",)  # 4 % 3


def test_A19_a_selection_is_in_order_of_insertion(trie):
    trie.add("a", "q0", queue="q")
    trie.add("a", "plain")
    trie.add("a", "q1", queue="q")
    assert [trie.select("a") for _ in range(2)] == [("q0", "plain"), ("plain", "q1")]


@pytest.mark.parametrize(
    "name", ["workers", "a.b", "v1.*x", "a..b", ".", "é", "_", "\x00", "a" * 5000]
)
def test_A39_queue_names(trie, name):
    assert trie.add("a", 1, queue=name).queue == name
    assert trie.groups("a").queues == {name: (1,)}


@pytest.mark.parametrize(
    ("name", "reason", "position"),
    [
        ("", "queue-empty", 0),
        ("a b", "queue-whitespace", 1),
        ("é\t", "queue-whitespace", 2),
        ("a\r", "queue-whitespace", 1),
        ("a\n", "queue-whitespace", 1),
        ("*", "queue-wildcard", 0),
        ("é.>.x", "queue-wildcard", 3),
        ("*. ", "queue-wildcard", 0),
        ("é\ud800 ", "surrogate", 2),
    ],
)
def test_A39_queue_names_refused(trie, name, reason, position):
    with pytest.raises(subtrie.InvalidName) as caught:
        trie.add("a", 1, queue=name)
    error = caught.value
    assert (error.reason, error.position, error.field) == (reason, position, "queue")
    assert len(trie) == 0
    assert trie.stats().nodes == 0


# Refusals


BAD = [
    "",
    ".",
    "a.",
    ".a",
    "a..b",
    "a b",
    "a\tb",
    "a\x0bb",
    "é",
    "a\x7f",
    "*a",
    "a*",
    "**",
    "\ud800",
]


@pytest.mark.parametrize("text", [*BAD, "*", ">", "a.*", "a.>", "a.>.b"], ids=ascii)
@pytest.mark.parametrize(
    "ask", ["match", "subscriptions", "groups", "select", "has_interest", "count", "explain"]
)
def test_A17_subjects_are_checked(engine, trie, ask, text):
    trie.add(">", 1)
    with pytest.raises(subtrie.SubjectError) as caught:
        getattr(trie, ask)(text)
    with pytest.raises(subtrie.SubjectError) as expected:
        engine.check_subject(text)
    assert str(caught.value) == str(expected.value)
    assert vars(caught.value) == vars(expected.value)


@pytest.mark.parametrize("text", [*BAD, "a.>.b", ">.>"], ids=ascii)
@pytest.mark.parametrize("ask", ["add", "matching", "covered_by"])
def test_patterns_are_checked(engine, trie, ask, text):
    with pytest.raises(subtrie.PatternError) as caught:
        getattr(trie, ask)(text, *([1] if ask == "add" else []))
    with pytest.raises(subtrie.PatternError) as expected:
        engine.check_pattern(text)
    assert vars(caught.value) == vars(expected.value)
    assert len(trie) == 0
    assert trie.stats().nodes == 0


@pytest.mark.parametrize("text", [None, 1, b"a", ["a"], ("a",)], ids=repr)
def test_what_is_no_text_is_a_TypeError(trie, text):
    with pytest.raises(TypeError, match="subject must be str"):
        trie.match(text)
    with pytest.raises(TypeError, match="pattern must be str"):
        trie.add(text, 1)
    with pytest.raises(TypeError, match="pattern must be str"):
        trie.matching(text)
    if text is not None:
        with pytest.raises(TypeError, match="queue must be str"):
            trie.add("a", 1, queue=text)
    assert len(trie) == 0


@pytest.mark.parametrize(
    ("options", "text", "reason", "position"),
    [
        pytest.param({}, "a." * 63 + "a", None, None, id="A37-64-tokens"),
        pytest.param({}, "a." * 64 + "a", "too-many-tokens", 128, id="A37-65-tokens"),
        pytest.param({}, "a" * 1024, None, None, id="A37-1024-bytes"),
        pytest.param({}, "a" * 1025, "too-long", 1024, id="A37-1025-bytes"),
        pytest.param({}, "." * 65400, "too-long", 1024, id="A37-65400-dots"),
        pytest.param({"dialect": "server"}, "a." * 2047 + "a", None, None, id="A37-2048-tokens"),
        pytest.param({"dialect": "server"}, "é" * 2049, "too-long", 4096, id="A37-4098-bytes"),
        pytest.param({"max_tokens": 2}, "a.b.c", "too-many-tokens", 4, id="A37-max-tokens"),
        pytest.param({"max_tokens": 65}, "a." * 64 + "a", None, None, id="A37-more-tokens"),
        pytest.param({"max_length": 3}, "abcd", "too-long", 3, id="A37-max-length"),
        pytest.param(
            {"max_length": 70000, "max_tokens": 2**80},
            "a." * 30000 + "a",
            None,
            None,
            id="A37-huge",
        ),
    ],
)
def test_bounds(engine, options, text, reason, position):
    trie = engine.SubjectTrie(**options)
    for error, ask in ((subtrie.PatternError, lambda: trie.add(text, 1)),
                       (subtrie.SubjectError, lambda: trie.match(text))):  # fmt: skip
        if reason is None:
            assert ask()
            continue
        with pytest.raises(error) as caught:
            ask()
        assert (caught.value.reason, caught.value.position) == (reason, position)
        assert caught.value.status == 414


def test_A37_options_and_what_they_say(engine):
    assert [getattr(engine.SubjectTrie(), n) for n in ("dialect", "max_tokens", "max_length")] == [
        "strict", 64, 1024]  # fmt: skip
    server = engine.SubjectTrie(dialect="server", max_length=9)
    assert (server.dialect, server.max_tokens, server.max_length) == ("server", None, 9)
    for options in (
        {"dialect": "x"},
        {"max_tokens": 0},
        {"max_length": -1},
        {"max_length": -(2**70)},
    ):
        with pytest.raises(ValueError, match="must be"):
            engine.SubjectTrie(**options)
    for options in ({"dialect": 1}, {"max_tokens": "4"}, {"max_length": 1.5}):
        with pytest.raises(TypeError):
            engine.SubjectTrie(**options)


def test_A37_options_are_read_as_numbers_after_the_dialect(engine):
    with pytest.raises(ValueError, match="dialect"):
        engine.SubjectTrie(dialect="x", max_tokens=0)
    trie = engine.SubjectTrie(max_tokens=2**80, max_length=True)
    assert (trie.max_tokens, trie.max_length) == (2**64 - 1, 1)
    assert repr(trie.__reduce__()[1]) == "('strict', 18446744073709551615, 1)"
    assert repr(trie.copy().__reduce__()[1]) == "('strict', 18446744073709551615, 1)"


def test_65400_dots_are_refused_quickly(trie):
    start = time.perf_counter()
    with pytest.raises(subtrie.SubjectError):
        trie.match("." * 65400)
    assert time.perf_counter() - start < 1  # generous: the answer takes microseconds


def test_server_dialect_takes_what_the_broker_takes(engine):
    trie = engine.SubjectTrie(dialect="server")
    added = trie.add("foo*.é.\x00", 1)
    assert added.pattern == Pattern("foo*.é.\x00", dialect="server")
    assert added.pattern.dialect == "server"
    assert trie.match("foo*.é.\x00") == (1,)
    assert trie.match("fooo.é.\x00") == ()
    assert trie.explain("foo*.é.x").subject.dialect == "server"
    for text in ("a.*", "a.\u00a0 "):
        with pytest.raises(subtrie.SubjectError):
            trie.match(text)


def test_a_subject_of_another_dialect_is_checked_again(trie):
    with pytest.raises(subtrie.SubjectError):
        trie.match(Subject("é", dialect="server"))
    assert trie.match(Subject("a")) == ()


# Changing


def test_subscription_is_what_was_asked_for(trie):
    value = object()
    made = trie.add("a.*", value, queue="q")
    assert isinstance(made, Subscription)
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
        Subscription()
    assert made != trie.add("a.*", value, queue="q")


def test_remove_is_idempotent_and_knows_its_own(engine, trie):
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


def test_removal_gives_the_tree_back(trie):
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


def test_T10_churn_leaves_memory_flat(trie):
    trie.add("kept", "kept")

    def churn(start):
        for n in range(start, start + 2000):
            assert trie.remove(trie.add(f"once{n}.*.x{n}", n, queue=f"q{n}"))
        return trie.stats().memory

    early = churn(0)
    assert max(churn(n * 2000) for n in range(1, 6)) <= 2 * early
    assert early < 100_000
    assert trie.match("kept") == ("kept",)


def test_text_is_what_a_str_subclass_holds_not_what_it_prints(trie):
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


# Asking by pattern


def test_matching_and_covered_by(trie):
    patterns = ["a", "a.b", "a.*", "a.>", ">", "*", "*.b", "*.*", "a.b.c", "x.y"]
    for pattern in patterns:
        trie.add(pattern, pattern)
    for query in [*patterns, "*.>", "x.>", "z"]:
        asked = Pattern(query)
        assert [s.pattern for s in trie.matching(query)] == [
            p for p in patterns if asked.overlaps(p) is not None
        ]
        assert [s.pattern for s in trie.covered_by(query)] == [
            p for p in patterns if asked.covers(p)
        ]


# Explaining


def test_explain_a_match(trie):
    made = trie.add("a.*", 1)
    trie.add("a.c", 2)
    why = trie.explain("a.b")
    assert isinstance(why, Explanation)
    assert why
    assert (why.subject, why.matches, why.nearest, why.differs_at) == ("a.b", (made,), (), None)
    assert type(why.subject) is Subject
    assert str(why) == "a.b is matched by\n  a.* (subscription 0)"


def test_explain_a_miss(trie):
    for pattern in ("a.b.x", "a.*.y", "a.b", "a.b.c.d", "q", "a.b.c.>", "a.b.x"):
        trie.add(pattern, pattern)
    why = trie.explain("a.b.c", limit=9)
    assert not why
    assert [(m.pattern, m.differs_at, m.subscription.id) for m in why.nearest] == [
        ("a.b.c.d", 3, 3),
        ("a.b.c.>", 3, 5),
        ("a.b.x", 2, 0),
        ("a.*.y", 2, 1),
        ("a.b", 2, 2),
        ("q", 0, 4),
    ]
    assert why.differs_at == 3
    assert trie.explain("a.b.c").nearest == why.nearest[:3]
    assert trie.explain("a.b.c", limit=0).nearest == ()
    assert trie.explain("a.b.c", limit=2**70).nearest == why.nearest
    assert str(trie.explain("a.b.c", limit=3)).splitlines() == [
        "a.b.c is matched by nothing; nearest:",
        "  a.b.c.d: the subject ends before token 3, 'd'",
        "  a.b.c.>: the subject ends before token 3, '>'",
        "  a.b.x: token 2 is 'c', not 'x'",
    ]
    assert "  a.b: the pattern ends before token 2, 'c'" in str(why).splitlines()


def test_explain_edges(trie):
    assert trie.explain("a").differs_at is None
    assert str(trie.explain("a")) == "a is matched by nothing"
    trie.add("a.>", 1)
    assert trie.explain("a").differs_at == 1
    assert trie.explain("b").differs_at == 0
    with pytest.raises(ValueError, match="limit"):
        trie.explain("a", limit=-1)
    for limit in ("3", None, 1.0):
        with pytest.raises(TypeError):
            trie.explain("a", limit=limit)


# Drawing


def test_drawing(trie):
    for pattern, queue in (
        ("shop.orders.*", None), ("shop.orders.new", "w"), ("shop.orders.new", None),
        ("shop.>", None), ("shop.a.b.c", None), (">", None), ("shop.a.b.c.d", None),
    ):  # fmt: skip
        trie.add(pattern, None, queue=queue)
    assert str(trie) == (
        "SubjectTrie: 7 subscriptions\n"
        "├── shop\n"
        "│   ├── a.b.c  [4]\n"
        "│   │   └── d  [6]\n"
        "│   ├── orders\n"
        "│   │   ├── new  [1@w, 2]\n"
        "│   │   └── *  [0]\n"
        "│   └── >  [3]\n"
        "└── >  [5]"
    )


def test_drawing_escapes_what_would_mislead(engine):
    trie = engine.SubjectTrie(dialect="server")
    trie.add("a.\u202e\x00.b", 1, queue="é")
    assert str(trie) == "SubjectTrie: 1 subscription\n└── a.\\u{202e}\\u{0}.b  [0@\\u{e9}]"


# Hostile sets


def test_all_combinations_at_depth_12(trie):
    trie.update((".".join(p), n) for n, p in enumerate(itertools.product("a*", repeat=12)))
    subject = ".".join("a" * 12)
    assert trie.match(subject) == tuple(range(4096))
    assert trie.count("b." * 11 + "b") == 1
    assert trie.match(subject + ".a") == ()
    assert len(trie.explain(subject + ".a", limit=10_000).nearest) == 4096


def test_tails_at_every_level_and_64_tokens(trie):
    for depth in range(64):
        trie.add("*." * depth + ">", depth)
    assert trie.match("a." * 63 + "a") == tuple(range(64))
    assert trie.match("a.a") == (0, 1)
    trie.add("*." * 63 + "*", "deep")
    assert trie.match("a." * 63 + "a")[-1] == "deep"
    assert len(str(trie).splitlines()) == 1 + 64 + 64


def test_40_stars_against_40_tokens(trie):
    for place in range(40):
        tokens = ["*"] * 40
        tokens[place] = "a"
        trie.add(".".join(tokens), place)
    assert trie.match(".".join("a" * 40)) == tuple(range(40))
    assert trie.match(".".join("b" * 40)) == ()


def test_a_deep_tree_is_walked_without_recursion(engine):
    depth = 20_000
    trie = engine.SubjectTrie(dialect="server", max_length=10**6)
    deep = "a." * depth + "a"
    handle = trie.add(deep, 1)
    assert trie.match(deep) == (1,)
    assert trie.covered_by(">") == trie.matching(">") == (handle,)
    assert trie.explain("a").differs_at == 1
    assert str(trie).endswith(deep + "  [0]")
    assert trie.stats().depth == depth + 1
    trie.add("a." * depth + "b", 2)
    assert trie.copy().match(deep) == (1,)
    assert trie.remove(handle)
    trie.clear()


# What the broker said


# The broker's index looks up anything; ours looks up subjects (A17, S1-014, S1-026).
_NO_SUBJECT = {"*": "wildcard", "foo.*": "wildcard", "": "empty"} | dict.fromkeys(
    ["..foo", "foo..", "foo...bar"], "empty-token"
)


def _broker_rows():
    path = pathlib.Path(__file__).parent / "vectors" / "nats_match.jsonl"
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if row["kind"] == "match":
            yield pytest.param(row, id=row["id"])


@pytest.mark.parametrize("row", list(_broker_rows()))
def test_M_05_the_broker_agrees(engine, row):
    trie = engine.SubjectTrie(dialect="server")
    for number, pattern in enumerate(row["patterns"]):
        if isinstance(pattern, dict):
            trie.add(pattern["s"], number, queue=pattern["q"])
        else:
            trie.add(pattern, number)
    if row["subject"] in _NO_SUBJECT:
        with pytest.raises(subtrie.SubjectError) as caught:
            trie.groups(row["subject"])
        assert caught.value.reason == _NO_SUBJECT[row["subject"]]
        return
    groups = trie.groups(row["subject"])
    assert list(groups.plain) == sorted(row["expect"]["plain"])
    assert {name: list(group) for name, group in groups.queues.items()} == {
        name: sorted(group) for name, group in row["expect"]["queues"].items()
    }
