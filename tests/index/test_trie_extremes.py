"""Sets of patterns that are hard on an index, on both engines."""

from __future__ import annotations

import itertools


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
