"""The judgement of `make mutants` on a mutant in Python: which tests it gets, what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import mutants
import python_mutants

_SOURCE = """\
LIMIT = 1
@staticmethod
def one(first=2,
        second=3):
    if (first and
            second):
        return 1
    try:
        return 2
    except ValueError:
        return (3 +
                4)
class Kind:
    size = 5
"""


def test_the_files_and_tests_of_each_part_are_there() -> None:
    for name, part in mutants.PARTS.items():
        stages = [stage for stage in part.stages if stage.program == "extension"]
        for pattern in (*part.files, *part.tests, *(f for s in stages for f in s.filters)):
            assert any(mutants.ROOT.glob(pattern)), (name, pattern)


def test_an_annotation_is_not_executed() -> None:
    source = "def f(a: int | None) -> int | str:\n    x: int | str = a | 1\n"
    same = {source.replace(part, part.replace("|", "&")) for part in ("t | N", "t | s", "a | 1")}
    assert len({python_mutants.executed(each) for each in (*same, source)}) == 2
    with pytest.raises(SyntaxError):
        python_mutants.executed("break")


@pytest.mark.parametrize(
    ("lines", "statement"),
    [((1, 2, 3, 4, 13, 14), None), ((5, 6), (5, 7)), ((8,), (8, 9)), ((9,), (9, 10)),
     ((10,), (10, 11)), ((11, 12), (11, 13))],
)  # fmt: skip
def test_a_statement_is_known_by_its_lines_unless_it_is_executed_at_import(lines, statement):
    expected = statement and range(*statement)
    assert [python_mutants.statement(_SOURCE, line) for line in lines] == [expected] * len(lines)


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [("x = 2\n", "killed"), ("x = 1 \n", "survived"), ("while True: pass\n", "timeout")],
)
def test_a_mutant_is_killed_by_a_test_that_fails_each_time(changed, verdict, tmp_path, monkeypatch):
    monkeypatch.setattr(python_mutants, "_LEAST_CPU", 3.0)
    (tmp_path / "part.py").write_text("x = 1\n")
    test = tmp_path / "test_part.py"
    test.write_text("from part import x\ndef test_x():\n    assert x == 1\n")
    tree = python_mutants.Tree(tmp_path)
    tree.compile(["test_part.py"])
    assert len(list(tmp_path.rglob("*.pyc"))) == 2
    mutant = python_mutants.Mutant("part.py", "", 0)
    assert tree.verdict(mutant, changed, ["test_part.py::test_x"], 0.0) == verdict
    assert (tmp_path / "part.py").read_text() == "x = 1\n"


def test_a_test_that_fails_once_kills_nothing(tmp_path):
    (tmp_path / "part.py").write_text("x = 1\n")
    (tmp_path / "test_part.py").write_text(
        "from pathlib import Path\n"
        "def test_x():\n    seen = Path('seen')\n    if not seen.exists():\n"
        "        seen.touch()\n        raise AssertionError\n"
    )
    mutant = python_mutants.Mutant("part.py", "", 0)
    tree = python_mutants.Tree(tmp_path)
    assert tree.verdict(mutant, "x = 2\n", ["test_part.py::test_x"], 0.0) == "survived"


def test_the_time_in_which_others_run_does_not_count(monkeypatch):
    queued = [0.0]
    monkeypatch.setattr(python_mutants, "_queued", lambda process: queued[0])
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as run:
        assert not python_mutants._wait(run, 0.5, 60.0)
        queued[0] = 1e9
        run.stdin.close()
        assert python_mutants._wait(run, 0.5, 60.0)
    assert python_mutants._queued(run.pid) == 1e9
    monkeypatch.undo()
    assert python_mutants._queued(run.pid) == 0.0, "it has ended"
    assert python_mutants._queued(os.getpid()) >= 0.0
