"""A run that fails, at whichever step, leaves the earlier result or the new one, and no more."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from trace_writer import Trace

from subtrie.audit._runs.run_folder import (
    PARTIALS_FILE,
    RunFolder,
    TableFile,
    read_manifest,
    rows_of_table,
    stage_file,
)
from subtrie.audit._schema import TABLE_COLUMNS, arrow_schema
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
        folder.commit(entries, {"lines": 1}, {"partials": [partials], "logs": {}, "rows": 1})
    except BaseException:
        if kind is Killed:  # its files are as the kill left them
            raise
        folder.files.allowed = -1  # type: ignore[attr-defined]
        folder.discard()
        raise


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
    assert allowed > len(TABLE_COLUMNS)
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
    assert killed > len(TABLE_COLUMNS)
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
