"""The benchmarks keep working: each row answers as the others do, untimed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("row", ["native", "reference", "cached_reference", "paho"])
def test_M_13_every_rival_gives_the_same_answers(row):
    """The benchmark itself compares all answers with the reference before it would time them."""
    wanted = f"test_match and {row}-1000-zipf"
    command = [sys.executable, "-m", "pytest", "-q", "benches", "--benchmark-disable", "-k", wanted]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


def test_M_13_every_reader_reads_as_many_operations_and_every_name_is_fine():
    command = [sys.executable, "-m", "pytest", "-q", "benches/test_bench_wire.py"]
    command += ["benches/test_bench_names.py", "--benchmark-disable"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout
