"""The table of what ``make breaks`` breaks fits the tree: each text is where the row says."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import breaks  # noqa: E402

ROWS = breaks.breaks()


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['id']}-{row['what']}" for row in ROWS])
def test_a_break_changes_one_place_and_names_its_tests(row):
    before = (ROOT / row["file"]).read_text(encoding="utf-8")
    assert breaks.broken(row) != before
    tests = breaks.tests_of(row)
    assert tests
    assert all((ROOT / test.partition("::")[0]).is_file() for test in tests)


def test_a_text_that_is_not_there_once_is_refused():
    row = {**ROWS[0], "old": "e"}
    with pytest.raises(ValueError, match="times 'e'"):
        breaks.broken(row)


def test_the_wheel_to_break_is_that_of_this_tree(tmp_path, monkeypatch):
    row = {"file": "python/subtrie/one.py"}
    monkeypatch.setattr(breaks, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="is missing: run make wheel"):
        breaks.built_wheel([row])
    (tmp_path / "target" / "wheel").mkdir(parents=True)
    wheel = tmp_path / "target" / "wheel" / "subtrie-1-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("subtrie/one.py", "a = 1\n")
    (tmp_path / "python" / "subtrie").mkdir(parents=True)
    file = tmp_path / row["file"]
    file.write_text("a = 1\n")
    assert breaks.built_wheel([row]) == wheel
    file.write_text("a = 2\n")
    with pytest.raises(SystemExit, match=r"another python/subtrie/one\.py: run make wheel"):
        breaks.built_wheel([row])


def test_a_test_that_fails_without_a_break_is_told(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(
        "import pytest\ndef test_good(): pass\ndef test_bad(): assert False\n"
    )
    good, bad = ({"failed": [f"test_it.py::test_{name}"]} for name in ("good", "bad"))
    assert breaks.failing_anyway(tmp_path, [{"failed": ["(did not end)"]}], None) == []
    assert breaks.failing_anyway(tmp_path, [good], None) == []
    assert breaks.failing_anyway(tmp_path, [good, bad], None) == ["test_it.py::test_bad"]
