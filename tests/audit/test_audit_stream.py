"""Streams on a real Spark: the tables of a log that grows are those of one read."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StringType, StructField, StructType
from truth import differences

from subtrie.acl import Permissions
from subtrie.audit._readers.growing_log import RotatedAwayError, files_there
from subtrie.audit._runs.run_folder import read_manifest, saved_partials
from subtrie.spark import (
    TABLES,
    OutputFolderError,
    Questions,
    audit,
    audit_stream,
    open_audit,
    register,
)
from subtrie.spark._sessions.shipped_files import _sent
from subtrie.spark._sources.trace_stream import TraceStreamReader
from synthetic_traffic import write_traffic


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("stream") / "world"
    write_traffic(folder, seed=83, rows=1500)
    return folder


def digests(out: Path) -> dict[str, str]:
    return {name: entry["sha256"] for name, entry in read_manifest(str(out))["tables"].items()}


def run(spark: Any, log: Path, folder: Path, **options: Any) -> None:
    query = audit_stream(
        spark, [str(log)], out=folder / "out", checkpoint=str(folder / "checkpoint"), **options
    )
    assert query.awaitTermination(300)
    if query.exception() is not None:
        raise query.exception()


@pytest.mark.requirement("P-03")
def test_the_tables_of_a_log_that_grows_are_those_of_one_read(spark, world, tmp_path):
    """The second run is a restart from the checkpoint that repeats a batch, as after a kill."""
    data = (world / "trace.log").read_bytes()
    live = tmp_path / "trace.log"
    dice = random.Random(5)
    place = dice.randrange(len(data) // 4, len(data))
    live.write_bytes(data[:place])
    run(spark, live, tmp_path, split_bytes=100_000)
    for name in ("0", ".0.crc"):  # killed after the tables were written and before Spark noted it
        (tmp_path / "checkpoint" / "commits" / name).unlink()
    live.write_bytes(data)
    run(spark, live, tmp_path, complete=True)
    with open_audit(tmp_path / "out") as found:
        tables = {name: list(found.rows(name)) for name in TABLES}
        assert differences(found.summary, tables, world) == []
    with audit(spark, [str(live)], out=tmp_path / "whole") as whole:
        assert open_audit(tmp_path / "out").summary == whole.summary
    ours, theirs = digests(tmp_path / "out"), digests(tmp_path / "whole")
    assert ours.pop("runs") != theirs.pop("runs")  # a stream has no digest of its input
    assert ours == theirs
    left = {entry.name for entry in (tmp_path / "out").iterdir()}
    manifest = read_manifest(str(tmp_path / "out"))
    files = {entry["file"] for entry in manifest["tables"].values()}
    assert left == {"audit.json", *files, *manifest["stream"]["partials"]}

    (tmp_path / "out").rename(tmp_path / "elsewhere")
    with live.open("ab") as out:
        out.write(data)
    with pytest.raises(Exception, match="a checkpoint and its output directory belong together"):
        run(spark, live, tmp_path, complete=True)
    assert not (tmp_path / "out" / "audit.json").exists()


def _as_one_audit(spark: Any, log: Path, folder: Path, **options: Any) -> tuple[Any, Any]:
    """Compare a stream with an audit; return rows of calls and of the usage of permissions."""
    run(spark, log, folder, complete=True, **options)
    with audit(spark, [str(log)], out=folder / "whole", **options) as whole:
        calls, usage = (list(whole.rows(name)) for name in ("call_graph", "permission_usage"))
    ours, theirs = digests(folder / "out"), digests(folder / "whole")
    assert ours.pop("runs") != theirs.pop("runs")
    assert ours == theirs
    return calls, usage


def test_every_option_of_an_audit_has_its_effect_on_a_stream(spark, world, tmp_path):
    log, options = world / "trace.log", {"planes": ["prod"], "window": 1}
    hidden = {"redact": ["path"], "redact_key": b"0" * 32}
    calls, _ = _as_one_audit(spark, log, tmp_path, **options, **hidden)
    assert {row["plane"] for row in calls} == {"prod"}
    assert len({row["window"] for row in calls}) > 1
    assert not any("total" in (row["route"] or "") for row in calls)

    rules = {"mail.shop": Permissions(publish_allow=["prod.>"], subscribe_allow=[">"])}
    options["questions"] = Questions(rules=rules)
    (tmp_path / "answers").mkdir()
    _, usage = _as_one_audit(spark, log, tmp_path / "answers", **options)
    assert {row["window"] is not None for row in usage if row["verb"] == "subscribe"} == {True}


def test_an_index_is_sent_again_only_when_subscriptions_change(spark, tmp_path):
    """Bug: each batch sent a new image, as each image has another hash key."""

    def sent() -> set[str]:
        return {name for names in _sent.values() for name in names}

    write_traffic(tmp_path / "own", seed=84, rows=300)
    log = tmp_path / "own" / "trace.log"
    earlier = sent()
    with audit(spark, [str(log)]):
        first = sent() - earlier
    with audit(spark, [str(log)], planes=["other"]):
        pass
    run(spark, log, tmp_path, complete=True)
    assert (len(first), sent() - earlier) == (4, first)


def test_events_of_a_stream_are_those_of_a_read(spark, world, tmp_path):
    """With a trigger that goes on, and the same registration as for batches."""
    register(spark)
    live = tmp_path / "logs" / "trace.log"
    live.parent.mkdir()
    data = (world / "trace.log").read_bytes()
    middle = data.index(b"\n", len(data) // 2) + 1
    live.write_bytes(data[:middle])
    names = ["position", "op", "subject", "deliveries"]
    rows = spark.readStream.format("nats-trace").option("complete", "TRUE").load(str(live.parent))
    query = (
        rows.select(*names)
        .writeStream.format("json")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(processingTime="200 milliseconds")
        .start(str(tmp_path / "rows"))
    )
    try:
        query.processAllAvailable()
        live.rename(live.with_name("trace.log.1"))
        live.write_bytes(data[middle:])
        query.processAllAvailable()
    finally:
        query.stop()
    found = [
        json.loads(line)
        for file in (tmp_path / "rows").glob("*.json")
        for line in file.read_text().splitlines()
    ]
    whole = spark.read.format("nats-trace").load(str(live.parent)).select("position", "op")
    expected = [(row.position, row.op) for row in whole.orderBy("position").collect()]
    assert sorted((row["position"], row.get("op")) for row in found) == expected


def test_a_file_that_was_removed_unread_is_an_error_unless_that_is_allowed(spark, world, tmp_path):
    data = (world / "trace.log").read_bytes()
    first = data.index(b"\n", 20_000) + 1
    live = tmp_path / "trace.log"
    live.write_bytes(data[:first])
    run(spark, live, tmp_path)
    live.write_bytes(data[data.index(b"\n", 40_000) + 1 :])
    with pytest.raises(Exception, match="was removed before all of it was read"):
        run(spark, live, tmp_path)
    run(spark, live, tmp_path, fail_on_data_loss=False)


@pytest.mark.parametrize("step", ["division", "reading"])
def test_a_file_may_be_removed_within_a_batch(world, tmp_path, monkeypatch, step):
    monkeypatch.setattr("subtrie.audit._readers.growing_log._PAUSE", 0)
    log = tmp_path / "trace.log"
    options = {"path": str(log), "splitbytes": "20000"}
    for strict in (None, "true", "false"):
        log.write_bytes((world / "trace.log").read_bytes())
        schema = StructType([StructField("op", StringType())])
        told = {} if strict is None else {"failondataloss": strict}
        reader = TraceStreamReader(schema, {**options, **told})
        start = reader.initialOffset()
        end = reader.latestOffset(start)
        parts = reader.partitions(start, end)
        assert len(parts) > 5
        log.unlink()

        def again(reader=reader, parts=parts, start=start, end=end):
            if step == "division":
                return reader.partitions(start, end)
            batches = [batch for part in parts for batch in reader.read(part)]
            return [row for batch in batches for row in batch.to_pylist()]

        if strict != "false":
            with pytest.raises(RotatedAwayError, match="was removed before all of it was read"):
                again()
        else:
            assert len(again()) == (1 if step == "division" else 0)


def test_a_log_without_new_lines_is_kept_with_the_partials(spark, world, tmp_path, monkeypatch):
    """The output is relative to the directory of the call, not to that of the batch."""
    data = (world / "trace.log").read_bytes()
    first, second = (data.index(b"\n", at) + 1 for at in (20_000, 40_000))
    logs = [tmp_path / "one.log", tmp_path / "other.log"]
    logs[1].write_bytes(data[:first].replace(b"[1083]", b"[7]"))
    (tmp_path / "elsewhere").mkdir()
    steps = []
    for until in (first, second):
        logs[0].write_bytes(data[:until])
        monkeypatch.chdir(tmp_path)
        query = audit_stream(
            spark, [str(log) for log in logs], out="out", checkpoint=str(tmp_path / "checkpoint")
        )
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert query.awaitTermination(300)
        assert query.exception() is None
        steps.append(read_manifest(str(tmp_path / "out"))["stream"])
    before, after = (each["logs"] for each in steps)
    assert before.keys() == after.keys()
    assert sorted(after[server] > before[server] for server in before) == [False, True]
    rows = [row for name in steps[1]["partials"]
            for each in saved_partials(str(tmp_path / "out"), name)
            for row in each.to_pylist()]  # fmt: skip
    assert steps[1]["rows"] == sum(row["rows"] for row in rows) > 100
    assert "range" not in {row["kind"] for row in rows}  # those of all batches would be kept


def test_a_batch_that_fails_leaves_nothing(spark, world, tmp_path, monkeypatch):
    def fail(*_: Any, **__: Any) -> None:
        raise OSError("no space is left")

    monkeypatch.setattr("subtrie.spark._stream.write_tables", fail)
    with pytest.raises(Exception, match="no space is left"):
        run(spark, world / "trace.log", tmp_path)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("given", [True, False])
def test_a_file_that_is_rotated_before_the_first_batch_is_read(spark, world, tmp_path, monkeypatch,
                                                               given):  # fmt: skip
    """The files are those of the call, or those that are given; the output is a URI."""
    log = tmp_path / "trace.log"
    log.write_bytes((world / "trace.log").read_bytes())

    def rotated(paths: list[str]) -> Any:
        found = files_there(paths)
        if log.stat().st_size:
            log.rename(tmp_path / "trace.log.1")
            log.touch()
        return found

    noted = rotated([str(log)]) if given else None
    monkeypatch.setattr("subtrie.spark._stream.files_there", rotated)
    query = audit_stream(
        spark, [str(log)], out=(tmp_path / "out").as_uri(), checkpoint=str(tmp_path / "checkpoint"),
        noted=noted,
    )  # fmt: skip
    assert query.awaitTermination(300)
    assert query.exception() is None
    assert log.stat().st_size == 0
    assert open_audit(tmp_path / "out").summary["lines"] > 1000


def test_a_stream_that_redacts_needs_its_key(spark, tmp_path):
    with pytest.raises(ValueError, match="redacted with one key for every run"):
        audit_stream(spark, ["x.log"], out=tmp_path, checkpoint="c", redact=["path"])


def test_the_output_of_a_single_audit_is_not_that_of_a_stream(spark, tmp_path):
    manifest = {"schema": 1, "tables": {}}
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "audit.json").write_text(json.dumps(manifest))
    from subtrie.audit._runs.run_folder import RunFolder

    with pytest.raises(OutputFolderError, match="not that of a stream"):
        RunFolder(tmp_path / "out").stream()
