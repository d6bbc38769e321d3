"""Every snippet of the documentation runs and prints what the page says.

A page is one story: its ``python`` blocks share their names, its ``console`` blocks share a folder.
A block with ``file=NAME``, also one of Python, is written to that file and not run. ``...`` in an
expected output stands for anything. Variables that a command exports hold for the following ones,
and programs in the background end with the page. Of ``make`` lines only the target is checked: make
itself runs this test. The ports 4222 and 8080 on a page stand for free ones.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest
from markdown_it import MarkdownIt

from servers import free_port

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
PAGES += sorted(ROOT.glob("examples/**/README.md"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
RUN = {"python", "console"}
PORTS = ("4222", "8080")  # of a broker, of a server of HTTP
SHOWN_ONLY = {"text", "toml", "json", "mermaid", "rust", "dot", "yaml", ""}


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if p.exists()], ids=_name)
def test_page(page, tmp_path, monkeypatch):
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.chdir(folder)
    text = page.read_text()
    for port in PORTS:
        if port in text:
            text = text.replace(port, str(free_port()))
    names: dict[str, object] = {"__name__": "__page__"}
    with Shell(folder, tmp_path) as shell:
        for block in MarkdownIt().parse(text):
            if block.type != "fence":
                continue
            kind, *options = block.info.split() or [""]
            line = block.map[0] + 2
            assert kind in RUN | SHOWN_ONLY, f"{_name(page)}:{line}: unknown kind {kind!r}"
            for option in options:
                (folder / option.removeprefix("file=")).write_text(block.content)
            if kind == "python" and not options:
                _python(block.content, names, page, line)
            elif kind == "console":
                _console(block.content, shell, page, line)


class Shell:
    """Runs the commands of a page one by one, as one terminal would."""

    def __init__(self, folder: Path, state: Path) -> None:
        self._folder = folder
        self._state = state
        self._background: list[int] = []  # process groups
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "COLUMNS": "100", "ROOT": str(ROOT)}
        del self._environment["PYTEST_CURRENT_TEST"]  # a reader's program is not a test

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *_: object) -> None:
        for group in self._background:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def run(self, command: str) -> str:
        """Return what a command prints; it goes on in the background if it ends in ``&``."""
        exported = self._state / "exported"
        exported.touch()
        # Files, because a pipe would stay open for as long as a program in the background runs.
        with (self._state / "out").open("w+b") as out, (self._state / "err").open("w+b") as err:
            done = subprocess.Popen(
                ["bash", "-c", f". {exported}\n{command}\nexport -p | grep -v PWD= > {exported}"],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            if "&" in command:
                self._background.append(done.pid)
            try:
                done.wait(300)
            except subprocess.TimeoutExpired:
                os.killpg(done.pid, signal.SIGKILL)
                raise
            return b"".join(_read(file) for file in (out, err)).decode()


def _read(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def _python(text: str, names: dict[str, object], page: Path, line: int) -> None:
    if ">>>" not in text:
        exec(compile("\n" * (line - 1) + text, page, "exec", dont_inherit=True), names)
        return
    test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line - 1)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not report, f"{_name(page)}:{line}\n" + "".join(report)


def _console(text: str, shell: Shell, page: Path, line: int) -> None:
    for step in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, wanted = step.partition("\n")
        while command.endswith("\\"):
            more, _, wanted = wanted.partition("\n")
            command += "\n" + more.removeprefix("> ")
        if command.startswith("make "):
            target = command.split()[1]
            makefile = (ROOT / "Makefile").read_text()
            assert re.search(rf"^{target}:", makefile, re.M), f"{_name(page)}: {command}"
            continue
        got = shell.run(command)
        matched = doctest.OutputChecker().check_output(wanted, got, FLAGS)
        assert matched, f"{_name(page)}:{line}: {command}\n-- wanted\n{wanted}\n-- got\n{got}"


@pytest.mark.parametrize(
    "writer",
    [
        *("columns_page.py", "errors_table.py", "findings_page.py"),
        *("performance_page.py", "readme_chart.py"),
    ],
)
def test_written_pages_are_up_to_date(writer):
    command = [sys.executable, f"tools/{writer}", "--check"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test_a_wrong_page_fails(tmp_path):
    """The checker itself can fail: in Python and in a console."""
    with pytest.raises(AssertionError):
        _python(">>> 1 + 1\n3\n", {}, ROOT / "README.md", 1)
    with pytest.raises(AssertionError):
        _console("$ echo a\nb\n", Shell(tmp_path, tmp_path), ROOT / "README.md", 1)
