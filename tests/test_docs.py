"""Every snippet of the documentation runs and prints what the page says.

A page is one story: its ``python`` blocks share their names, its ``console`` blocks share a folder.
``text file=NAME`` writes that file first. ``...`` in an expected output stands for anything. Of
``make`` lines only the target is checked: make itself runs this test.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
PAGES += sorted(ROOT.glob("examples/**/README.md"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
RUN = {"python", "console"}
SHOWN_ONLY = {"text", "toml", "json", "mermaid", "rust", "dot", ""}


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if p.exists()], ids=_name)
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__page__"}
    for block in MarkdownIt().parse(page.read_text()):
        if block.type != "fence":
            continue
        kind, *options = block.info.split() or [""]
        line = block.map[0] + 2
        if kind == "python":
            _python(block.content, names, page, line)
        elif kind == "console":
            _console(block.content, tmp_path, page, line)
        else:
            assert kind in SHOWN_ONLY, f"{_name(page)}:{line}: unknown kind of block {kind!r}"
            for option in options:
                (tmp_path / option.removeprefix("file=")).write_text(block.content)


def _python(text: str, names: dict[str, object], page: Path, line: int) -> None:
    if ">>>" not in text:
        exec(compile("\n" * (line - 1) + text, page, "exec", dont_inherit=True), names)
        return
    test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line - 1)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not report, f"{_name(page)}:{line}\n" + "".join(report)


def _console(text: str, folder: Path, page: Path, line: int) -> None:
    for step in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, wanted = step.partition("\n")
        while command.endswith("\\"):
            more, _, wanted = wanted.partition("\n")
            command = command[:-1] + more.removeprefix("> ")
        if command.startswith("make "):
            target = command.split()[1]
            makefile = (ROOT / "Makefile").read_text()
            assert re.search(rf"^{target}:", makefile, re.M), f"{_name(page)}: {command}"
            continue
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path, "COLUMNS": "100", "ROOT": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        got = done.stdout + done.stderr
        matched = doctest.OutputChecker().check_output(wanted, got, FLAGS)
        assert matched, f"{_name(page)}:{line}: {command}\n-- wanted\n{wanted}\n-- got\n{got}"


@pytest.mark.parametrize("writer", ["errors_table.py", "performance_page.py"])
def test_written_pages_are_up_to_date(writer):
    command = [sys.executable, f"tools/{writer}", "--check"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test_a_wrong_page_fails(tmp_path):
    """The checker itself can fail: in Python and in a console."""
    with pytest.raises(AssertionError):
        _python(">>> 1 + 1\n3\n", {}, ROOT / "README.md", 1)
    with pytest.raises(AssertionError):
        _console("$ echo a\nb\n", tmp_path, ROOT / "README.md", 1)
