"""The audit on a real Spark session: its answers are the truth, however the work is divided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plain_tables import audit as plain_audit
from truth import differences, read_truth, tables_differ

from subtrie.spark import TABLES, audit, events, register
from synthetic_traffic import write_traffic


def result(spark: Any, *logs: Path, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    with audit(spark, [str(log) for log in logs], **options) as found:
        return found.summary, {name: list(found.rows(name)) for name in TABLES}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("worlds")
    for seed in (71, 72):
        write_traffic(folder / str(seed), seed=seed, rows=2500)
    return [folder / "71", folder / "72"]


@pytest.mark.requirement("P-03", "P-07", "P-08")
@pytest.mark.parametrize(("split_bytes", "batch"), [(None, 10_000), (30_000, 7), (60_000, 100)])
def test_the_answers_are_the_truth_for_any_split_and_batch(spark, worlds, split_bytes, batch):
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(setting)
    spark.conf.set(setting, str(batch))
    try:
        found = result(spark, worlds[0] / "trace.log", split_bytes=split_bytes)
    finally:
        spark.conf.set(setting, before)
    assert differences(*found, worlds[0]) == []


def test_the_order_of_logs_has_no_effect(spark, worlds):
    logs = [world / "trace.log" for world in worlds]
    expected = plain_audit([log.read_bytes() for log in logs])
    for order in (logs, logs[::-1]):
        summary, tables = result(spark, *order)
        assert {name: summary[name] for name in expected[0]} == expected[0]
        assert tables_differ(tables, expected[1]) == []


def test_a_log_and_a_copy_of_it_are_refused(spark, worlds, tmp_path):
    log = worlds[0] / "trace.log"
    copy = tmp_path / "copy.log"
    copy.write_bytes(log.read_bytes())
    with pytest.raises(ValueError, match="begin with the same line"):
        result(spark, log, copy)


@pytest.mark.parametrize("name", ["go_live", "go_app"])
def test_recordings_come_out_as_in_plain_python(spark, captures, name):
    log = captures / name / "trace.log"
    expected = plain_audit([log.read_bytes()])
    summary, tables = result(spark, log, split_bytes=300_000)
    assert {key: summary[key] for key in expected[0]} == expected[0]
    assert tables_differ(tables, expected[1]) == []


def test_a_table_of_messages_twice_has_every_count_twice(spark, worlds):
    """Counts are doubled, and what is distinct stays: hosts, subjects, connections."""
    register(spark)
    rows = spark.read.format("nats-trace").load(str(worlds[1] / "trace.log"))
    rows = rows.where("op = 'PUB' and direction = 'in' and refused is null")
    rows = rows.select("subject", "identity", "time", "size").persist()
    once, twice = (result_of(spark, events(df)) for df in (rows, rows.unionByName(rows)))
    counts = {"published", "refused", "delivered", "undelivered", "forwarded", "bytes", "count",
              "accepted", "matched"}  # fmt: skip
    for name, table in once.items():
        doubled = [{k: v * 2 if k in counts and v else v for k, v in r.items()} for r in table]
        for rate in (row["rate"] for row in doubled if row.get("rate")):
            rate["counts"] = [2 * count for count in rate["counts"]]
        assert twice[name] == doubled, name
    assert once["call_graph"]
    rows.unpersist()


def result_of(spark: Any, df: Any) -> dict[str, list[dict[str, Any]]]:
    with audit(spark, df) as found:
        return {name: list(found.rows(name)) for name in TABLES if name != "runs"}


@pytest.mark.parametrize("partitions", [1, 5])
def test_a_table_of_events_gives_the_same_tables_as_the_log(spark, tmp_path, partitions):
    world = tmp_path / "world"
    write_traffic(world, seed=73, rows=1500, events=True)
    events = spark.read.parquet(str(world / "events.parquet")).repartition(partitions)
    with audit(spark, events) as found:
        tables = {name: list(found.rows(name)) for name in TABLES}
        assert found.summary["planes"] == ["prod", "staging"]
    assert tables_differ(tables, read_truth(world)) == []
