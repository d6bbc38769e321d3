"""Break the product on purpose, once for each row of a table, and see whether its tests fail.

    python tools/breaks.py [--row S0-040 …] [--record]

``tests/breaks.toml`` names a requirement, a file, a text in it and what replaces it. The tests are
those of the requirement in ``tests/requirements.csv``, or those that the row names. They run in a
copy of the tree, so the original is never changed. Exit 1 if the tests of a row pass although the
product is broken.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mutants
import reliability_record

ROOT = reliability_record.ROOT
TABLE = ROOT / "tests" / "breaks.toml"
_LIMIT = 600.0  # seconds for the tests of one row


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


def failures(folder: Path, tests: list[str]) -> list[str]:
    """Run the tests in a folder up to the first that fails, and return its name."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-rfE", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder / "python")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False,
            timeout=_LIMIT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return ["(did not end)"]
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    found = re.findall(r"^(?:FAILED|ERROR) (\S+?)(?:\[|$| - )", done.stdout, re.MULTILINE)
    return list(dict.fromkeys(name.removeprefix("tests/") for name in found))


def main() -> int:
    """Break, run, print, and write the record if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--row", action="append", help="only the breaks of this requirement")
    parser.add_argument("--record", action="store_true", help="write docs/records/breaks-*.json")
    options = parser.parse_args()
    chosen = [row for row in breaks() if options.row is None or row["id"] in options.row]
    results, started = [], time.monotonic()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        mutants.copy_tree(folder)
        for row in chosen:
            path, text = folder / row["file"], broken(row)
            path.write_text(text, encoding="utf-8")
            failed = failures(folder, tests_of(row))
            path.write_text((ROOT / row["file"]).read_text(encoding="utf-8"), encoding="utf-8")
            print(
                f"{row['id']:7} {row['what']}: {', '.join(failed) or 'NOTHING FAILED'}", flush=True
            )
            results.append({"id": row["id"], "break": row["what"], "failed": failed})
    silent = [each["id"] for each in results if not each["failed"]]
    print(f"{len(results)} breaks, {len(silent)} of them not noticed {' '.join(silent)}")
    if options.record:
        figures = {
            "breaks": len(results),
            "not noticed": silent,
            "results": results,
            "minutes": round((time.monotonic() - started) / 60, 1),
        }
        print(reliability_record.write("breaks", "make breaks", None, figures))
    return int(bool(silent))


if __name__ == "__main__":
    raise SystemExit(main())
