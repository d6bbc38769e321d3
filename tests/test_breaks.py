"""The table of what ``make breaks`` breaks fits the tree: each text is where the row says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
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
