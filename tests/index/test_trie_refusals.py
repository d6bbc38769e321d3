"""Refusals of an index, which leave it unchanged, on both engines."""

from __future__ import annotations

import pytest

import counted_work
import subtrie
from subtrie import Pattern, Subject

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


@pytest.mark.requirement("A17")
@pytest.mark.parametrize("text", [*BAD, "*", ">", "a.*", "a.>", "a.>.b"], ids=ascii)
@pytest.mark.parametrize(
    "ask", ["match", "subscriptions", "groups", "select", "has_interest", "count", "explain"]
)
def test_subjects_are_checked(engine, trie, ask, text):
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
def test_a_subject_that_is_not_text_is_a_type_error(trie, text):
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
        pytest.param(
            {}, "a." * 63 + "a", None, None, id="64-tokens", marks=pytest.mark.requirement("A37")
        ),
        pytest.param(
            {},
            "a." * 64 + "a",
            "too-many-tokens",
            128,
            id="65-tokens",
            marks=pytest.mark.requirement("A37"),
        ),
        pytest.param(
            {}, "a" * 1024, None, None, id="1024-bytes", marks=pytest.mark.requirement("A37")
        ),
        pytest.param(
            {}, "a" * 1025, "too-long", 1024, id="1025-bytes", marks=pytest.mark.requirement("A37")
        ),
        pytest.param(
            {}, "." * 65400, "too-long", 1024, id="65400-dots", marks=pytest.mark.requirement("A37")
        ),
        pytest.param(
            {"dialect": "server"},
            "a." * 2047 + "a",
            None,
            None,
            id="2048-tokens",
            marks=pytest.mark.requirement("A37"),
        ),
        pytest.param(
            {"dialect": "server"},
            "é" * 2049,
            "too-long",
            4096,
            id="4098-bytes",
            marks=pytest.mark.requirement("A37"),
        ),
        pytest.param(
            {"max_tokens": 2},
            "a.b.c",
            "too-many-tokens",
            4,
            id="max-tokens",
            marks=pytest.mark.requirement("A37"),
        ),
        pytest.param(
            {"max_tokens": 65},
            "a." * 64 + "a",
            None,
            None,
            id="more-tokens",
            marks=pytest.mark.requirement("A37"),
        ),
        pytest.param(
            {"max_length": 3},
            "abcd",
            "too-long",
            3,
            id="max-length",
            marks=pytest.mark.requirement("A37"),
        ),
        pytest.param(
            {"max_length": 70000, "max_tokens": 2**80},
            "a." * 30000 + "a",
            None,
            None,
            id="huge",
            marks=pytest.mark.requirement("A37"),
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


@pytest.mark.requirement("A37")
def test_options_are_validated_with_a_clear_message(engine):
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


@pytest.mark.requirement("A37")
def test_options_are_read_as_numbers_after_the_dialect(engine):
    with pytest.raises(ValueError, match="dialect"):
        engine.SubjectTrie(dialect="x", max_tokens=0)
    trie = engine.SubjectTrie(max_tokens=2**80, max_length=True)
    assert (trie.max_tokens, trie.max_length) == (2**64 - 1, 1)
    assert repr(trie.__reduce__()[1]) == "('strict', 18446744073709551615, 1)"
    assert repr(trie.copy().__reduce__()[1]) == "('strict', 18446744073709551615, 1)"


def test_65400_dots_are_refused_by_their_length(trie):
    with pytest.raises(subtrie.SubjectError) as caught:
        counted_work.calls(lambda: trie.match("." * 65400), most=200)
    assert caught.value.reason == "too-long"  # no token is looked at


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
