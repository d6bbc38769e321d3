"""A driver program of the cluster tests: does the steps it is given, in one session.

    python driver.py URL STEPS

``URL`` is ``spark://…``, ``local[…]`` or ``sc://…``; ``STEPS`` is JSON: a list of
``[name, arguments]``.
Each step prints one line of JSON: its name, its result or its error, and its duration.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "audit"))
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def session(url: str) -> Any:
    """Start a session."""
    from pyspark.sql import SparkSession

    if url.startswith("sc://"):
        return SparkSession.builder.remote(url).getOrCreate()
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "640m",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": QUICK,
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master(url).appName("subtrie tests")
    for name, value in conf.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def ship(spark: Any, wheel: str | None = None) -> str:
    """Send the package, twice."""
    import subtrie.spark

    name = subtrie.spark.ship(spark, wheel=wheel)
    assert subtrie.spark.ship(spark, wheel=wheel) == name
    return name


def engine(spark: Any) -> list[str]:
    """Return the engines of two tasks, and where the package comes from."""

    def told(batches: Any) -> Any:
        import pyarrow as pa

        import subtrie

        for _ in batches:
            yield pa.record_batch({"t": pa.array([f"{subtrie.engine().name} {subtrie.__file__}"])})

    return sorted({row.t for row in spark.range(0, 2, 1, 2).mapInArrow(told, "t string").collect()})


def engine_missing(spark: Any) -> str:
    """Return the error of a worker that does not have the package."""
    try:
        engine(spark)
    except Exception as error:
        return str(error)
    return "no error"


def match(spark: Any) -> list[list[Any]]:
    """Match subjects with patterns."""
    from subtrie.spark import match

    subjects = spark.createDataFrame([("a.b",), ("a.c",), ("x",)], "subject string")
    patterns = spark.createDataFrame([("a.*",), ("a.b",)], "pattern string")
    found = match(subjects, patterns).select("subject", "matched").collect()
    return sorted([row.subject, sorted(row.matched or [])] for row in found)


def slow_count(spark: Any, log: str, seconds: float = 0.3) -> dict[str, int]:
    """Count the events of a log by operation, in many small tasks that wait for each batch."""
    from subtrie.spark import register

    def waited(batches: Any) -> Any:
        for batch in batches:
            time.sleep(seconds)
            yield batch

    register(spark)
    rows = spark.read.format("nats-trace").option("splitBytes", 300_000).load(log).select("op")
    counted = rows.mapInArrow(waited, rows.schema).groupBy("op").count().collect()
    return {str(row[0]): row[1] for row in counted}


def decode(spark: Any, log: str) -> list[list[Any]]:
    """Read a log and count its publishes by destination."""
    from subtrie.spark import decode, register

    register(spark)
    rows = spark.read.format("nats-trace").option("splitBytes", 200_000).load(log)
    published = rows.where("op in ('PUB', 'HPUB') and direction = 'in' and refused is null")
    counted = (
        decode(published.select("subject"))
        .where("address.kind = 'request'")
        .groupBy("address.host")
        .count()
    )
    return sorted([row.host, row["count"]] for row in counted.collect())


def audit(spark: Any, logs: list[str], world: str, **options: Any) -> list[str]:
    """Audit logs; return how the result differs from the truth of a world."""
    from truth import differences

    from subtrie.spark import TABLES, audit

    with audit(spark, logs, **options) as result:
        tables = {name: list(result.rows(name)) for name in TABLES}
        return differences(result.summary, tables, Path(world))


def progress(spark: Any, log: str) -> list[tuple[int, int]]:
    """Return the tasks that were complete, and all, as a watcher of ``slow_count`` was told."""
    from subtrie.spark._sessions.task_watch import watch_tasks

    told: list[tuple[int, int]] = []
    stop = watch_tasks(spark, lambda complete, total: told.append((complete, total)))
    try:
        slow_count(spark, log, 2)  # a server of Spark Connect reports every two seconds
    finally:
        stop()
    before = len(told)
    spark.range(1).collect()
    return told if len(told) == before else []


def refused_stream(spark: Any, log: str) -> str:
    """Return the error of a stream that the session cannot run."""
    from subtrie.spark import audit_stream

    try:
        audit_stream(spark, [log], out="out", checkpoint="checkpoint")
    except ValueError as error:
        return str(error)
    return "no error"


def stream(
    spark: Any, log: str, live: str, folder: str, world: str, pieces: int
) -> tuple[int, list[str]]:
    """Write a log piece by piece, with rotations, and audit it as a stream.

    A run that was killed goes on where it ended. Returns the number of batches and how the tables
    differ from the truth.
    """
    from truth import differences

    from subtrie.spark import TABLES, audit_stream, open_audit

    data, grown = Path(log).read_bytes(), Path(live)
    files = [*sorted(grown.parent.glob(f"{grown.name}.*")), *grown.parent.glob(grown.name)]
    done = sum(file.stat().st_size for file in files)
    batches = 0
    while True:
        place = min(len(data), done + len(data) // pieces + 1)
        with grown.open("ab") as out:
            out.write(data[done:place])
        done, last = place, place == len(data)
        query = audit_stream(
            spark, [live], out=f"{folder}/out", checkpoint=f"{folder}/checkpoint", complete=last
        )
        query.awaitTermination()
        if query.exception() is not None:
            raise query.exception()
        batches += 1
        print(json.dumps({"step": "batch", "result": batches}), flush=True)
        if last:
            break
        if batches % 4 == 0:  # the server begins a new file with the next line
            place = data.index(b"\n" + data.split(b" ", 1)[0] + b" 20", done - 1) + 1
            with grown.open("ab") as out:
                out.write(data[done:place])
            done = place
            grown.rename(f"{live}.{done:012}")
    with open_audit(f"{folder}/out") as result:
        tables = {name: list(result.rows(name)) for name in TABLES}
        _count_through(tables["unparseable"], grown, Path(world))
        return batches, differences(result.summary, tables, Path(world))


def _count_through(rows: list[dict[str, Any]], live: Path, world: Path) -> None:
    """Make offsets in the files of a log offsets in the whole log, which the truth has.

    A file is named by the place where the next one begins.
    """
    from truth import read_truth

    places = {(row["offset"], row["text"]) for row in read_truth(world)["unparseable"]}
    starts = [0, *(int(file.suffix[1:]) for file in live.parent.glob(f"{live.name}.*"))]
    for row in rows:
        inside = (start + row["offset"] for start in starts)
        row["offset"] = next((at for at in inside if (at, row["text"]) in places), -1)


def main() -> None:
    """Do the steps."""
    url, steps = sys.argv[1], json.loads(sys.argv[2])
    started = time.monotonic()
    spark = session(url)
    tell("session", None, started)
    failed = False
    for name, arguments in steps:
        started = time.monotonic()
        try:
            tell(name, globals()[name](spark, **arguments), started)
        except Exception as error:
            print(json.dumps({"step": name, "error": f"{type(error).__name__}: {error}"}))
            failed = True
    spark.stop()
    raise SystemExit(failed)


def tell(step: str, result: Any, started: float) -> None:
    """Print the outcome of a step."""
    seconds = round(time.monotonic() - started, 2)
    text = json.dumps({"step": step, "result": result, "seconds": seconds}, default=str)
    print(text, flush=True)


if __name__ == "__main__":
    main()
