"""Time the audit of a trace log as a multiple of Spark's own expressions on the same log.

Every round runs each step once, in turn; the record has the medians and their ratios to
``regexp_extract`` cutting each line into nine columns. The session is started before. Usage:
``python benches/spark/ratios.py [--mib 128] [--rounds 3]``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from audit_scale import RECORDS, write_log

#: The line of an operation, in nine groups.
LINE = (
    r"^\[(\d+)\] (\S+ \S+) \[(\w+)\] (\S+) - (\w+):(\d+)(?: - \"[^\"]*\")* - "
    r"(<<-|->>|<->) \[?([A-Z_+-]+):? ?(.*?)\]?$"
)
#: The columns of events that are timed: five texts among them.
COLUMNS = (
    *("offset", "until", "time", "conn", "identity", "op", "subject", "sid", "size"),
    *("deliveries", "refused"),
)


def steps(spark: Any, log: str) -> dict[str, Callable[[], object]]:
    """Return what is timed, by its name in the record."""
    from pyspark.sql import functions as F

    from subtrie.spark import audit, register

    register(spark)

    def drain(df: Any) -> None:
        df.write.format("noop").mode("overwrite").save()

    def audited() -> int:
        with audit(spark, [log]) as result:
            return int(result.summary["lines"])

    lines = spark.read.text(log)
    cut = [F.regexp_extract("value", LINE, group).alias(f"c{group}") for group in range(1, 10)]
    events = spark.read.format("nats-trace").load(log)
    return {
        "regexp_extract": lambda: drain(lines.select(*cut)),
        "count_lines": lambda: lines.count(),
        "events": lambda: drain(events.select(*COLUMNS)),
        "audit": audited,
    }


def main() -> None:
    """Generate the log, time each step in turn, and write a record."""
    options = argparse.ArgumentParser()
    options.add_argument("--mib", type=int, default=128)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--heap", default="1g")
    options.add_argument("--log", type=Path, help="keep the log here, and use it when it is there")
    given = options.parse_args()
    from subtrie.spark import local_session

    with tempfile.TemporaryDirectory() as scratch:
        log = given.log or Path(scratch) / "trace.log"
        if not log.exists():
            write_log(log, given.mib * 1024 * 1024)
        size = log.stat().st_size
        spark = local_session(memory=given.heap, log_bytes=size)
        timed = steps(spark, str(log))
        seconds: dict[str, list[float]] = {name: [] for name in timed}
        for name in ("count_lines", "events", "audit"):
            timed[name]()  # the first run of each compiles code and starts workers
        for _ in range(given.rounds):
            for name, run in timed.items():
                began = time.perf_counter()
                run()
                seconds[name].append(time.perf_counter() - began)
        spark.stop()
    medians = {name: statistics.median(took) for name, took in seconds.items()}
    now = datetime.now(UTC)
    record = {
        "date": f"{now:%Y-%m-%d}",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}",
        "load_average": os.getloadavg()[0],
        "log_mib": round(size / 2**20),
        "driver_heap": given.heap,
        "rounds": given.rounds,
        "median_seconds": {name: round(value, 2) for name, value in medians.items()},
        "mib_per_second": {n: round(size / 2**20 / value, 1) for n, value in medians.items()},
        "times_regexp_extract": {
            name: round(value / medians["regexp_extract"], 3) for name, value in medians.items()
        },
    }
    RECORDS.mkdir(exist_ok=True)
    text = json.dumps(record, indent=1) + "\n"
    (RECORDS / f"spark-ratios-{now:%Y-%m-%d}.json").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
