"""Files of creds are complete or absent, also if a run is killed or another program writes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from patience import wait_until
from subtrie.gencreds import write_all


def test_a_killed_run_leaves_nothing_for_the_next(tmp_path):  # B22
    folder = tmp_path / "creds"
    folder.mkdir()
    program = (
        "import os, signal\nfrom subtrie.gencreds import write_all\n"
        "count = 0\n"
        "def sync(handle, real=os.fsync):\n"
        "    global count\n    count += 1\n    real(handle)\n"
        "    if count == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "os.fsync = sync\n"
        f"write_all([('seed', os.path.join({str(folder)!r}, f'{{n}}.creds')) for n in range(9)])\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=False).returncode
    assert ended == -signal.SIGKILL
    assert len(list(folder.iterdir())) == 3
    write_all([("text", folder / "a.creds")])
    assert [each.name for each in folder.iterdir()] == ["a.creds"]


@pytest.mark.skipif(os.name != "posix", reason="folders are locked on POSIX")
def test_runs_that_write_into_one_folder_wait_for_each_other(tmp_path, monkeypatch):
    import fcntl

    asked, lock = [], fcntl.flock
    monkeypatch.setattr(
        fcntl, "flock", lambda to, how: (asked.append(os.fstat(to).st_ino), lock(to, how))
    )
    folders = [tmp_path / "b", tmp_path / "a"]
    for each in folders:
        each.mkdir()
    files = [("text", each / "x.creds") for each in folders]
    for each in folders:
        held = os.open(each, os.O_RDONLY)
        lock(held, fcntl.LOCK_EX)
        asked.clear()
        writing = threading.Thread(target=write_all, args=(files,))
        writing.start()
        own = each.stat().st_ino
        wait_until(lambda own=own, run=writing: own in asked or not run.is_alive())
        waits = writing.is_alive()
        os.close(held)
        writing.join()
        assert (waits, [path.read_text() for _, path in files]) == (True, ["text", "text"])


def test_what_another_program_puts_there_meanwhile_is_not_written_to(tmp_path, monkeypatch):
    (tmp_path / "target").write_text("before")
    (tmp_path / ".a.creds.0.subtrie-part").symlink_to("target")
    monkeypatch.setattr(Path, "glob", lambda *_: [])  # it was not there yet
    with pytest.raises(FileExistsError):
        write_all([("text", tmp_path / "a.creds")])
    assert (tmp_path / "target").read_text() == "before"


def test_a_link_to_a_folder_is_replaced_and_a_folder_is_not(tmp_path):
    folder, link = tmp_path / "folder", tmp_path / "a.creds"
    folder.mkdir()
    link.symlink_to(folder)
    write_all([("text", link)])
    assert (link.is_symlink(), link.read_text()) == (False, "text")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_all([("text", link), ("text", folder)])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.creds", "folder"]
