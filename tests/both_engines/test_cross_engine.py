"""Both engines give the same answers to random questions; and a difference would be seen."""

from __future__ import annotations

import warnings
from collections import Counter
from types import SimpleNamespace

import pytest

import cross_engine


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.requirement("M-09")
def test_both_engines_agree_on_random_programs():
    cases, differences = cross_engine.run(20_000, seed=20_261_121)
    assert cases >= 20_000
    assert not differences, "\n".join(map(str, differences[:5]))


def test_the_questions_are_worth_asking():
    """Most are right, many are refused for all sorts of reasons, few are not text."""
    answered, reasons, functions = Counter(), Counter(), Counter()
    for number in range(3000):
        for question, native, _ in cross_engine.ask(7, number):
            functions[question.partition("(")[0]] += 1
            if isinstance(native, tuple) and len(native) == 6:
                answered["refused"] += 1
                reasons[native[1]] += 1
            else:
                answered[native if isinstance(native, str) else "value"] += 1
    assert answered["value"] > 0.4 * answered.total(), answered
    assert answered["refused"] > 0.2 * answered.total(), answered
    assert len(reasons) > 35, reasons
    assert len(functions) > 30, functions
    assert "AttributeError" not in answered, answered


def test_one_seed_is_one_program():
    assert [*cross_engine.ask(3, 14)] == [*cross_engine.ask(3, 14)]
    assert [*cross_engine.ask(3, 14)] != [*cross_engine.ask(4, 14)]


@pytest.mark.parametrize(
    "tampered",
    [
        {"check_subject": lambda *_, **__: None},
        {"covers": lambda *_: True},
        {"flatten_host": lambda host: "x"},
        {"source_of": lambda subject: None},
    ],
    ids=lambda tampered: next(iter(tampered)),
)
def test_a_difference_is_found(monkeypatch, tampered):
    honest = vars(cross_engine.NATIVE)
    monkeypatch.setattr(cross_engine, "NATIVE", SimpleNamespace(**{**honest, **tampered}))
    _, differences = cross_engine.run(5000, seed=1)
    assert differences
    assert str(differences[0]).startswith(f"round {differences[0].round}: {next(iter(tampered))}")


def test_a_difference_in_an_index_is_found(monkeypatch):
    def trie(**options):
        made = cross_engine.REFERENCE.SubjectTrie(**options)
        if options.get("dialect") == "strict":
            made.add("a.b", "nobody")
        return made

    monkeypatch.setattr(cross_engine, "NATIVE", SimpleNamespace(SubjectTrie=trie))
    monkeypatch.setattr(cross_engine.cross_questions, "_FAMILIES", [])
    monkeypatch.setattr(cross_engine.cross_questions, "FAMILIES", 0)
    _, differences = cross_engine.run(500, seed=1)
    assert differences


def test_the_command_says_what_it_did(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["cross_engine.py", "--cases", "500", "--seed", "5"])
    assert cross_engine.main() == 0
    assert "cases, seed 5, 0 differences" in capsys.readouterr().out
    monkeypatch.setattr(
        cross_engine,
        "NATIVE",
        SimpleNamespace(**{**vars(cross_engine.NATIVE), "covers": lambda *_: True}),
    )
    assert cross_engine.main() == 1
