"""Measure the audit of a log of 1 GiB with a driver heap of 1 GiB: time, partitions, memory.

The log is the capture of the Go example application, repeated. Each repetition is shifted in time
past the previous one, with a gap of more than one second, and has its own connection numbers. So
windows that are open at the end of a repetition close there, no two repetitions compete for a
delivery line, and the counts are multiples of those of one repetition, which is checked.

    python benches/audit_scale.py [--mib 1024] [--log FILE] [--heap 1g] [--here] [--threads PAIRS]

``--here`` audits in this process, without Spark. Its log has the connections of one repetition: the
others have their messages only. ``--threads`` compares one thread with two, each audit in a process
of its own, in turn; with the right to it, these have the priority of real time, as another process
on one of two cores hides what the second thread gains.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median

CAPTURE = Path(__file__).parents[1] / "examples" / "captures" / "go_app" / "trace.log"
RECORDS = Path(__file__).parent / "records"
FORM = "%Y/%m/%d %H:%M:%S.%f"


#: The lines that are left out where connections stay, and those that are repeated.
ENDS = re.compile(r"<<- \[(?:UNSUB|DELSUB)|<-> \[DELSUB|connection closed")
MESSAGE = re.compile(r" (?:<<-|->>) (?:\[H?(?:PUB|MSG) |MSG_PAYLOAD)")


def write_log(target: Path, size: int, *, connections_stay: bool = False) -> int:
    """Write the capture repeatedly up to ``size`` bytes; return the number of repetitions."""
    pieces = []
    front = re.compile(r"(\[\d+\] )(\S+ \S+)( .*? - cid:)(\d+)(.*)|(\[\d+\] )(\S+ \S+)( .*)")
    for line in CAPTURE.read_text().splitlines():
        found = front.fullmatch(line)
        assert found is not None
        pid, ts, mid, cid, rest, pid2, ts2, rest2 = found.groups()
        when = datetime.strptime(ts or ts2, FORM)
        pieces.append((pid or pid2, when, mid, int(cid) if cid else 0, rest if mid else rest2))
    first, last = pieces[0][1], max(piece[1] for piece in pieces)
    turn_length = last - first + timedelta(seconds=5)
    turns = written = 0
    with target.open("w") as out:
        while written < size:
            shift, base = turn_length * turns, 0 if connections_stay else turns * 100
            lines = []
            for pid, when, mid, cid, rest in pieces:
                whole = f"{mid}{rest}"
                if connections_stay and (
                    ENDS.search(whole) or (turns and not MESSAGE.search(whole))
                ):
                    continue
                stamp = (when + shift).strftime(FORM)
                number = f"{mid}{cid + base}" if mid else ""
                lines.append(f"{pid}{stamp}{number}{rest}\n")
            text = "".join(lines)
            out.write(text)
            written += len(text)
            turns += 1
    return turns


def left_out(line: str, *, first: bool) -> bool:
    """Whether a line is not in a log whose connections are those of the first repetition."""
    return bool(ENDS.search(line)) if first else not MESSAGE.search(line)


class Memory:
    """Samples the peak memory of the JVM, the driver and any one Python worker."""

    def __init__(self) -> None:
        self.peak = {"jvm": 0, "driver": 0, "worker": 0, "workers_together": 0}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(0.5):
            told = subprocess.run(
                ["ps", "-eo", "pid,ppid,rss,comm"], capture_output=True, text=True, check=False
            )
            children: dict[int, list[tuple[int, int, str]]] = {}
            for row in told.stdout.splitlines()[1:]:
                pid, parent, rss, name = row.split(None, 3)
                children.setdefault(int(parent), []).append((int(pid), int(rss) // 1024, name))
            together, below = 0, list(children.get(os.getpid(), []))
            while below:
                pid, rss, name = below.pop()
                below.extend(children.get(pid, []))
                if name.startswith("java"):
                    self._note("jvm", rss)
                elif name.startswith("python"):
                    self._note("worker", rss)
                    together += rss
            self._note("workers_together", together)
            with open("/proc/self/status") as status:
                own = next(line for line in status if line.startswith("VmRSS"))
            self._note("driver", int(own.split()[1]) // 1024)

    def _note(self, what: str, mib: int) -> None:
        self.peak[what] = max(self.peak[what], mib)


def main() -> None:
    """Generate the log, run the audit, check its counts and write a record."""
    options = argparse.ArgumentParser()
    options.add_argument("--mib", type=int, default=1024)
    options.add_argument("--heap", default="1g")
    options.add_argument("--log", type=Path, help="keep the log here, and use it when it is there")
    options.add_argument("--here", action="store_true", help="audit in this process")
    options.add_argument("--threads", type=int, metavar="PAIRS", help="compare one with two")
    options.add_argument("--once", type=int, metavar="THREADS", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.once:
        print(json.dumps(run_on(given.once, given.log)))
        return

    with tempfile.TemporaryDirectory() as scratch:
        log = given.log or Path(scratch) / "trace.log"
        turns_file = log.with_suffix(".turns")
        if not turns_file.exists():
            turns_file.write_text(
                str(write_log(log, given.mib * 1024 * 1024, connections_stay=given.here))
            )
        turns = int(turns_file.read_text())
        if given.threads:
            name, record = "threads", run_in_turn(log, given.threads)
        elif given.here:
            name, record = "here", run_here(log)
        else:
            name, record = "scale", run(log, turns, given.heap)
    RECORDS.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    path = RECORDS / f"audit-{name}-{now:%Y-%m-%d}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


def run_here(log: Path) -> dict:
    """Run one audit in this process."""
    import resource

    from subtrie.audit import audit

    began, size = time.perf_counter(), log.stat().st_size
    before = resource.getrusage(resource.RUSAGE_SELF)
    with audit([str(log)]) as result:
        took = time.perf_counter() - began
        published = result.counters["published"]
        assert published == sum(line.count(b" <<- [PUB ") for line in log.open("rb"))
        used = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, "
            f"Python {platform.python_version()}",
            "load_average": os.getloadavg()[1],
            "log_mib": round(size / 2**20),
            "lines": result.summary["lines"],
            "published": published,
            "seconds": round(took, 1),
            "cpu_seconds": round(used.ru_utime + used.ru_stime - before.ru_utime
                                 - before.ru_stime, 1),
            "peak_mib": used.ru_maxrss // 1024,
        }  # fmt: skip


_TIMES = ("seconds", "cpu_seconds", "divider_cpu_seconds")


def run_in_turn(log: Path, pairs: int) -> dict:
    """Run audits with one thread and with two, in turn, and return the medians."""
    command = [sys.executable, __file__, "--log", str(log), "--once"]
    found: dict[str, list[dict]] = {"1": [], "2": []}
    for _ in range(pairs):
        for threads, runs in found.items():
            done = subprocess.run(
                [*command, threads], check=True, stdout=subprocess.PIPE, text=True
            )
            runs.append(json.loads(done.stdout))
    medians = {
        threads: {name: round(median(run[name] for run in runs), 3) for name in _TIMES}
        for threads, runs in found.items()
    }
    one, two = medians["1"], medians["2"]
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}",
        "load_average": round(os.getloadavg()[1], 1),
        "log_mib": round(log.stat().st_size / 2**20),
        "pairs": pairs,
        "real_time": all(run["real_time"] for runs in found.values() for run in runs),
        "medians": medians,
        "seconds": {name: [run["seconds"] for run in runs] for name, runs in found.items()},
        "one_to_two": round(one["seconds"] / two["seconds"], 2),
        "divider_share": round(one["divider_cpu_seconds"] / one["cpu_seconds"], 3),
    }


def run_on(threads: int, log: Path) -> dict[str, float]:
    """Audit a log on some cores; return the times, and the CPU time of a pass of the divider."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    import pyarrow as pa

    from subtrie.audit import audit
    from subtrie.audit._readers.log_reader import divide, whole_logs

    pa.set_cpu_count(threads)
    began, used = time.perf_counter(), time.process_time()
    with audit([str(log)]):
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - used
    used = time.process_time()
    for _ in divide(whole_logs([str(log)])[0]):
        pass
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "divider_cpu_seconds": round(time.process_time() - used, 2),
        "real_time": os.sched_getscheduler(0) == os.SCHED_FIFO,
    }


def run(log: Path, turns: int, heap: str) -> dict:
    """Run one audit, and time each step."""
    from subtrie.audit._readers.log_reader import divide, whole_logs
    from subtrie.spark import audit
    from subtrie.spark._sessions.local_session import local_session

    steps: list[list] = []

    def step(name: str, rows: int = 0) -> None:
        steps.append([name, time.perf_counter()])

    with Memory() as memory:
        step("session")
        size = log.stat().st_size
        spark = local_session(memory=heap, log_bytes=size)
        partitions = len(list(divide(whole_logs([str(log)])[0])))
        with audit(spark, [str(log)], step=step) as result:
            step("end")
            summary = result.summary
            edges = sum(1 for _ in result.rows("call_graph"))
            published = sum(row["published"] for row in result.rows("call_graph"))
            published += sum(row["published"] for row in result.rows("replies"))
            unheard = sum(row["count"] for row in result.rows("undelivered"))
    took = steps[-1][1] - steps[0][1]
    capture = CAPTURE.read_text()
    assert summary["lines"] == turns * capture.count("\n"), summary
    assert published == turns * capture.count("<<- [PUB "), published
    assert summary["unmatched"] == summary["unparseable_lines"] == 0, summary
    assert unheard == turns * 29, unheard
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}",
        "load_average": round(os.getloadavg()[1], 1),
        "real_time": os.sched_getscheduler(0) == os.SCHED_FIFO,
        "log_mib": round(size / 2**20),
        "lines": summary["lines"],
        "partitions": partitions,
        "driver_heap": heap,
        "seconds": round(took, 1),
        "lines_per_second": round(summary["lines"] / took),
        "steps": {a[0]: round(b[1] - a[1], 1) for a, b in pairwise(steps)},
        "peak_mib": memory.peak,
        "edges": edges,
        "summary": summary,
    }


if __name__ == "__main__":
    main()
