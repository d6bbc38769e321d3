"""Subjects and patterns: what is refused, where, and why; and how two of them relate."""

from __future__ import annotations

import pytest

import subtrie


@pytest.mark.parametrize(
    ("text", "reason", "position"),
    [
        pytest.param("", "empty", 0, id="empty", marks=pytest.mark.requirement("S1-014")),
        pytest.param(
            "FOO. BAR",
            "whitespace",
            4,
            id="space-in-a-token",
            marks=pytest.mark.requirement("S1-024"),
        ),
        pytest.param(
            "foo. .bar",
            "whitespace",
            4,
            id="space-as-a-token",
            marks=pytest.mark.requirement("S1-025"),
        ),
        pytest.param(
            "foo..bar", "empty-token", 4, id="two-dots", marks=pytest.mark.requirement("S1-026")
        ),
        pytest.param(
            "foo.>.bar",
            "tail-not-last",
            4,
            id="tail-in-the-middle",
            marks=pytest.mark.requirement("S1-029"),
        ),
        pytest.param(
            "foo*.bar",
            "partial-wildcard",
            3,
            id="star-at-the-end-of-a-token",
            marks=pytest.mark.requirement("S1-044"),
        ),
        pytest.param(
            "f*o.b*r",
            "partial-wildcard",
            1,
            id="star-inside-two-tokens",
            marks=pytest.mark.requirement("S1-045"),
        ),
        pytest.param(
            "foo>",
            "partial-wildcard",
            3,
            id="tail-at-the-end-of-a-token",
            marks=pytest.mark.requirement("S1-046"),
        ),
        pytest.param(
            "a" * 1025, "too-long", 1024, id="too-long", marks=pytest.mark.requirement("A37")
        ),
        pytest.param(
            "a." * 64 + "a",
            "too-many-tokens",
            128,
            id="too-many-tokens",
            marks=pytest.mark.requirement("A37"),
        ),
        pytest.param("aé\ud800", "surrogate", 3, id="surrogate-after-two-bytes"),
    ],
)
def test_pattern_refused(engine, text, reason, position):
    with pytest.raises(subtrie.PatternError) as caught:
        engine.check_pattern(text)
    assert (caught.value.reason, caught.value.position) == (reason, position)


@pytest.mark.requirement("A17")
@pytest.mark.parametrize("text", ["*", ">", "a.*", "a.>", "*.b"])
def test_subject_is_concrete(engine, text):
    with pytest.raises(subtrie.SubjectError) as caught:
        engine.check_subject(text)
    assert caught.value.reason == "wildcard"


class _Printing(str):
    """Text that prints as something else, as an Enum of texts does."""

    def __str__(self):
        return "not a subject"

    def __format__(self, spec):
        return "not a subject"


def test_a_str_subclass_is_validated_and_kept_by_its_value(engine_in_use):
    """Bug: a subject made from an Enum's text held the Enum's name, unchecked."""
    for kind in (subtrie.Subject, subtrie.Pattern):
        made = kind(_Printing("orders.new"))
        assert (made, str(made), made.tokens) == ("orders.new", "orders.new", ("orders", "new"))
    text = _Printing
    subject = subtrie.microbus.encode_request(
        plane=text("p"), port=text("80"), source=text("a.b"), host=text("c"), method=text("get"),
        path=text("/x"), slot=text("id-1"),
    )  # fmt: skip
    assert str(subject) == "p.safe.80.a_b.c.id-1.GET.x"
    assert subtrie.microbus.source_of(text(subject)) == "a.b"
    trie = engine_in_use.SubjectTrie()
    handle = trie.add(text("a.*"), 1, queue=text("q"))
    assert (str(handle.pattern), type(handle.queue), dict(trie.groups(text("a.b")).queues)) == (
        "a.*", str, {"q": (1,)})  # fmt: skip
    assert str(trie.explain(text("a.b")).subject) == "a.b"
