"""Run all indexes on the same files and print one table.

    python benches/peers [--sizes 1000,6000] [--only core,gsl,python,turns] [--repeat 3]
                         [--baseline DIR] [--rounds 2] [--record]

The figures that are compared with a target are measured first, all programs in turn, round by round
(``interleaved.py``); ``--baseline`` adds another build of this package, in the folder of a
repository, to them, and ``--rounds`` bounds their rounds, for a try. Then all programs measure one
size before the next one starts. Answers are compared before any time is shown: if they differ, the
exit code is 1 and nothing is recorded.
Without Go, the table has a note instead. ``--record`` writes a dated record to
``benches/records/``: about 15 minutes; of ``--only turns``, one that has only those rows.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import interleaved
import programs
import table
from record import record, written
from rows import Row, best, disagreeing

SIZES = "1000,6000,100000,600000,1000000"
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
    options.add_argument("--only", default="core,gsl,python,turns")
    options.add_argument("--baseline", type=Path, help="the repository of another build")
    options.add_argument("--rounds", type=int, help="the most rounds of programs in turn")
    options.add_argument("--record", action="store_true", help="write a dated record")
    options.add_argument(
        "--repeat", type=int, default=1, help="number of runs, of which the best figures are kept"
    )
    given = options.parse_args()
    sizes = sorted(int(size) for size in given.sizes.split(","))
    only = given.only.split(",")

    notes: list[str] = []
    core = built("the core", programs.core, notes) if {"core", "turns"} & {*only} else None
    gsl = built("gsl", programs.gsl, notes) if {"gsl", "turns"} & {*only} else None
    runs: list[Row] = []
    if "turns" in only:
        old = given.baseline
        old_core = (
            built("the core of the baseline", lambda: programs.core(old), notes) if old else None
        )
        for size in (*interleaved.SIZES, interleaved.IMAGE):
            passing(f"{size:,} subscriptions: writing the files")
            programs.write_files(size)
        try:
            runs += interleaved.Interleaved(core, gsl, old, old_core, given.rounds).rows(say)
        except programs.Missing as missing:
            print(missing, file=sys.stderr)
            return 1
    alone = [path if name in only else None for name, path in (("core", core), ("gsl", gsl))]
    for size in sizes:
        passing(f"{size:,} subscriptions: writing the files")
        programs.write_files(size)
        for turn in range(given.repeat):
            for name, run in programs.of(size, sizes, *alone, "python" in only, passing):
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
        path = written(made, "turns" if only == ["turns"] else "peers")
        say(
            f"recorded in benches/records/{path.name}; tools/performance_page.py generates the page"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
