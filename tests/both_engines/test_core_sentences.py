"""The sentences of the core's reasons: written once, in Rust, and the same in Python."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from subtrie._core import reasons

ROOT = Path(__file__).resolve().parents[2]
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


def test_no_code_is_typed_twice() -> None:
    """Errors hold kinds; only the tables of the kinds have the text of a code."""
    # A code of one word, such as `port`, is also the name of a field.
    codes = {code for code in core_sentences.core_sentences() if "-" in code or " " in code}
    assert len(codes) > 50
    typed = {}
    for file in (*ROOT.glob("src/**/*.rs"), *ROOT.glob("crates/*/src/**/*.rs")):
        if file in core_sentences.CORE:
            continue
        product = file.read_text().partition("#[cfg(test)]")[0]
        lines = (line for line in product.splitlines() if not line.lstrip().startswith("//"))
        if found := codes.intersection(re.findall(r'"([^"\n]*)"', "\n".join(lines))):
            typed[str(file.relative_to(ROOT))] = found
    assert not typed
