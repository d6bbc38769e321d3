"""A start of Spark that fails leaves the process as it was: the next one can be tried."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from subtrie.spark._sessions import local_session

#: A Java that is new enough, and whose JVM ends at once. It may interrupt its Python process first.
JAVA = """#!/bin/sh
case "$*" in *-version*) echo 'openjdk version "17.0.1"' >&2; exit;; esac
echo "no room for a heap" >&2
kill $SIGNAL $SUBTRIE_TEST_PID
exit 1
"""
#: Starts a session three times, and prints what each start did to the process.
PROGRAM = """
import json, os, signal, sys
from subtrie.spark import SparkStartError, cluster_session

def files():
    return {each: os.readlink(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{each}")}

os.environ["SUBTRIE_TEST_PID"] = str(os.getpid())
told = []
for number, sent in enumerate(("-0", "-INT", "-0")):
    os.environ["SIGNAL"] = sent
    before = files(), signal.getsignal(signal.SIGINT)
    try:
        cluster_session("local[1]")
    except (SparkStartError, KeyboardInterrupt) as error:
        told.append([type(error).__name__, "no room for a heap" in str(error)])
    told[-1].append((files(), signal.getsignal(signal.SIGINT)) == before)
    print("after start", number, file=sys.stderr, flush=True)
print(json.dumps(told))
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_a_start_that_fails_leaves_signals_and_files_as_they_were(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(JAVA)
    java.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False,
        env={**os.environ, "JAVA_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.stderr.splitlines() == ["after start 0", "after start 1", "after start 2"]
    failed = ["SparkStartError", True, True]
    assert json.loads(done.stdout) == [failed, ["KeyboardInterrupt", False, True], failed]


def test_a_handler_that_a_session_installs_stays() -> None:
    """It cancels the jobs of the session."""

    def of_the_session(*_: object) -> None: ...

    before = signal.getsignal(signal.SIGINT)
    try:
        with local_session._interrupts_deferred():
            signal.signal(signal.SIGINT, of_the_session)
        assert signal.getsignal(signal.SIGINT) is of_the_session
    finally:
        signal.signal(signal.SIGINT, before)
