"""Measure how the audit scales: with rows, with subscriptions, with workers, and for small logs.

    python benches/spark/scale.py linear [--rows 100000000] [--unit 1000000]
    python benches/spark/scale.py subscriptions [--patterns 1000000] [--rows 1000000]
    python benches/spark/scale.py workers [--mib 512] [--rows 10000000] [--rounds 3]
    python benches/spark/scale.py small [--mib 16] [--rounds 5]

Each writes one record. ``linear`` compares the time of a row of a large table of events with that
of a small one. ``subscriptions`` reports the memory of the largest Python worker. ``workers`` runs
a standalone cluster of one worker with one core, and one of two, in turn. ``small`` times the
whole command, the start of the interpreter or of the session included.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "cluster"))
from interleaved import cpu_seconds, worker_memory, write_record

from audit_scale import write_log
from subjects import PATTERNS, pattern, write_subjects

HEAP = "1g"


def linear(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Audit two tables of messages, and compare the time of a row."""
    from subtrie.spark import audit, events, local_session

    spark = local_session(memory=HEAP, log_bytes=1 << 30)
    sizes = (given.unit, given.rows)
    for rows in sizes:
        write_subjects(folder / f"{rows}.parquet", rows, PATTERNS)
    found: dict[int, float] = {}
    with audit(spark, events(spark.read.parquet(str(folder / f"{given.unit}.parquet")))):
        pass  # the first run compiles code and starts workers
    for rows in sizes:
        began = time.perf_counter()
        with audit(spark, events(spark.read.parquet(str(folder / f"{rows}.parquet")))) as result:
            assert result.counters["published"] == rows
        found[rows] = time.perf_counter() - began
    memory = worker_memory()
    spark.stop()
    each = {rows: seconds / rows * 1e9 for rows, seconds in found.items()}
    return {
        "seconds": {str(rows): round(seconds, 2) for rows, seconds in found.items()},
        "nanoseconds_a_row": {str(rows): round(value) for rows, value in each.items()},
        "large_to_small": round(each[given.rows] / each[given.unit], 3),
        **memory,
    }


def subscriptions(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Audit events with many subscriptions."""
    from pyspark.sql import functions as F

    from subtrie.spark import EVENTS, audit, events, local_session

    spark = local_session(memory=HEAP, log_bytes=1 << 30)
    write_subjects(folder / "rows.parquet", given.rows, PATTERNS)
    messages = events(spark.read.parquet(str(folder / "rows.parquet")))
    number = F.col("id").cast("string")
    columns = {
        "server": F.lit("table"),
        "conn": F.concat(F.lit("-/client:s"), (F.col("id") % 1000).cast("string")),
        "op": F.lit("SUB"),
        "direction": F.lit("in"),
        "sid": number,
        "position": F.col("id"),
        "subject": F.when(
            F.col("id") < PATTERNS,
            F.concat(
                F.lit("prod.safe.443.*.service"),
                (F.col("id") % 500).cast("string"),
                F.lit("_example._.GET.items.v"),
                F.floor(F.col("id") / 500).cast("string"),
                F.lit(".*"),
            ),
        ).otherwise(
            F.concat(F.lit("prod.safe.443.*.other"), number, F.lit("_example._.GET.items.>"))
        ),
    }
    made = spark.range(0, given.patterns, 1, 4).select(
        *(columns.get(n, F.lit(None)).cast(kind).alias(n) for n, kind in EVENTS)
    )
    assert pattern(501) == "prod.safe.443.*.service1_example._.GET.items.v1.*"
    began = time.perf_counter()
    with audit(spark, messages.unionByName(made)) as result:
        assert result.count("coverage") == result.count("subscriptions") == given.patterns
        routed = sum(1 for row in result.rows("call_graph") if row["route"] is not None)
        assert routed == result.count("call_graph")
    seconds = time.perf_counter() - began
    memory = worker_memory()
    spark.stop()
    return {"seconds": round(seconds, 2), **memory}


_ON_CLUSTER = """
import sys, time
from subtrie.spark import audit, cluster_session, events
url, rounds, path = sys.argv[1:]
settings = {'spark.executor.memory': '512m', 'spark.sql.shuffle.partitions': '4'}
spark = cluster_session(url, settings=settings)
for turn in range(int(rounds) + 1):
    began = time.perf_counter()
    table = path.endswith('.parquet')
    with audit(spark, events(spark.read.parquet(path)) if table else [path]) as result: pass
    print(time.perf_counter() - began, flush=True)
"""


def workers(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Audit a log and a table of messages on a cluster of one worker, and on one of two."""
    from spark_servers import cluster, environment

    log = given.log or folder / "trace.log"
    if not log.exists():
        write_log(log, given.mib * 1024 * 1024)
    messages = folder / "messages.parquet"
    write_subjects(messages, given.rows, PATTERNS)
    inputs = {"log": str(log), "table": str(messages)}
    found: dict[str, dict[str, dict[str, float]]] = {name: {} for name in inputs}
    for name, path in inputs.items():
        for count in (1, 2):
            with ExitStack() as stack:
                home = folder / f"{name}-{count}"
                home.mkdir()
                made = stack.enter_context(cluster(home, workers=count))
                told = subprocess.Popen(
                    [sys.executable, "-c", _ON_CLUSTER, made.url, str(given.rounds), path],
                    env=environment(PYTHONPATH=str(Path(__file__).parents[2] / "python")),
                    stdout=subprocess.PIPE,
                    text=True,
                )
                assert told.stdout is not None
                # A line for each audit; the first one also starts the workers.
                lines = [(float(line), cpu_seconds()) for line in told.stdout]
                assert told.wait() == 0
            used = [after - before for (_, before), (_, after) in pairwise(lines)]
            found[name][str(count)] = {
                "seconds": round(statistics.median(seconds for seconds, _ in lines[1:]), 2),
                "cpu_seconds": round(statistics.median(used), 2),
            }
    return {
        "log_mib": round(log.stat().st_size / 2**20),
        "table_rows": given.rows,
        "workers": found["log"],
        "table_workers": found["table"],
        "cpu_of_two_to_one": {
            name: round(each["2"]["cpu_seconds"] / each["1"]["cpu_seconds"], 3)
            for name, each in found.items()
        },
    }


def small(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Time the command on a small log, as it is, and with Spark."""
    log = given.log or folder / "trace.log"
    if not log.exists():
        write_log(log, given.mib * 1024 * 1024 - 3_000_000)  # a repetition has 2.7 MB
    assert log.stat().st_size <= given.mib * 1024 * 1024
    command = [sys.executable, "-m", "subtrie.cli", "audit", str(log), "--json"]
    times: dict[str, list[float]] = {"command": [], "on_spark": []}
    for _ in range(given.rounds):
        for name, more in (("command", []), ("on_spark", ["--master", "local[*]"])):
            began = time.perf_counter()
            subprocess.run([*command, *more], check=True, stdout=subprocess.DEVNULL)
            times[name].append(time.perf_counter() - began)
    return {
        "log_mib": round(log.stat().st_size / 2**20, 1),
        "median_seconds": {n: round(statistics.median(each), 2) for n, each in times.items()},
    }


def main() -> None:
    """Run one of the measurements."""
    options = argparse.ArgumentParser()
    options.add_argument("what", choices=["linear", "subscriptions", "workers", "small"])
    options.add_argument("--rows", type=int)
    options.add_argument("--unit", type=int, default=1_000_000)
    options.add_argument("--patterns", type=int, default=1_000_000)
    options.add_argument("--mib", type=int)
    options.add_argument("--rounds", type=int)
    options.add_argument("--log", type=Path, help="this log, which is generated if it is missing")
    given = options.parse_args()
    defaults = {
        "linear": {"rows": 100_000_000},
        "subscriptions": {"rows": 1_000_000},
        "workers": {"mib": 512, "rounds": 3, "rows": 10_000_000},
        "small": {"mib": 16, "rounds": 5},
    }
    for name, value in defaults[given.what].items():
        if getattr(given, name) is None:
            setattr(given, name, value)
    run = {"linear": linear, "subscriptions": subscriptions, "workers": workers, "small": small}
    with tempfile.TemporaryDirectory() as scratch:
        record = run[given.what](given, Path(scratch))
    asked = {name: value for name, value in vars(given).items() if value is not None}
    asked.pop("log", None)
    write_record(f"spark-{given.what}", asked | record)


if __name__ == "__main__":
    main()
