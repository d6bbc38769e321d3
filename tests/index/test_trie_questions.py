"""Lookups by pattern, explanations and drawings of an index, on both engines."""

from __future__ import annotations

import pytest

from subtrie import Explanation, Pattern, Subject


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


def test_a_question_after_many_changes_since_the_one_before(trie):
    """More than are kept to bring the sorted patterns up to date."""
    trie.add("a", -1)
    assert len(trie.matching(">")) == 1
    made = [trie.add(f"b.{number}", number) for number in range(200)]
    assert [s.value for s in trie.matching(">")] == [-1, *range(200)]
    for handle in made[::2]:
        trie.remove(handle)
    assert [s.value for s in trie.covered_by("b.*")] == [*range(1, 200, 2)]
    assert trie.stats().patterns == 101


def test_explain_a_match(trie):
    made = trie.add("a.*", 1)
    trie.add("a.c", 2)
    why = trie.explain("a.b")
    assert isinstance(why, Explanation)
    assert why
    assert (why.subject, why.matches, why.nearest, why.differs_at) == ("a.b", (made,), (), None)
    assert type(why.subject) is Subject
    assert str(why) == "a.b matches\n  a.* (subscription 0)"


def test_explain_without_a_match(trie):
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
        "a.b.c matches no pattern; nearest:",
        "  a.b.c.d: the subject ends before token 3, 'd'",
        "  a.b.c.>: the subject ends before token 3, '>'",
        "  a.b.x: token 2 is 'c', not 'x'",
    ]
    assert "  a.b: the pattern ends before token 2, 'c'" in str(why).splitlines()


def test_explain_edges(trie):
    assert trie.explain("a").differs_at is None
    assert str(trie.explain("a")) == "a matches no pattern"
    trie.add("a.>", 1)
    assert trie.explain("a").differs_at == 1
    assert trie.explain("b").differs_at == 0
    with pytest.raises(ValueError, match="limit"):
        trie.explain("a", limit=-1)
    for limit in ("3", None, 1.0):
        with pytest.raises(TypeError):
            trie.explain("a", limit=limit)


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
