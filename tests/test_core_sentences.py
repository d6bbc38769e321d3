"""The sentences of the core's reasons: written once, in Rust, and the same in Python."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from subtrie import _reasons as reasons

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import core_sentences  # noqa: E402


def test_python_has_the_sentences_of_the_core() -> None:
    sentences = core_sentences.core_sentences()
    assert len(sentences) > 70
    for code, sentence in sentences.items():
        assert reasons.REASONS[code].sentence == sentence
    table = core_sentences.TABLE.read_text()
    assert core_sentences.updated(table) == table


def test_a_changed_sentence_is_written_and_a_missing_code_is_an_error() -> None:
    table = core_sentences.TABLE.read_text()
    changed = table.replace('"a token is empty"', '"another sentence"')
    assert changed != table
    assert core_sentences.updated(changed) == table
    with pytest.raises(LookupError, match="empty-token"):
        core_sentences.updated(table.replace('"empty-token": Reason', '"other": Reason'))


def test_every_code_that_the_core_makes_has_a_sentence() -> None:
    made = re.compile(
        r'(?:Error::(?:at|new)|refused|violation)\((?:\s*(?:\w+|"prefix"),)?\s*"([a-z0-9 -]+)"'
    )
    found = set()
    for file in (*ROOT.glob("src/**/*.rs"), *ROOT.glob("crates/*/src/**/*.rs")):
        if file.parent.name != "error":
            found |= set(made.findall(file.read_text()))
    assert len(found) > 50
    assert found <= set(core_sentences.core_sentences())
