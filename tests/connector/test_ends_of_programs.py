"""``subtrie run --reload``: the program it started ends, and files that are gone hide no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from subtrie._cli import run as run_command

DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); input()"
KIND = "print(flush=True); input()"


@pytest.mark.parametrize(("program", "code"), [(DEAF, -9), (KIND, -15), ("print()", 0)])
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_program_is_ended_whether_it_listens_or_not(
    program: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_command, "_STOP_LIMIT", 0.2 if code == -9 else 60)
    started = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert started.stdout is not None
    started.stdout.readline()
    if code == 0:
        started.wait()
    run_command._end(started)
    assert started.returncode == code
    started.communicate()


def test_a_file_that_is_gone_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(6):
        Path(f"{number}.py").touch()
        Path(f"gone{number}.py").symlink_to("nowhere")
    assert {Path(each).name for each in run_command._files()} == {f"{n}.py" for n in range(6)}
