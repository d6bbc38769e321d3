"""Commands with all that they print, in every format, and their exit codes.

``python tests/command/test_answers_in_full.py`` writes what they print now: read the difference.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from answered_files import FILES
from click.testing import CliRunner

from subtrie._cli.app import app

PATH = Path(__file__).with_name("answers.txt")
_COMMAND = re.compile(r"^\$ subtrie (.+)\n((?:.*\n)*?)\[(\d)\]\n", re.MULTILINE)


def recorded() -> dict[str, tuple[str, int]]:
    """Return what each command printed, and its exit code."""
    found = _COMMAND.findall(PATH.read_text(encoding="utf-8"))
    return {command: (printed, int(code)) for command, printed, code in found}


def written(folder: Path) -> Path:
    """Write the files that the commands read."""
    for name, content in FILES.items():
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o600)
    return folder


def answer(command: str) -> tuple[str, int]:
    """Run a command in the folder of the files, and return what it prints, and its exit code."""
    done = CliRunner().invoke(app, command.split(), input="", prog_name="subtrie")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    text = done.output
    return text if text.endswith("\n") or not text else text + "\n", done.exit_code


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(tmp_path_factory.mktemp("answers"))


@pytest.mark.parametrize("command", recorded())
def test_a_command_prints_what_is_recorded(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert answer(command) == recorded()[command]


def test_a_colon_in_a_subject_was_printed_as_a_picture(folder, monkeypatch):
    """``:A:`` was an emoji, and ``[b]`` in a subject was taken for a style."""
    monkeypatch.chdir(folder)
    for words in ("acl who x:A:y one.conf", "acl who x[b]y[/b]:cat: one.conf",
                  "acl who a:A:y jsz.conf jsz.json --verb read",
                  "acl streams jsz.json --subject x[b]:cat:"):  # fmt: skip
        printed, _ = answer(words)
        assert words.split()[2] in printed or words.split()[-1] in printed
        assert printed.isascii()


if __name__ == "__main__":
    import tempfile

    commands = list(recorded())
    with tempfile.TemporaryDirectory() as made:
        os.chdir(written(Path(made)))
        answers = {each: answer(each) for each in (*commands, *sys.argv[1:])}
    PATH.write_text(
        "\n".join(f"$ subtrie {each}\n{text}[{code}]\n" for each, (text, code) in answers.items()),
        encoding="utf-8",
    )
