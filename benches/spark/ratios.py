"""Time the audit of a trace log as a multiple of Spark's own expressions on the same log.

Every round runs each step once, in turn; the record has the medians and their ratios to
``regexp_extract`` cutting each line into nine columns. The session is started before;
``first_audit`` is its first run, which the medians leave out. The audit runs in this process too,
on all cores and on one. Usage: ``python benches/spark/ratios.py [--mib 128] [--rounds 3]``.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from interleaved import measure, ratios, worker_memory, write_record

from audit_scale import write_log

#: The line of an operation, in nine groups. No lazy or overlapping repetition: this is the fastest
#: of four expressions that were tried, and the strongest rival.
LINE = (
    r"^\[(\d+)\] (\S+) (\S+) \[(\w+)\] (\S+) - (\S+) - "
    r"(?:\"[^\"]*\" - )?(\S+) \[?(\S+) ?(.*)$"
)
#: The columns of events that are timed: five texts among them.
COLUMNS = (
    *("offset", "until", "time", "conn", "identity", "op", "subject", "sid", "size"),
    *("deliveries", "refused"),
)


def steps(spark: Any, log: str) -> dict[str, Callable[[], object]]:
    """Return what is timed, by its name in the record."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    from subtrie.audit import audit as audit_here
    from subtrie.spark import audit, register

    register(spark)

    def drain(df: Any) -> None:
        df.write.format("noop").mode("overwrite").save()

    def audited() -> int:
        with audit(spark, [log]) as result:
            return int(result.summary["lines"])

    def audited_here(cores: set[int]) -> int:
        all_cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores)
        pa.set_cpu_count(len(cores))
        try:
            with audit_here([log]) as result:
                return int(result.summary["lines"])
        finally:
            os.sched_setaffinity(0, all_cores)
            pa.set_cpu_count(len(all_cores))

    lines = spark.read.text(log)
    cut = [F.regexp_extract("value", LINE, group).alias(f"c{group}") for group in range(1, 10)]
    events = spark.read.format("nats-trace").load(log)
    return {
        "regexp_extract": lambda: drain(lines.select(*cut)),
        "count_lines": lambda: lines.count(),
        "events": lambda: drain(events.select(*COLUMNS)),
        "audit": audited,
        "audit_here": lambda: audited_here(os.sched_getaffinity(0)),
        "audit_here_one_core": lambda: audited_here({min(os.sched_getaffinity(0))}),
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
        # The first run compiles code and starts workers.
        first = measure({"audit": timed["audit"]}, 1, warm=False)["audit"]
        for name in ("count_lines", "events"):
            timed[name]()
        medians = measure(timed, given.rounds, warm=False) | {"first_audit": first}
        worker = worker_memory()
        here_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        spark.stop()
    record = {
        "log_mib": round(size / 2**20),
        "driver_heap": given.heap,
        "rounds": given.rounds,
        **worker,
        "here_mib": here_mib,
        "medians": medians,
        "mib_per_second": {
            name: round(size / 2**20 / each["seconds"], 1) for name, each in medians.items()
        },
        "times_regexp_extract": ratios(medians, "regexp_extract"),
    }
    write_record("spark-ratios", record)


if __name__ == "__main__":
    main()
