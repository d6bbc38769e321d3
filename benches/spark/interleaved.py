"""Run the steps of a benchmark in turn, and measure the time and the CPU time of each.

The CPU time is that of this process and all its descendants: the JVM and the Python workers. On a
machine with other work it changes less than the time does.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parents[1] / "records"
_TICKS = os.sysconf("SC_CLK_TCK")

Steps = dict[str, Callable[[], object]]


def descendants() -> list[int]:
    """Return this process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [os.getpid()]
    for pid in found:
        found += children.get(pid, [])
    return found


def cpu_seconds() -> float:
    """Return the CPU time of this process and its descendants, ended ones included."""
    ticks = 0
    for pid in descendants():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS


def worker_memory() -> dict[str, int]:
    """Return the memory of the largest Python worker in MiB.

    ``worker_mib`` is its peak, pages of mapped files included, which workers share;
    ``worker_file_mib`` is how much of its memory now are such pages.
    """
    found = {"worker_mib": 0, "worker_file_mib": 0}
    for pid in descendants()[1:]:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        if status.startswith("Name:\tpython") and "VmHWM" in status:
            peak, files = (
                int(status.partition(f"{name}:")[2].split()[0]) // 1024
                for name in ("VmHWM", "RssFile")
            )
            if peak > found["worker_mib"]:
                found = {"worker_mib": peak, "worker_file_mib": files}
    return found


def measure(steps: Steps, rounds: int, *, warm: bool = True) -> dict[str, dict[str, float]]:
    """Run each step once in every round; return the medians by step."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    if warm:
        for run in steps.values():
            run()
    for _ in range(rounds):
        for name, run in steps.items():
            began, used = time.perf_counter(), cpu_seconds()
            run()
            taken[name].append((time.perf_counter() - began, cpu_seconds() - used))
            print(name, *(f"{value:.2f}" for value in taken[name][-1]), file=sys.stderr, flush=True)
    return {
        name: {
            "seconds": round(statistics.median(wall for wall, _ in each), 2),
            "cpu_seconds": round(statistics.median(cpu for _, cpu in each), 2),
        }
        for name, each in taken.items()
    }


def ratios(medians: dict[str, dict[str, float]], to: str) -> dict[str, list[float]]:
    """Return time and CPU time of each step as multiples of those of another."""
    unit = medians[to]
    return {
        name: [
            round(each["seconds"] / unit["seconds"], 3),
            round(each["cpu_seconds"] / unit["cpu_seconds"], 3),
        ]
        for name, each in medians.items()
    }


def write_record(name: str, record: dict[str, Any]) -> None:
    """Write a dated record, and print it."""
    now = datetime.now(UTC)
    head = {
        "date": f"{now:%Y-%m-%d}",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}",
        "load_average": round(os.getloadavg()[1], 1),
        "real_time": os.sched_getscheduler(0) == os.SCHED_FIFO,
    }
    RECORDS.mkdir(exist_ok=True)
    text = json.dumps(head | record, indent=1) + "\n"
    (RECORDS / f"{name}-{now:%Y-%m-%d}.json").write_text(text)
    print(text, end="")
