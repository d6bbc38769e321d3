"""Time what is done with a column of subjects, as multiples of an identity ``mapInArrow``.

Every round runs each step once, in turn. The subjects are of 10,000 patterns, drawn with weight
1/n. The join by ``rlike`` and the Python trie do less rows, and are compared by row. Usage:
``python benches/spark/subjects.py [--rows 2000000] [--rounds 3]``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from interleaved import Steps, measure, ratios, worker_memory, write_record

PATTERNS = 10_000
FEW = 1_000
SLOTS = ("plane", "source", "host", "slot", "method", "path", "reason")


def pattern(number: int) -> str:
    """Return a pattern of the deployment: 500 hosts of 20 routes."""
    return f"prod.safe.443.*.service{number % 500}_example._.GET.items.v{number // 500}.*"


def write_subjects(path: Path, rows: int, patterns: int) -> None:
    """Write a Parquet file with subjects, in four row groups or more."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    dice = np.random.default_rng(9)
    weights = 1 / np.arange(1, patterns + 1)
    edges = np.cumsum(weights / weights.sum())
    fronts = pa.array([pattern(n).replace("*", "", 1).rpartition("*")[0] for n in range(patterns)])
    heads = pc.replace_substring(fronts, "443..", "443.")
    sources = pa.array([f"client{n}_example." for n in range(50)])
    schema = pa.schema([("subject", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, rows, 500_000):
            count = min(500_000, rows - begin)
            chosen = pa.array(np.minimum(np.searchsorted(edges, dice.random(count)), patterns - 1))
            head = pc.replace_substring(heads, "prod.safe.443.", "").take(chosen)
            who = sources.take(pa.array(dice.integers(0, 50, count)))
            item = pa.array(dice.integers(0, 20, count)).cast(pa.string())
            text = pc.binary_join_element_wise("prod.safe.443.", who, head, item, "")
            writer.write_table(pa.table({"subject": text}), row_group_size=125_000)


def dict_trie(patterns: Iterable[str]) -> Any:
    """Return the lookup of a trie of dictionaries in plain Python."""
    root: dict[str, Any] = {}
    for number, text in enumerate(patterns):
        node = root
        for token in text.split("."):
            node = node.setdefault(token, {})
        node.setdefault("", []).append(number)

    def look_up(subject: str) -> list[int]:
        nodes = [root]
        found: list[int] = []
        for token in subject.split("."):
            following = []
            for node in nodes:
                found += node.get(">", {}).get("", ())
                for name in (token, "*"):
                    if name in node:
                        following.append(node[name])
            nodes = following
        for node in nodes:
            found += node.get("", ())
        return found

    return look_up


def steps(spark: Any, path: str, few: str, image: str) -> Steps:
    """Return what is timed, by its name in the record."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    from subtrie import SubjectTrie
    from subtrie.spark import audit, events

    opened: dict[str, Any] = {}

    def trie() -> Any:
        if image not in opened:
            with open(image, "rb") as file:
                opened[image] = SubjectTrie.from_bytes(file.read(), range(PATTERNS))
        return opened[image]

    def identity(batches: Iterable[Any]) -> Iterator[Any]:
        yield from batches

    def ids(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow.compute as pc

        for batch in batches:
            found = pa.array(trie().match_batch(batch.column(0)))
            first = pc.list_element(found.cast(pa.list_(pa.int32())), 0)
            yield pa.record_batch([first], ["id"])

    def codes(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow.compute as pc

        from subtrie import microbus

        for batch in batches:
            column = batch.column(0)
            decoded = pa.array(microbus.decode_batch(column, fields=("kind", "port")))
            ids = pa.array(trie().match_batch(column))
            first = pc.list_element(ids.cast(pa.list_(pa.int32())), 0)
            kind = decoded.field("kind").cast(pa.int32())
            yield pa.record_batch([first, kind, decoded.field("port")], ["id", "kind", "port"])

    def columns(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow.compute as pc

        from subtrie import microbus

        for batch in batches:
            column = batch.column(0)
            decoded = pa.array(microbus.decode_batch(column, fields=("port", *SLOTS)))
            ids = pa.array(trie().match_batch(column))
            first = pc.list_element(ids.cast(pa.list_(pa.int32())), 0)
            texts = [decoded.field(name).cast(pa.string()) for name in SLOTS]
            yield pa.record_batch([first, decoded.field("port"), *texts], ["id", "port", *SLOTS])

    def in_python(batches: Iterable[Any]) -> Iterator[Any]:
        if "dict" not in opened:
            opened["dict"] = dict_trie(pattern(n) for n in range(PATTERNS))
        for batch in batches:
            found = [opened["dict"](text) for text in batch.column(0).to_pylist()]
            yield pa.record_batch([pa.array([each[0] for each in found], pa.int32())], ["id"])

    def drain(df: Any) -> None:
        df.write.format("noop").mode("overwrite").save()

    rows = spark.read.parquet(path)
    some = spark.read.parquet(few)
    texts = ", ".join(f"{name} string" for name in SLOTS)
    expressions = [
        (n, "^" + pattern(n).replace(".", r"\.").replace("*", "[^.]+") + "$") for n in range(FEW)
    ]
    rules = F.broadcast(spark.createDataFrame(expressions, "id int, expression string"))

    def tables() -> None:
        with audit(spark, events(rows)) as result:
            assert result.count("call_graph") > 0

    return {
        "identity": lambda: drain(rows.mapInArrow(identity, "subject string")),
        "ids": lambda: drain(rows.mapInArrow(ids, "id int")),
        "ids_and_codes": lambda: drain(rows.mapInArrow(codes, "id int, kind int, port int")),
        "all_columns": lambda: drain(rows.mapInArrow(columns, f"id int, port int, {texts}")),
        "tables": tables,
        "few_rows_native": lambda: drain(some.mapInArrow(codes, "id int, kind int, port int")),
        "few_rows_rlike": lambda: drain(
            some.join(rules, F.expr("subject rlike expression"), "left").select("id")
        ),
        "python_trie": lambda: drain(rows.mapInArrow(in_python, "id int")),
    }


def main() -> None:
    """Write the subjects, time each step in turn, and write a record."""
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=2_000_000)
    options.add_argument("--few", type=int, default=20_000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    from subtrie import SubjectTrie
    from subtrie.spark import local_session

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_subjects(folder / "rows.parquet", given.rows, PATTERNS)
        write_subjects(folder / "few.parquet", given.few, FEW)
        trie: Any = SubjectTrie(dialect="server")
        for number in range(PATTERNS):
            trie.add(pattern(number), None)
        (folder / "index.image").write_bytes(trie.to_bytes())
        spark = local_session(memory="1g", log_bytes=1 << 30)
        timed = steps(
            spark,
            str(folder / "rows.parquet"),
            str(folder / "few.parquet"),
            str(folder / "index.image"),
        )
        slow = {name: timed.pop(name) for name in ("few_rows_rlike", "python_trie")}
        medians = measure(timed, given.rounds) | measure(slow, 1, warm=False)
        worker = worker_memory()
        spark.stop()
    per_row = given.rows / given.few
    native = medians["ids_and_codes"]["cpu_seconds"]
    record = {
        "rows": given.rows,
        "few_rows": given.few,
        "patterns": PATTERNS,
        "rounds": given.rounds,
        **worker,
        "medians": medians,
        "times_identity": ratios(medians, "identity"),
        "rlike_times_native_by_row": round(
            medians["few_rows_rlike"]["cpu_seconds"] * per_row / native
        ),
        "python_trie_times_native": round(
            medians["python_trie"]["cpu_seconds"] / medians["ids"]["cpu_seconds"], 1
        ),
    }
    write_record("spark-subjects", record)


if __name__ == "__main__":
    main()
