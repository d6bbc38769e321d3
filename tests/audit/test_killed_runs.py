"""The files that a killed run leaves: never published, and removed by a later run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from trace_writer import Trace

from subtrie.spark import audit, open_audit

#: An audit that tells of each move of its commit, and waits after the one it is killed at.
PROGRAM = """
import sys, time
from subtrie.spark import audit
from subtrie.audit._runs.run_folder import RunFolder

log, out, last = sys.argv[1], sys.argv[2], int(sys.argv[3])


class Told:
    def __init__(self, files):
        self.files, self.moves = files, 0

    def __getattr__(self, name):
        return getattr(self.files, name)

    def move(self, source, target):
        self.files.move(source, target)
        self.moves += 1
        if self.moves == last:
            print("moved", flush=True)
            time.sleep(600)


commit = RunFolder.commit


def told_commit(self, *arguments):
    self.files = Told(self.files)
    commit(self, *arguments)


RunFolder.commit = told_commit
audit(None, [log], out=out)
"""


def write_log(path: Path, subject: str) -> str:
    trace = Trace()
    trace.publish(1, subject)
    path.write_text(trace.text())
    return str(path)


def killed_run(log: str, out: Path, moves: int) -> None:
    """Run an audit, and kill its process after a number of moves of its commit."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, log, str(out), str(moves)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"moved\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def subjects(out: Path) -> set[Any]:
    with open_audit(out) as result:
        return {row["subject"] for row in result.rows("other_traffic")}


def unpublished(out: Path) -> set[str]:
    """Return the names that the manifest does not name."""
    tables = json.loads((out / "audit.json").read_text())["tables"]
    return {path.name for path in out.iterdir()} - {
        "audit.json",
        *(entry["file"] for entry in tables.values()),
    }


def age(out: Path, names: set[str], hours: float) -> None:
    """Make entries, and what is in them, as old as if the run had been killed hours ago."""
    then = time.time() - hours * 3600
    for name in names:
        for path in (*(out / name).glob("**/*"), out / name):
            os.utime(path, (then, then))


@pytest.mark.requirement("P-10")
@pytest.mark.parametrize("earlier", [True, False])
def test_a_later_run_removes_what_a_killed_process_left(tmp_path, earlier):
    """Not what is younger than a day: that run may still be at work."""
    out = tmp_path / "out"
    if earlier:
        audit(None, [write_log(tmp_path / "old.log", "a.old")], out=out)
    killed_run(write_log(tmp_path / "killed.log", "a.killed"), out, 2 if earlier else 8)
    assert any(path.name.startswith(".staging-") for path in out.iterdir())
    if earlier:
        assert subjects(out) == {"a.old"}
    else:
        with pytest.raises(FileNotFoundError):
            open_audit(out)
    next_log = write_log(tmp_path / "next.log", "a.next")
    audit(None, [next_log], out=out)
    left = unpublished(out)
    assert subjects(out) == {"a.next"}
    (staging,) = (name for name in left if name.startswith(".staging-"))
    age(out, left, 23)
    audit(None, [next_log], out=out)
    assert unpublished(out) == left
    age(out, left, 25)
    (out / staging / "part").write_bytes(b"")
    age(out, {staging}, 25)
    os.utime(out / staging / "part")  # the run still writes
    audit(None, [next_log], out=out)
    assert unpublished(out) == {staging}
    age(out, {staging}, 25)
    audit(None, [next_log], out=out)
    assert unpublished(out) == set()
    assert subjects(out) == {"a.next"}
