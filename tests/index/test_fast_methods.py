"""The methods with hand-made entries mean the same however they are called."""

from __future__ import annotations

import inspect
import tracemalloc

import pytest

from subtrie import Subject, reference

METHODS = ["match", "select", "count", "has_interest"]


@pytest.fixture
def filled(trie):
    trie.add("a.*", 1)
    trie.add("a.b", 2)
    trie.add("c", 3)
    return trie


@pytest.mark.parametrize("method", METHODS)
def test_every_way_to_call(filled, method):
    call = getattr(filled, method)
    unbound = getattr(type(filled), method)
    for subject in ("a.b", "c", "none", type("Text", (str,), {})("a.b")):
        expected = call(subject)
        assert call(subject=subject) == expected
        assert call(*[subject]) == expected
        assert unbound(filled, subject) == expected
        assert unbound(filled, subject=subject) == expected


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("args", "names"),
    [((), {}), (("a", "b"), {}), (("a",), {"subject": "a"}), ((), {"other": "a"}), ((1,), {})],
)
def test_calls_that_do_not_fit(filled, method, args, names):
    with pytest.raises(TypeError, match=r"subject|argument"):
        getattr(filled, method)(*args, **names)
    with pytest.raises((TypeError, AttributeError)):  # the reference checks no class
        getattr(type(filled), method)(object(), "a")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("subject", ["", "a..b", "a.*", "\ud800", "a b"])
def test_a_subject_that_is_not_valid(filled, method, subject):
    from subtrie import SubjectError

    with pytest.raises(SubjectError):
        getattr(filled, method)(subject)
    assert filled.match("a.b") == (1, 2)


@pytest.mark.parametrize("method", METHODS)
def test_signature_and_documentation_remain(trie, method):
    function = getattr(type(trie), method)
    assert list(inspect.signature(function).parameters) == ["self", "subject"]
    assert list(inspect.signature(getattr(trie, method)).parameters) == ["subject"]
    assert function.__doc__.startswith("Return ")
    assert function.__name__ == method


@pytest.mark.parametrize("method", METHODS)
def test_an_opened_image(engine, filled, method):
    opened = engine.SubjectTrie.from_bytes(filled.to_bytes(), [1, 2, 3])
    assert getattr(opened, method)("a.b") == getattr(filled, method)("a.b")


@pytest.mark.parametrize("method", METHODS)
def test_a_subclass_of_str_takes_the_short_way(filled, method, engine):
    """A validated subject took twice as long as its text: through a tuple and a dictionary."""
    if engine.SubjectTrie is reference.SubjectTrie:
        pytest.skip("the reference has one way")
    call = getattr(filled, method)

    def used(subject):
        call(subject)
        tracemalloc.start()
        kept = call(subject)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        del kept
        return peak

    assert used(Subject("x.y")) == used("x.y")
