"""Every pattern to depth 4 over {a, b, *, >} against every subject to depth 5 over {a, b, x}.

The oracle computes what a pattern matches, by the NATS documentation, one bit per subject. No
pattern names ``x``, and subjects go one token deeper than patterns, so that one set of subjects
holds a counter-example to every wrong answer about two patterns.
"""

from __future__ import annotations

from itertools import product

import pytest

from subtrie import PatternError, SubjectError


def _texts(alphabet: str, depth: int) -> list[str]:
    return [
        ".".join(tokens)
        for length in range(1, depth + 1)
        for tokens in product(alphabet, repeat=length)
    ]


SUBJECTS = _texts("abx", 5)
WRITTEN = _texts("ab*>", 4)
PATTERNS = [text for text in WRITTEN if ">" not in text[:-1]]


def _selects(pattern: list[str], subject: list[str]) -> bool:
    """'*' any one token; '>' last, one token or more; else the same token; none left over."""
    if not pattern or not subject:
        return not pattern and not subject
    if pattern == [">"]:
        return True
    return pattern[0] in ("*", subject[0]) and _selects(pattern[1:], subject[1:])


def _bits(pattern: str) -> int:
    tokens = pattern.split(".")
    return sum(1 << i for i, s in enumerate(SUBJECTS) if _selects(tokens, s.split(".")))


SELECTED = {pattern: _bits(pattern) for pattern in PATTERNS}


def test_the_sets_are_what_they_are_said_to_be():
    assert (len(SUBJECTS), len(WRITTEN), len(PATTERNS)) == (363, 340, 160)
    assert SELECTED[">"] == (1 << 363) - 1
    assert all(SELECTED.values())


@pytest.mark.requirement("S0-080", "S0-081", "S1-029", "S1-030", "S1-036", "S1-037")
def test_matches(engine):
    for pattern, selected in SELECTED.items():
        got = sum(1 << i for i, s in enumerate(SUBJECTS) if engine.matches(pattern, s))
        assert got == selected, pattern


def test_covers_is_set_inclusion(engine):
    wrong = [
        (left, right)
        for left, selected in SELECTED.items()
        for right, others in SELECTED.items()
        if engine.covers(left, right) is not (others & ~selected == 0)
    ]
    assert not wrong


def test_overlaps_is_intersection_and_its_witness_is_in_both(engine):
    for left, selected in SELECTED.items():
        for right, others in SELECTED.items():
            witness = engine.overlaps(left, right)
            assert (witness is not None) == bool(selected & others), (left, right)
            if witness is not None:
                engine.check_subject(witness)
                assert _selects(left.split("."), witness.split(".")), (left, right, witness)
                assert _selects(right.split("."), witness.split(".")), (left, right, witness)


@pytest.mark.requirement("S1-029", "S1-037", "S0-081")
def test_tail_anywhere_but_last_is_refused(engine):
    for text in WRITTEN:
        if text in SELECTED:
            engine.check_pattern(text)
            continue
        with pytest.raises(PatternError) as caught:
            engine.check_pattern(text)
        assert (caught.value.reason, caught.value.position) == ("tail-not-last", text.index(">"))


@pytest.mark.requirement("A17", "S1-031")
def test_a_subject_is_a_pattern_without_wildcards(engine):
    for text in WRITTEN:
        if {"*", ">"} & set(text):
            with pytest.raises(SubjectError) as caught:
                engine.check_subject(text)
            assert caught.value.reason == "wildcard"
        else:
            engine.check_subject(text)


@pytest.fixture
def everything(engine):
    trie = engine.SubjectTrie()
    trie.update([(pattern, pattern) for pattern in PATTERNS])
    return trie


@pytest.mark.requirement("S0-128", "M-05")
def test_trie_of_every_pattern(everything):
    for index, subject in enumerate(SUBJECTS):
        wanted = tuple(p for p, selected in SELECTED.items() if selected >> index & 1)
        assert everything.match(subject) == wanted, subject
        assert everything.count(subject) == len(wanted)
        assert everything.has_interest(subject)


def test_trie_queries_by_pattern_are_intersection_and_inclusion(everything):
    for query, selected in SELECTED.items():
        met = [s.value for s in everything.matching(query)]
        assert met == [p for p, others in SELECTED.items() if selected & others], query
        inside = [s.value for s in everything.covered_by(query)]
        assert inside == [p for p, others in SELECTED.items() if not others & ~selected], query


def test_trie_of_one_pattern(engine):
    """Alone in the index, a pattern answers as it does among all others."""
    for pattern, selected in SELECTED.items():
        trie = engine.SubjectTrie()
        trie.add(pattern, None)
        got = sum(1 << i for i, s in enumerate(SUBJECTS) if trie.has_interest(s))
        assert got == selected, pattern


def test_removing_every_second_pattern_leaves_the_others(engine):
    trie = engine.SubjectTrie()
    subscriptions = trie.update([(pattern, pattern) for pattern in PATTERNS])
    for subscription in subscriptions[::2]:
        assert trie.remove(subscription)
    left = PATTERNS[1::2]
    for index, subject in enumerate(SUBJECTS):
        assert trie.match(subject) == tuple(p for p in left if SELECTED[p] >> index & 1), subject
