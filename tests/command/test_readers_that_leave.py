"""A reader of a pipe that has read enough, as ``head``: no command calls that an error."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import pytest
from test_answers_in_full import folder, recorded  # noqa: F401 - a fixture
from test_cli_verbs import leaves

from subtrie._cli.app import app


def commands() -> list[str]:
    """Return a command of each verb that prints an answer, and each in JSON."""
    found: dict[tuple[str, bool], str] = {}
    verbs = sorted((" ".join(path) for path, _ in leaves()), key=len, reverse=True)
    for command, (_, code, streams) in recorded().items():
        verb = next((each for each in verbs if f"{command} ".startswith(f"{each} ")), None)
        if verb is None or streams or code == 2 or "--help" in command or "#" in command:
            continue
        found.setdefault((verb, "json" in command.removeprefix(verb)), command)
    return list(found.values())


@pytest.mark.parametrize("command", commands())
def test_a_reader_that_leaves_is_not_an_error(command, folder, monkeypatch, capsys):  # noqa: F811
    monkeypatch.chdir(folder)
    end, into = os.pipe()
    os.close(end)
    with contextlib.suppress(BrokenPipeError), os.fdopen(into, "w", buffering=1) as left:
        monkeypatch.setattr(sys, "stdout", left)
        with pytest.raises(SystemExit) as ended:
            app.main(command.split(), "subtrie")
        monkeypatch.undo()
    assert (ended.value.code in (0, 1, None), capsys.readouterr().err) == (True, "")


def test_nearly_every_verb_is_among_them():
    """The others need a broker, or their answers are not recorded."""
    found = [" ".join(path) for path, _ in leaves()]
    asked = [each for each in found if any(f"{c} ".startswith(f"{each} ") for c in commands())]
    assert len(asked) > len(found) * 0.75, set(found) - set(asked)


def test_what_is_left_in_the_buffer_is_not_an_error_at_the_end(folder):  # noqa: F811
    program = subprocess.Popen(
        [sys.executable, "-m", "subtrie.cli", "audit", "shop.log"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )  # fmt: skip
    assert program.stdout is not None
    program.stdout.close()
    assert (program.communicate()[1], program.returncode) == (b"", 0)
