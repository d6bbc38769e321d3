"""Subjects and patterns: what is refused, where, and why; and how two of them relate."""

from __future__ import annotations

import pytest

import subtrie


@pytest.mark.parametrize(
    ("text", "reason", "position"),
    [
        pytest.param("", "empty", 0, id="S1-014"),
        pytest.param("FOO. BAR", "whitespace", 4, id="S1-024"),
        pytest.param("foo. .bar", "whitespace", 4, id="S1-025"),
        pytest.param("foo..bar", "empty-token", 4, id="S1-026"),
        pytest.param("foo.>.bar", "tail-not-last", 4, id="S1-029"),
        pytest.param("foo*.bar", "partial-wildcard", 3, id="S1-044"),
        pytest.param("f*o.b*r", "partial-wildcard", 1, id="S1-045"),
        pytest.param("foo>", "partial-wildcard", 3, id="S1-046"),
        pytest.param("a" * 1025, "too-long", 1024, id="A37-bytes"),
        pytest.param("a." * 64 + "a", "too-many-tokens", 128, id="A37-tokens"),
        pytest.param("aé\ud800", "surrogate", 3, id="surrogate-after-two-bytes"),
    ],
)
def test_pattern_refused(engine, text, reason, position):
    with pytest.raises(subtrie.PatternError) as caught:
        engine.check_pattern(text)
    assert (caught.value.reason, caught.value.position) == (reason, position)


@pytest.mark.parametrize("text", ["*", ">", "a.*", "a.>", "*.b"])
def test_A17_subject_is_concrete(engine, text):
    with pytest.raises(subtrie.SubjectError) as caught:
        engine.check_subject(text)
    assert caught.value.reason == "wildcard"
