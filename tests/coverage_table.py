"""List which tests are evidence for which requirement.

Run as a script, it prints the table and rewrites ``tests/requirements.csv``.

A Python test carries a requirement as a marker, ``@pytest.mark.requirement("S0-041")``; a Rust test
in a comment directly above it, ``// requirement: S0-080, S0-081``. The columns of the CSV are the
id, its area, the source (a document and its lines), the statement, a digest of these, and the
evidence: names of tests, else the decision that settles it, else ``not yet``. The script never
writes a digest: who changes a statement writes the one that the failing test prints. Where every
test of a row may be skipped on some machine, the evidence says so.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent
ROOT = TESTS.parent
TABLE = TESTS / "requirements.csv"
DECISIONS = ROOT / "docs" / "decisions.md"

#: The SHA-256 of each document that the statements are from.
SOURCES = {
    "000": "628361f67da809eb7671446dc8b92d70fd0badacfc3d5309e53b6bb0989e0fb3",
    "001": "e043cca481db7c0f0ecc824d1f25a9983dd5e81f3c201a369c6a25c9bb0087b2",
    "002": "97c5b66d3705218feb74fa0f182b41ab9475f2da0ea9d69c0d3a67ea41fe2b0d",
    "003": "86dc511ae2927b417e81278d591d0a2802e879c1465e33e2bd0de2c0bcb961d1",
    "004": "ee0db3eca355469532be70bda578a63bb8deaf593cc58bb492c01c49f354108e",
    "card": "",
}
COLUMNS = ("id", "area", "source", "statement", "digest", "evidence")

NOT_YET = "not yet"
MAY_BE_SKIPPED = " (may be skipped)"

#: Rows that no test can carry, or none need: the decision that settles them.
DECIDED = {
    "S2-019": "A43",
    "S0-083": "A10",
}

#: The row that asks for a test or a decision for every other row: this table answers it.
EVERY_ROW = "M-01"

#: The tests of this table are not evidence for anything in it.
_OWN_TESTS = "test_requirements.py"

_THREAT = re.compile(r"T\d+")
_RUST_TEST = re.compile(
    r"^[ \t]*// requirement: (?P<ids>[^\n]+)\n(?:^[ \t]*(?://|#\[)[^\n]*\n)*"
    r"^[ \t]*fn (?P<name>\w+)",
    re.MULTILINE,
)
_DECISION = re.compile(r"^- \*\*(A\d+a?)\*\* ", re.MULTILINE)


class Evidence(NamedTuple):
    """A test that carries a requirement."""

    test: str
    may_skip: bool


@cache
def python_tests() -> list[dict[str, object]]:
    """Collect the tests of the files that name requirements, and whether each may be skipped."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requirements.json"
        environment = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
        paths = [str(TESTS), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
        command += ["-m", "cluster or not cluster"]  # those of other targets are evidence too
        command += ["-p", "requirement_plugin", "--requirements-to", str(file)]
        command += [str(path) for path in sorted(TESTS.rglob("test_*.py"))
                    if "requirement" in path.read_text(encoding="utf-8")]  # fmt: skip
        collected = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if collected.returncode != 0:
            output = (collected.stdout + collected.stderr).splitlines()
            raise RuntimeError("the tests cannot be collected:\n" + "\n".join(output[-20:]))
        tests: list[dict[str, object]] = json.loads(file.read_text(encoding="utf-8"))
    return tests


def carried_in_rust(source: str) -> dict[str, set[str]]:
    """Find the functions of a Rust file that carry requirements, with these."""
    return {
        match["name"]: set(re.split(r",\s*", match["ids"].strip()))
        for match in _RUST_TEST.finditer(source)
    }


def rust_files() -> list[Path]:
    """Return the files that hold tests in Rust, sorted."""
    return sorted(
        file for name in ("src", "crates", "tests") for file in (ROOT / name).rglob("*.rs")
    )


@cache
def evidence() -> dict[str, list[Evidence]]:
    """Map each requirement, decision and threat to the tests that carry it."""
    carried: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for each in python_tests():
        file, _, name = str(each["test"]).partition("::")
        if file.endswith(_OWN_TESTS):
            continue
        test = f"{file.removeprefix('tests/')}::{name.partition('[')[0]}"
        for requirement in each["requirements"]:
            tests = carried[requirement]
            tests[test] = tests.get(test, True) and bool(each["may_skip"])
    for file in rust_files():
        source = file.read_text(encoding="utf-8")
        for name, requirements in carried_in_rust(source).items():
            test = f"{file.relative_to(ROOT)}::{name}".removeprefix("tests/")
            for requirement in requirements:
                carried[requirement][test] = False
    return {
        requirement: [Evidence(test, tests[test]) for test in sorted(tests)]
        for requirement, tests in carried.items()
    }


def digest(row: dict[str, str]) -> str:
    """Return the digest of a statement with its id and source."""
    document = SOURCES[row["source"].partition(":")[0]]
    text = "\n".join((row["id"], document, row["source"], row["statement"]))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def rows() -> list[dict[str, str]]:
    """Read the committed table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def renewed() -> list[dict[str, str]]:
    """Return the table as the tests of this tree make it.

    Raises:
        ValueError: A test carries an id that is not in the table, not a decision of the page and
            not a threat.
    """
    table, carried = rows(), evidence()
    known = {row["id"] for row in table} | set(decisions())
    unknown = sorted(each for each in set(carried) - known if not _THREAT.fullmatch(each))
    if unknown:
        raise ValueError(f"tests carry ids that do not exist: {', '.join(unknown)}")
    for row in table:
        tests = carried.get(row["id"], [])
        row["evidence"] = "; ".join(each.test for each in tests)
        if tests and all(each.may_skip for each in tests):
            row["evidence"] += MAY_BE_SKIPPED
        if not tests:
            decided = DECIDED.get(row["id"])
            row["evidence"] = f"decision {decided}" if decided else NOT_YET
    others = {row["evidence"] for row in table if row["id"] != EVERY_ROW}
    for row in table:
        if row["id"] == EVERY_ROW:
            row["evidence"] = NOT_YET if NOT_YET in others else "this table"
    return table


def as_csv(table: list[dict[str, str]]) -> str:
    """Return the text of ``requirements.csv``."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()


def decisions() -> list[str]:
    """List the numbers of the decisions on the page."""
    return _DECISION.findall(DECISIONS.read_text(encoding="utf-8"))


def main() -> None:
    """Print the table, and rewrite the CSV."""
    table = renewed()
    for row in table:
        print(f"{row['id']:7} {row['area']:10} {row['evidence']}")
    print()
    for area in sorted({row["area"] for row in table}):
        own = [row["evidence"] for row in table if row["area"] == area]
        skipped = sum(text.endswith(MAY_BE_SKIPPED) for text in own)
        print(
            f"{area:10} {len(own) - own.count(NOT_YET):4} of {len(own):4} rows have a test or "
            f"decision; of {skipped} every test may be skipped"
        )
    TABLE.write_text(as_csv(table), encoding="utf-8")


if __name__ == "__main__":
    main()
