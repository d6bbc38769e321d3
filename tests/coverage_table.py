"""Which requirement has a test? Prints the table, and rewrites ``tests/requirements.csv``.

A test carries a requirement by having its id in its name or in the id of a parameter: ``S0-041`` or
``S0_041`` (``s0_041`` in Rust). Columns of the CSV: the id, its area, the statement, and the
evidence: names of tests, else the decision that settles it, else ``not yet``.
"""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
TABLE = TESTS / "requirements.csv"

NOT_YET = "not yet"

_ID = re.compile(r"(?<![a-z0-9])(s[0-4][-_]\d{3}|[mp][-_]\d{2})(?![a-z0-9])", re.IGNORECASE)
_RUST_FUNCTION = re.compile(r"^\s*fn (\w+)", re.MULTILINE)

#: Rows that no test can carry, or none need: the decision that settles them.
DECIDED = {
    "S2-019": "A43",
    "S0-083": "A10",
}


def named_in(text: str) -> set[str]:
    """The requirement ids that a name carries."""
    return {found.replace("_", "-").upper() for found in _ID.findall(text)}


def python_tests() -> list[str]:
    """Every test pytest collects, as ``file::name[parameters]``."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if collected.returncode != 0:
        said = (collected.stdout + collected.stderr).splitlines()
        raise RuntimeError("the tests cannot be collected:\n" + "\n".join(said[-20:]))
    return [line for line in collected.stdout.splitlines() if "::" in line]


def rust_tests() -> list[str]:
    """Every function of a Rust file that holds tests, as ``file::name``."""
    return [
        f"{file.relative_to(ROOT)}::{name}"
        for file in sorted([*(ROOT / "src").rglob("*.rs"), *TESTS.rglob("*.rs")])
        if "#[test]" in (text := file.read_text(encoding="utf-8"))
        for name in _RUST_FUNCTION.findall(text)
    ]


def evidence() -> dict[str, list[str]]:
    """The tests that carry each requirement: the function's name, parameters left out."""
    carried: defaultdict[str, set[str]] = defaultdict(set)
    for test in [*python_tests(), *rust_tests()]:
        name = test.split("[", 1)[0].removeprefix("tests/")
        for requirement in named_in(test.split("::", 1)[1]):
            carried[requirement].add(name)
    return {requirement: sorted(names) for requirement, names in carried.items()}


def rows() -> list[dict[str, str]]:
    """The committed table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def renewed() -> list[dict[str, str]]:
    """The table as the tests of this tree make it."""
    table, carried = rows(), evidence()
    unheard_of = sorted(set(carried) - {row["id"] for row in table})
    if unheard_of:
        raise ValueError(f"tests name requirements that do not exist: {', '.join(unheard_of)}")
    for row in table:
        row["evidence"] = "; ".join(carried.get(row["id"], ())) or (
            f"decision {DECIDED[row['id']]}" if row["id"] in DECIDED else NOT_YET
        )
    return table


def as_csv(table: list[dict[str, str]]) -> str:
    """The text of ``requirements.csv``."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ["id", "area", "statement", "evidence"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()


def main() -> None:
    """Prints the table and rewrites the CSV."""
    table = renewed()
    for row in table:
        print(f"{row['id']:7} {row['area']:10} {row['evidence']}")
    print()
    for area in sorted({row["area"] for row in table}):
        mine = [row for row in table if row["area"] == area]
        open_rows = sum(row["evidence"] == NOT_YET for row in mine)
        print(f"{area:10} {len(mine) - open_rows:4} of {len(mine):4} rows have a test or decision")
    TABLE.write_text(as_csv(table), encoding="utf-8")


if __name__ == "__main__":
    main()
