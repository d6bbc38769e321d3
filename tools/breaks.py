"""Break the product on purpose, once for each row of a table, and see whether its tests fail.

    python tools/breaks.py [--row S0-040 …] [--jobs 2] [--record]

``tests/breaks.toml`` names a requirement, a file, a text in it and what replaces it. The tests are
those of the requirement in ``tests/requirements.csv``, or those that the row names. They run in a
copy of the tree, so the original is never changed; tests under ``tests/wheel/`` get the wheel of
``make wheel`` with the break in it. With ``--jobs`` several rows run at a time, each in a copy of
its own. Exit 1 if the tests of a row pass although the product is broken, or if a test that noticed
a break fails without one too.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mutants
import plain_wheel
import reliability_record

ROOT = reliability_record.ROOT
TABLE = ROOT / "tests" / "breaks.toml"
_LIMIT = 600.0  # seconds for the tests of one row
_CONTROL_LIMIT = 1800.0  # seconds for all tests that noticed a break, without one
_WHEEL = Path("target") / "wheel"


def breaks() -> list[dict[str, Any]]:
    """Return the rows of the table."""
    rows: list[dict[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["break"]
    return rows


def broken(row: dict[str, Any], root: Path = ROOT) -> str:
    """Return the text of the file with the break.

    Raises:
        ValueError: The text to replace is not there exactly once.
    """
    text = (root / row["file"]).read_text(encoding="utf-8")
    if text.count(row["old"]) != 1:
        raise ValueError(
            f"{row['id']}: {row['file']} has {text.count(row['old'])} times {row['old']!r}"
        )
    return text.replace(row["old"], row["new"])


def tests_of(row: dict[str, Any]) -> list[str]:
    """Return the tests that must fail, as arguments of pytest."""
    if "tests" in row:
        return [f"tests/{test}" for test in row["tests"]]
    with (ROOT / "tests" / "requirements.csv").open(encoding="utf-8", newline="") as file:
        evidence = {each["id"]: each["evidence"] for each in csv.DictReader(file)}
    names = evidence[row["id"]].removesuffix(" (may be skipped)").split("; ")
    return [
        f"tests/{name}" for name in names if ".py::" in name and not name.startswith("cluster/")
    ]


def needs_wheel(row: dict[str, Any]) -> bool:
    """Return whether tests of a row install the wheel."""
    return any(test.startswith("tests/wheel/") for test in tests_of(row))


def built_wheel(rows: list[dict[str, Any]]) -> Path:
    """Return the wheel of this tree, for rows whose tests install it.

    Raises:
        SystemExit: There is none, or a file that is to be broken differs in it.
    """
    found = sorted((ROOT / _WHEEL).glob("*.whl"))
    if not found:
        raise SystemExit("the wheel is missing: run make wheel")
    with zipfile.ZipFile(found[-1]) as opened:
        for row in rows:
            if (
                opened.read(row["file"].removeprefix("python/"))
                != (ROOT / row["file"]).read_bytes()
            ):
                raise SystemExit(f"the wheel has another {row['file']}: run make wheel")
    return found[-1]


def write_wheel(folder: Path, wheel: Path, row: dict[str, Any], text: str) -> None:
    """Write the wheel with a break where the tests in a folder look for it."""
    into = folder / _WHEEL
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        plain_wheel.wheel("unpack", wheel, "--dest", made)
        (unpacked,) = Path(made).iterdir()
        (unpacked / row["file"].removeprefix("python/")).write_text(text, encoding="utf-8")
        plain_wheel.wheel("pack", unpacked, "--dest-dir", into)  # with the hash of the new text


def failures(folder: Path, tests: list[str], *, limit: float = _LIMIT) -> list[str]:
    """Run the tests in a folder up to the first that fails, and return its name."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-rfE", "-p", "no:cacheprovider", *tests]
    command += ["-m", "not cluster"]  # those of the wheel too
    environment = {**os.environ, "PYTHONPATH": str(folder / "python")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False,
            timeout=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return ["(did not end)"]
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    found = re.findall(r"^(?:FAILED|ERROR) (\S+?)(?:\[|$| - )", done.stdout, re.MULTILINE)
    return list(dict.fromkeys(name.removeprefix("tests/") for name in found))


def run(row: dict[str, Any], folder: Path, wheel: Path | None) -> dict[str, Any]:
    """Break a copy of the tree, run the tests of the row there, and undo the break."""
    path, text = folder / row["file"], broken(row)
    path.write_text(text, encoding="utf-8")
    if wheel is not None and needs_wheel(row):
        write_wheel(folder, wheel, row, text)
    failed = failures(folder, tests_of(row))
    path.write_text((ROOT / row["file"]).read_text(encoding="utf-8"), encoding="utf-8")
    print(f"{row['id']:7} {row['what']}: {', '.join(failed) or 'NOTHING FAILED'}", flush=True)
    return {"id": row["id"], "break": row["what"], "failed": failed}


def failing_anyway(folder: Path, results: list[dict[str, Any]], wheel: Path | None) -> list[str]:
    """Run the tests that noticed a break in a copy without one; return the first that fails."""
    noticed = {name for each in results for name in each["failed"] if ".py" in name}
    if wheel is not None:
        (folder / _WHEEL).mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, folder / _WHEEL)
    tests = [f"tests/{name}" for name in sorted(noticed)]
    return failures(folder, tests, limit=_CONTROL_LIMIT) if tests else []


def main() -> int:
    """Break, run, print, and write the record if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--row", action="append", help="only the breaks of this requirement")
    parser.add_argument("--jobs", type=int, default=1, help="how many run at a time")
    parser.add_argument("--record", action="store_true", help="write docs/records/breaks-*.json")
    options = parser.parse_args()
    chosen = [row for row in breaks() if options.row is None or row["id"] in options.row]
    of_wheel = [row for row in chosen if needs_wheel(row)]
    wheel = built_wheel(of_wheel) if of_wheel else None
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(options.jobs) as pool:
        idle: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            mutants.copy_tree(Path(made) / str(number))
            idle.put(Path(made) / str(number))

        def run_idle(row: dict[str, Any]) -> dict[str, Any]:
            folder = idle.get()
            try:
                return run(row, folder, wheel)
            finally:
                idle.put(folder)

        results = list(pool.map(run_idle, chosen))
        anyway = failing_anyway(idle.get(), results, wheel)
    silent = [each["id"] for each in results if not each["failed"]]
    print(f"{len(results)} breaks, {len(silent)} of them not noticed {' '.join(silent)}")
    if anyway:
        print(f"without a break too: {' '.join(anyway)}")
    if options.record:
        figures = {
            "breaks": len(results),
            "fail without a break too": anyway,
            "not noticed": silent,
            "at a time": options.jobs,
            "results": results,
            "minutes": round((time.monotonic() - started) / 60, 1),
        }
        print(reliability_record.write("breaks", "make breaks", None, figures))
    return int(bool(silent or anyway))


if __name__ == "__main__":
    raise SystemExit(main())
