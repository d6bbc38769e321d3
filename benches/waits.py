"""Measure how long calls from Python wait for one another, at several rates of changes.

    python benches/waits.py [--size 6000] [--seconds 2] [--package DIR]

Three threads share one index: one calls ``match``, one ``match_batch`` with 10,000 subjects, one
adds and removes. Prints a JSON row for each rate and kind of call: how many calls, the median, the
99.9th percentile and the longest, in microseconds. Every thread also waits for the GIL, up to a
switch interval for each other thread. ``--package`` names the folder of another build of
``subtrie``, to be compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
RATES = {"none": 0, "10000/s": 10_000, "without pause": None}


def lines(size: int, name: str) -> list[str]:
    """Return the lines of a workload file."""
    return (FOLDER / "workloads" / str(size) / name).read_text().splitlines()


def timed(call: Callable[[], Any], done: threading.Event, waits: list[float]) -> None:
    """Call until it is over; note how long each call took."""
    clock = time.perf_counter
    while not done.is_set():
        before = clock()
        call()
        waits.append(clock() - before)


def churn(trie: Any, patterns: list[str], rate: int | None, done: Any, waits: list[float]) -> None:
    """Add and remove at a rate; note how long each change took."""
    clock, started, number = time.perf_counter, time.perf_counter(), 0
    handle = None
    while not done.is_set():
        if rate is not None and number >= (clock() - started) * rate:
            time.sleep(0.0005)
            continue
        before = clock()
        if handle is None:
            handle = trie.add(patterns[number % len(patterns)], number)
        else:
            trie.remove(handle)
            handle = None
        waits.append(clock() - before)
        number += 1


def measure(size: int, seconds: float, who: str) -> None:
    """Print the rows of all rates."""
    import subtrie

    trie = subtrie.SubjectTrie()
    trie.update(zip(lines(size, "patterns.txt"), range(size), strict=True))
    subjects, added = lines(size, "uniform.txt")[:10_000], lines(size, "added.txt")
    for writer, rate in RATES.items():
        done = threading.Event()
        waits: dict[str, list[float]] = {"match": [], "match_batch": [], "change": []}
        position = iter(subjects * 10_000)
        jobs = [
            (timed, lambda it=position: trie.match(next(it)), done, waits["match"]),
            (timed, lambda: trie.match_batch(subjects), done, waits["match_batch"]),
        ]
        if rate != 0:
            jobs.append((churn, trie, added, rate, done, waits["change"]))  # type: ignore[arg-type]
        threads = [threading.Thread(target=job[0], args=job[1:]) for job in jobs]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        done.set()
        for thread in threads:
            thread.join()
        for kind, found in waits.items():
            if found:
                found.sort()
                row = {"who": who, "measure": "waits", "size": size, "writer": writer}
                row |= {"call": kind, "calls": len(found)}
                quantiles = {"median_us": 0.5, "p999_us": 0.999, "max_us": 1.0}
                for name, share in quantiles.items():
                    row[name] = round(found[int((len(found) - 1) * share)] * 1e6, 1)
                print(json.dumps(row))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--size", type=int, default=6_000)
    options.add_argument("--seconds", type=float, default=2)
    options.add_argument("--package", help="the folder of another build")
    options.add_argument("--interval", type=float, default=5e-3, help="the switch interval")
    given = options.parse_args()
    if given.package:
        sys.path.insert(0, given.package)
    sys.setswitchinterval(given.interval)
    measure(given.size, given.seconds, "today" if given.package else "subtrie")
