"""The measuring programs: build each if necessary, run it for one size, and read its rows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from rows import Row, of_pytest

BENCHES = Path(__file__).resolve().parent.parent
ROOT = BENCHES.parent
GO = BENCHES / "peers" / "go"
WORKLOADS = BENCHES / "workloads"
# The indexes whose memory is measured from Python, with the largest size.
HOLDING = {"subtrie, Python": 10**9, "reference, Python": 100_000, "paho-mqtt, Python": 100_000}

Say = Callable[[str], None]


class Missing(Exception):
    """A program that cannot run on this machine, and why; the table has a note instead."""


#: The benchmarks in Python whose rows belong in the table; others are on other pages.
OF_THE_INDEX = [
    f"benches/test_bench_{what}.py" for what in ("match", "batch", "changes", "questions")
]


def _lines(command: list[str], **more: object) -> Iterator[str]:
    """Yield the lines of a program while it runs."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, **more) as running:  # type: ignore[call-overload]
        assert running.stdout is not None
        yield from running.stdout
    if running.returncode:
        raise Missing(f"{Path(command[0]).name} ended with {running.returncode}")


def _rows(command: list[str]) -> Iterator[Row]:
    for line in _lines(command):
        yield json.loads(line)


def write_files(size: int) -> None:
    """Generate the workload files of a size if they are missing."""
    command = [sys.executable, "benches/workload.py", "--sizes", str(size)]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)


def core(folder: Path = ROOT) -> Path:
    """Compile the benchmark of the crate, in the folder of its repository."""
    command = ["cargo", "bench", "--locked", "-p", "subtrie", "--bench", "core", "--no-run"]
    told = subprocess.run(
        [*command, "--message-format=json"], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    for line in told.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "core":
            return Path(message["executable"])
    raise Missing("the benchmark of the core did not compile")


def gsl() -> Path:
    """Compile the Go program."""
    if shutil.which("go") is None:
        raise Missing("Go is not installed (https://go.dev/dl/)")
    told = subprocess.run(["go", "build", "-o", "gsl", "."], cwd=GO, text=True, capture_output=True)
    if told.returncode:
        last = (told.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Missing(f"go build: {last}")
    return GO / "gsl"


def run_core(program: Path, size: int, parts: list[str]) -> Iterator[Row]:
    """Run the benchmark of the crate and yield its rows."""
    given = ["--folder", str(WORKLOADS), "--sizes", str(size), "--parts", ",".join(parts)]
    return _rows([str(program), *given])


def run_gsl(program: Path, size: int, parts: list[str]) -> Iterator[Row]:
    """Run the Go program and yield its rows."""
    given = ["-folder", str(WORKLOADS), "-sizes", str(size), "-parts", ",".join(parts)]
    return _rows([str(program), *given])


def run_python(size: int, first: bool, say: Say) -> Iterator[Row]:
    """Run pytest-benchmark and yield its rows; sizes after the first skip what has no size."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        command = [sys.executable, "-m", "pytest", *OF_THE_INDEX, "-v", "--benchmark-only"]
        command += [f"--benchmark-json={report}", "--benchmark-columns=median", "--no-header"]
        if not first:
            command += ["-k", "not cost_of_a_call and not other_questions"]
        ended = None
        for line in _lines_until_the_end(command, os.environ | {"SIZES": str(size)}):
            if "::" in line:
                say(line.split("::", 1)[1].strip())
            ended = line
        if not report.exists() or report.stat().st_size == 0:
            raise Missing(f"pytest: {ended}")
        yield from of_pytest(json.loads(report.read_text()))
    for who, most in HOLDING.items():
        if 10_000 <= size <= most:  # smaller sizes fit into memory that the process has already
            say(f"memory of {who}")
            yield from _rows([sys.executable, "benches/python_memory.py", who, str(size)])


def of(
    size: int, sizes: list[int], core: Path | None, gsl: Path | None, python: bool, say: Say
) -> Iterator[tuple[str, Iterator[Row]]]:
    """List the programs for a size: growth for the largest one only, readers for 6,000 only."""
    parts = ["lookups", "memory", "changes"] + (["grow"] if size == max(sizes) else [])
    if core:
        more = ["readers"] if size == 6_000 else []
        yield "core", run_core(core, size, parts + more)
    if gsl:
        yield "gsl", run_gsl(gsl, size, parts)
    if python:
        yield "Python", run_python(size, size == min(sizes), say)


def _lines_until_the_end(command: list[str], env: dict[str, str]) -> Iterator[str]:
    """Yield lines like ``_lines``, and continue if one benchmark fails."""
    try:
        yield from _lines(command, env=env)
    except Missing as failed:
        print(f"  {failed}", file=sys.stderr)
