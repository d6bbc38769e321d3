"""The list of refused words works: each entry is found in a file that breaks it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_language  # noqa: E402

TABLE = tomllib.loads(check_language.LIST.read_text(encoding="utf-8"))
LANGUAGE = check_language.Language(TABLE)


def found(path: str, text: str) -> list[tuple[int, str]]:
    """The lines of a file and what is refused there, advice left out."""
    return [(each.line, each.found) for each in LANGUAGE.findings(path, text) if not each.is_advice]


@pytest.mark.parametrize("entry", TABLE["sentence"], ids=lambda entry: entry["text"])
def test_a_former_sentence_is_found_in_any_layout(entry):
    words = entry["text"].split()
    assert found("docs/page.md", " ".join(words).upper() + "\n")
    if words[0] != "#":
        halves = [" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])]
        assert found("src/file.rs", f"    // {halves[0]}\n    // {halves[1]}\n")
        assert found("python/subtrie/x.py", f'x = ("{halves[0]} "\n     "{halves[1]}")\n')


@pytest.mark.parametrize(
    ("path", "text", "line", "word"),
    [
        pytest.param("python/subtrie/x.py", '"""Return it.\n\nTo nobody.\n"""\n', 3, "nobody",
                     id="docstring"),
        pytest.param("python/subtrie/x.py", "x = 1\n# Taken by\n# whoever asks.\n", 3, "whoever",
                     id="comment"),
        pytest.param("python/subtrie/x.py", 'x = (\n    "a subject "\n    "is no name"\n)\n', 3,
                     "is no", id="message"),
        pytest.param("python/subtrie/x.py", 'def f():\n    """Who asks."""\n', 2, "Who",
                     id="first-sentence"),
        pytest.param("python/subtrie/x.py", '"""Return a name (S0-041)."""\n', 1, "S0-041",
                     id="requirement-in-a-first-sentence"),
        pytest.param("tests/test_x.py", "def test_nobody_hears():\n    pass\n", 1, "nobody",
                     id="name-of-a-test"),
        pytest.param("src/x.rs", "/// The border.\nfn f() {}\n", 1, "border", id="rust"),
        pytest.param("src/x.rs", 'fn f() { g("a hint is no name") }\n', 1, "is no",
                     id="rust-message"),
        pytest.param("src/x.rs", "struct Sides;\n", 1, "Sides", id="rust-name"),
        pytest.param("src/x.rs", "enum Part {}\n", 1, "enum Part", id="rust-definition"),
        pytest.param("docs/x.md", "Text.\n\nA row is taken from the shelf.\n", 3, "shelf",
                     id="markdown"),
        pytest.param("Makefile", "x: ## for nobody\n", 1, "nobody", id="makefile"),
        pytest.param("python/subtrie/spark/x.py", 'x = row["heard"]\n', 1, '"heard"', id="column"),
    ],
)  # fmt: skip
def test_a_bad_file_is_found(path, text, line, word):
    assert (line, word) in found(path, text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("docs/x.md", "`nobody` and\n\n```\nnobody\n```\n", id="code-in-markdown"),
        pytest.param("python/subtrie/x.py", 'x = "nobody"\n', id="string-without-a-space"),
        pytest.param("tests/test_x.py", 'x = "sent to nobody"\n', id="data-of-a-test"),
        pytest.param("src/x.rs", "let part: Part = Part::new();\n", id="ordinary-word-in-use"),
        pytest.param("docs/x.md", "There is no such subject, and there are no others.\n",
                     id="there-is-no"),
        pytest.param("docs/x.md", "A token is no longer than 63 bytes.\n", id="no-longer"),
    ],
)  # fmt: skip
def test_a_good_file_passes(path, text):
    assert not found(path, text)


def test_what_is_allowed_passes_and_what_is_not_used_fails(tmp_path, monkeypatch):
    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "page.md").write_text("Said of nobody.\nHeard of nobody.\n", encoding="utf-8")
    monkeypatch.setattr(check_language, "ROOT", tmp_path)
    entries = [
        {"path": "page.md", "text": "Said of", "reason": "quoted"},
        {"path": "page.md", "text": "not there", "reason": "outdated"},
    ]
    language = check_language.Language({**TABLE, "allow": entries})
    findings, unused = check_language.check(language, [str(tmp_path)])
    assert {each.line for each in findings} == {2}
    assert unused == ["page.md: not there"]


def test_every_entry_of_what_is_allowed_has_a_reason():
    assert all(entry.get("reason") for entry in TABLE.get("allow", []))
