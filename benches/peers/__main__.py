"""Run all indexes on the same files and print one table.

    python benches/peers [--sizes 1000,6000] [--only core,gsl,python] [--repeat 3] [--record]

All programs measure one size before the next one starts, so that compared figures are measured at
nearly the same time. Answers are compared before any time is shown: if they differ, the exit code
is 1 and nothing is recorded. Without Go, the table has a note instead. ``--record`` writes a dated
record to ``benches/records/``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import programs
import table
from record import record, written
from rows import Row, best, disagreeing

SIZES = "1000,6000,10000,100000,600000,1000000"
STARTED = time.monotonic()


def say(text: str, *, passing: bool = False) -> None:
    """Print progress to stderr; a passing line is overwritten, and omitted without a terminal."""
    line = f"{time.monotonic() - STARTED:5.0f} s  {text}"
    if not sys.stderr.isatty():
        if not passing:
            print(line, file=sys.stderr, flush=True)
        return
    end = "" if passing else "\n"
    print(f"\r\033[K{line[:100]}", end=end, file=sys.stderr, flush=True)


def passing(text: str) -> None:
    """Print progress that the next line overwrites."""
    say(text, passing=True)


def built(name: str, build: Callable[[], Path], notes: list[str]) -> Path | None:
    """Build a program; if that is impossible, add a note and return None."""
    passing(f"building {name}")
    try:
        return build()
    except programs.Missing as missing:
        notes.append(f"{name}: {missing}")
        say(notes[-1])
        return None


def main() -> int:
    """Run, print and record; return the exit code."""
    options = argparse.ArgumentParser(description="Compare the index with its rivals.")
    options.add_argument("--sizes", default=SIZES)
    options.add_argument("--only", default="core,gsl,python")
    options.add_argument("--record", action="store_true", help="write a dated record")
    options.add_argument(
        "--repeat", type=int, default=1, help="number of runs, of which the best figures are kept"
    )
    given = options.parse_args()
    sizes = sorted(int(size) for size in given.sizes.split(","))
    only = given.only.split(",")

    notes: list[str] = []
    core = built("the core", programs.core, notes) if "core" in only else None
    gsl = built("gsl", programs.gsl, notes) if "gsl" in only else None
    runs: list[Row] = []
    for size in sizes:
        passing(f"{size:,} subscriptions: writing the files")
        programs.write_files(size)
        for turn in range(given.repeat):
            for name, run in programs.of(size, sizes, core, gsl, "python" in only, passing):
                say(f"{size:,} subscriptions, run {turn + 1} of {given.repeat}: {name}")
                try:
                    for row in run:
                        runs.append(row)
                        passing(f"{name}: {row['who']}, {row['measure']}")
                except programs.Missing as missing:
                    notes.append(f"{name}, {size:,} subscriptions: {missing}")
                    say(notes[-1])
    rows = best(runs)
    made = record(rows, list(dict.fromkeys(notes)), sizes, given.repeat, gsl)
    table.show(made)
    wrong = disagreeing(rows)
    for line in wrong:
        print(f"ANSWERS DIFFER: {line}", file=sys.stderr)
    if wrong:
        return 1
    if given.record:
        path = written(made)
        say(
            f"recorded in benches/records/{path.name}; tools/performance_page.py generates the page"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
