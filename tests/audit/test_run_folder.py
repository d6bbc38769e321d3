"""A run that fails, at whichever step, leaves the earlier result or the new one, and no more."""

from __future__ import annotations

import json
import shutil
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from trace_writer import Trace, random_trace

from subtrie._cli.app import app
from subtrie.audit import audit as local_audit
from subtrie.audit import open_run
from subtrie.audit._runs.batch_rows import rows_of_batch
from subtrie.audit._runs.run_folder import (
    PARTIALS_FILE,
    RunFolder,
    read_manifest,
    rows_of_table,
    stage_file,
)
from subtrie.audit._runs.run_writer import TableFile, all_tables
from subtrie.audit._schema import TABLE_COLUMNS, arrow_schema
from subtrie.report import read_report
from subtrie.spark import audit, open_audit

CHANGES = ("create_dir", "open_output_stream", "move")


class FullDisk:
    """A file system whose changes fail, from the n-th on, as they do on a full disk."""

    def __init__(self, files: Any, allowed: int) -> None:
        self._files = files
        self.allowed = allowed

    def __getattr__(self, name: str) -> Any:
        if name in CHANGES:
            if self.allowed == 0:
                raise OSError("disk full")
            self.allowed -= 1
        return getattr(self._files, name)


class Killed(FullDisk):
    """A file system of a process that is killed at its n-th change: nothing happens after it."""

    def __getattr__(self, name: str) -> Any:
        if self.allowed == 0:
            raise OSError("killed")
        return super().__getattr__(name)


#: The files of ``write`` that are not those of an earlier result: tables, partials, the manifest.
CHANGED = 4


def write(
    out: Path, subject: str, scratch: Path, allowed: int = -1, kind: type[FullDisk] = FullDisk
) -> None:
    """Commit a result with two tables of rows and the partials of a stream."""
    import pyarrow as pa

    folder = RunFolder(out)
    entries = []
    for name in ("undelivered", "malformed"):
        file = TableFile(str(scratch), name)
        schema = arrow_schema(TABLE_COLUMNS[name])
        nothing = {field.name: None for field in schema} | {"subject": subject}
        file.add(pa.Table.from_pylist([nothing], schema))
        made, target, digest = file.finish()
        stage_file(folder.path, folder.staging, made, target)
        entries.append({"table": name, "file": target, "rows": 1, "sha256": digest})
    partials = PARTIALS_FILE.format(f"{abs(hash(subject)):012x}"[:12])
    stage_file(folder.path, folder.staging, made, partials)
    folder.files = kind(folder.files, allowed)  # type: ignore[assignment]
    try:
        folder.commit(
            all_tables(entries), {"lines": 1}, {"partials": [partials], "logs": {}, "rows": 1}
        )
    except BaseException:
        if kind is Killed:  # its files are as the kill left them
            raise
        folder.files.allowed = -1  # type: ignore[attr-defined]
        folder.discard()
        raise


def _tampered(run: Path, change: Any) -> None:
    """Change the manifest of a result."""
    manifest = json.loads((run / "audit.json").read_text())
    change(manifest)
    (run / "audit.json").write_text(json.dumps(manifest))


@pytest.fixture(scope="module")
def audited(tmp_path_factory) -> Path:
    """The result of a small audit."""
    folder = tmp_path_factory.mktemp("audited")
    (folder / "trace.log").write_text(random_trace(1))
    local_audit([str(folder / "trace.log")], out=folder / "run")
    return folder / "run"


def test_an_equal_table_is_not_written_again_unless_it_is_damaged(tmp_path):
    """Each reading of a log that grows wrote all empty tables again, a third of its time."""

    def files() -> dict[str, int]:
        return {each.name: each.stat().st_ino for each in tmp_path.glob("*.parquet")}

    RunFolder(str(tmp_path)).commit(all_tables([]), {"lines": 1})
    before = files()
    damaged = min(before)
    (tmp_path / damaged).write_bytes(b"PAR1")
    RunFolder(str(tmp_path)).commit(all_tables([]), {"lines": 2})
    after = files()
    assert [name for name, number in after.items() if before[name] != number] == [damaged]
    assert (tmp_path / damaged).stat().st_size > 4
    assert RunFolder(str(tmp_path)).summary() == {"lines": 2}


def test_a_temporary_result_is_there_until_its_block_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    log = tmp_path / "trace.log"
    log.write_text(random_trace(1))
    with local_audit([str(log)]) as run:
        assert Path(run.path("runs")).parent.parent == tmp_path / "temporary"
    assert list((tmp_path / "temporary").iterdir()) == []
    with pytest.raises(FileNotFoundError):
        local_audit([str(tmp_path / "none.log")])
    assert list((tmp_path / "temporary").iterdir()) == [], "an audit that failed leaves none"


@pytest.mark.parametrize(
    "name",
    [
        "../other/undelivered-0123456789ab.parquet",
        "/etc/passwd",
        "..",
        "",
        "x.parquet",
        7,
        ".staging-0123/../../other/undelivered-0123456789ab.parquet",
    ],
)
@pytest.mark.parametrize("partials", [False, True])
def test_a_run_folder_that_names_files_elsewhere_is_refused(audited, tmp_path, name, partials):
    run = shutil.copytree(audited, tmp_path / "run")
    shutil.copytree(audited, tmp_path / "other")

    def change(manifest):
        if partials:
            manifest["stream"] = {"partials": [name], "logs": {}, "rows": 0}
        else:
            manifest["tables"]["undelivered"]["file"] = name

    _tampered(run, change)
    with pytest.raises(ValueError, match="is not the manifest of an audit"):
        open_run(run)


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 200_000, b'{"schema":2,"tables":' * 90_000, b"[]", b"2", b"\xff", b"", b"{}",
        b'{"schema":"2"}', b'{"schema":2}', b'{"schema":2,"tables":[]}', b'{"schema":NaN}',
        b'{"schema":2,"tables":{"runs":7}}', b'{"schema":2,"tables":{},"planes":7}',
        b'{"schema":2,"tables":{},"lines":"7"}',
    ],
    ids=lambda text: text[:40].decode("latin-1"),
)  # fmt: skip
def test_a_manifest_that_is_deep_or_of_other_types_is_one_clear_error(audited, tmp_path, text):
    run = shutil.copytree(audited, tmp_path / "run")
    (run / "audit.json").write_bytes(text)
    with pytest.raises(ValueError, match="is not the manifest of an audit"):
        open_run(run)
    done = CliRunner().invoke(app, ["report", "json", str(run)])
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)
    assert "is not the manifest of an audit" in done.output


@pytest.mark.parametrize(
    "count",
    ["lines", "operations", "payloads", "server", "unparseable_lines", "ambiguous", "unmatched",
     "forwarded", "planes"],
)  # fmt: skip
def test_a_manifest_without_a_count_is_refused(audited, tmp_path, count):
    run = shutil.copytree(audited, tmp_path / "run")
    _tampered(run, lambda manifest: manifest.pop(count))
    with pytest.raises(ValueError, match=f"{count} is missing"):
        open_run(run)


def test_a_table_of_other_columns_is_one_clear_error(audited, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    run = shutil.copytree(audited, tmp_path / "run")
    file = json.loads((run / "audit.json").read_text())["tables"]["undelivered"]["file"]
    for table in (pa.table({"a": [1]}), pa.table({"count": ["many"]})):
        pq.write_table(table, run / file)
        with pytest.raises(ValueError, match="is not a table of an audit: column "):
            list(open_run(run).rows("undelivered"))
        with pytest.raises(ValueError, match="is not a table of an audit: column "):
            open_run(run).columns("undelivered", ["count"])


@pytest.mark.parametrize("options", ["[" * 100_000, "[]", "{", None])
def test_a_row_of_the_run_that_is_not_json_is_one_clear_error(audited, tmp_path, options):
    import pyarrow as pa
    import pyarrow.parquet as pq

    run = shutil.copytree(audited, tmp_path / "run")
    file = run / json.loads((run / "audit.json").read_text())["tables"]["runs"]["file"]
    rows = pq.read_table(file)
    for column in ("options", "counters"):
        place = rows.schema.get_field_index(column)
        changed = rows.set_column(
            place, rows.schema.field(column), pa.array([options], pa.string())
        )
        pq.write_table(changed, file)
        with pytest.raises(ValueError, match=r"row|JSON|Expecting"):
            read_report(run)


def held(out: Path) -> set[str]:
    return {path.name for path in out.iterdir()} if out.exists() else set()


def subjects(out: Path) -> set[str]:
    manifest = read_manifest(str(out))
    return {
        row["subject"]
        for name in ("undelivered", "malformed")
        for row in rows_of_table(str(out), manifest["tables"][name]["file"], ["subject"])
    }


@pytest.mark.requirement("P-10")
@pytest.mark.parametrize("earlier", [True, False])
def test_a_disk_that_is_full_at_any_step_leaves_a_whole_result(tmp_path, earlier):
    out, allowed, outcomes = tmp_path / "out", 0, set()
    write(tmp_path / "old", "old", tmp_path)
    while True:
        if earlier:
            shutil.copytree(tmp_path / "old", out)
        before = held(out)
        try:
            write(out, "new", tmp_path, allowed)
        except OSError:
            if not earlier and not (out / "audit.json").exists():
                assert not out.exists(), held(out)
                outcomes.add("nothing")
            elif subjects(out) == {"old"}:
                assert held(out) == before
                outcomes.add("old")
            else:
                raise
        else:
            break
        allowed += 1
        shutil.rmtree(out, ignore_errors=True)
    assert subjects(out) == {"new"}
    assert allowed > (CHANGED if earlier else len(TABLE_COLUMNS))
    assert outcomes == {"old" if earlier else "nothing"}


@pytest.mark.requirement("P-10")
@pytest.mark.parametrize("earlier", [True, False])
def test_a_process_that_is_killed_at_any_step_publishes_nothing(tmp_path, earlier):
    """At once, before any other run; the next run has its result in the same directory."""
    allowed, killed = 0, 0
    write(tmp_path / "old", "old", tmp_path)
    while True:
        out = tmp_path / str(allowed)
        if earlier:
            shutil.copytree(tmp_path / "old", out)
        try:
            write(out, "new", tmp_path, allowed, Killed)
        except OSError:
            if earlier and subjects(out) == {"new"}:
                pass  # after the manifest, while the earlier files were being removed
            elif earlier:
                assert subjects(out) == {"old"}
                killed += 1
            elif (out / "audit.json").exists():
                assert subjects(out) == {"new"}
            else:
                with pytest.raises(FileNotFoundError):
                    open_audit(out)
                killed += 1
        else:
            break
        allowed += 1
    assert killed > (CHANGED if earlier else len(TABLE_COLUMNS))
    left = tmp_path / str(killed // 2)
    write(left, "next", tmp_path)
    assert subjects(left) == {"next"}


@pytest.mark.requirement("P-10")
def test_a_worker_that_cannot_write_leaves_nothing(spark, tmp_path):
    log, out = tmp_path / "a.log", tmp_path / "out"
    trace = Trace()
    trace.publish(1, "a.b")
    log.write_text(trace.text())

    def step(name: str, *_: object) -> None:
        if name == "writing tables":  # the directory of the result becomes a file meanwhile
            out.write_text("mine")

    with pytest.raises(Exception, match=r"Not a directory|File exists|Cannot create directory"):
        audit(spark, [str(log)], out=out, step=step)
    assert {path.name for path in tmp_path.iterdir()} == {"a.log", "out"}
    assert out.read_text() == "mine"


def test_rows_of_a_batch_are_those_that_arrow_tells():
    times = pa.array([0, None, -1, 1_795_248_000_123_456], pa.timestamp("us", "UTC"))
    naive = times.cast(pa.timestamp("us"))
    rate = pa.array(
        [{"start": 1, "counts": [1, 2]}, None, {"start": None, "counts": None}, {"start": 2}],
        pa.struct([("start", pa.timestamp("us", "UTC")), ("counts", pa.list_(pa.int64()))]),
    )
    names = ["time", "naive", "rate", "text"]
    batch = pa.record_batch([times, naive, rate, pa.array(["a", None, "", "é"])], names=names)
    found = rows_of_batch(batch)
    assert found == batch.to_pylist()
    assert [row["time"] and row["time"].tzinfo for row in found] == [UTC, None, UTC, UTC]
    assert all(row["naive"] is None or row["naive"].tzinfo is None for row in found)
    assert rows_of_batch(batch.slice(2, 1)) == batch.slice(2, 1).to_pylist()
    later = pa.record_batch([pa.array([2**62], pa.timestamp("us", "UTC"))], names=["time"])
    with pytest.raises(OverflowError):
        rows_of_batch(later)
