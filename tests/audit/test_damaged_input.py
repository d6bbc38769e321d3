"""Inputs and outputs that fail: one clear error or a row, and nothing half written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from trace_writer import Trace

from patience import wait_until
from subtrie._cli import audit as audit_command
from subtrie._cli.app import app
from subtrie.audit._partial.parts import Reading, plan
from subtrie.audit._runs.run_folder import MANIFEST, RunFolder
from subtrie.audit._runs.run_writer import all_tables
from subtrie.spark import OutputFolderError, SparkStartError, audit, register
from subtrie.spark._partials import partials_of_parts
from subtrie.spark._sessions import remote_session as remote
from subtrie.spark._sessions.failure import failure_text

SUBJECT = "p1.safe.443.a_com.b_com._.GET.x"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return a log with two subjects."""
    trace = Trace()
    for name in ("x", "y"):
        trace.publish(1, f"{SUBJECT}.{name}")
    path = tmp_path / "trace.log"
    path.write_text(trace.text())
    return path


@pytest.fixture
def run(spark: Any):
    """Run the command in this process, with the session of the test run."""

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(app, ["audit", *map(str, arguments)])

    return call


@pytest.mark.parametrize("what", ["vanishes", "becomes shorter"])
def test_a_log_that_changes_while_it_is_read_is_named_in_one_line(spark, log, what) -> None:
    parts = list(plan([str(log)]).parts)
    if what == "vanishes":
        log.unlink()
    else:
        log.write_bytes(log.read_bytes()[:200])
    with pytest.raises(Exception, match=r"trace\.log") as raised:
        partials_of_parts(spark, parts, Reading()).collect()
    told = failure_text(raised.value)
    assert told is not None
    assert "\n" not in told
    assert str(log) in told
    expected = "a worker cannot open an input" if what == "vanishes" else "became shorter"
    assert expected in told


def test_an_audit_of_a_log_that_vanishes_leaves_no_files(spark, log, tmp_path) -> None:
    out = tmp_path / "out"

    def step(name: str, rows: int = 0) -> None:
        if name == "reading lines":
            plan([str(log)])
            log.unlink()

    with pytest.raises(FileNotFoundError):
        audit(spark, [str(log)], out=out, step=step)
    assert not out.exists()


def test_the_command_reports_the_error_of_a_worker_in_one_line(
    run, spark, log, tmp_path, monkeypatch
):
    monkeypatch.setattr("subtrie.spark._pipeline.plan", _plan_and_remove)
    done = run(log, "--out", tmp_path / "out", "--master", spark.conf.get("spark.master"))
    assert done.exit_code == 2
    assert done.stderr.startswith("subtrie audit: a worker cannot open an input:")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def _plan_and_remove(paths: list[str], split_bytes: int | None) -> Any:
    """Plan the inputs, and remove them before they are read."""
    found = plan(paths, split_bytes)
    for path in paths:
        os.unlink(path)
    return found


def test_bad_input_that_spark_did_not_see_is_told_and_other_errors_are_not() -> None:
    assert failure_text(ValueError("not a table of events")) == "not a table of events"
    assert failure_text(KeyError("x")) is None
    with pytest.raises(KeyError, match="x"):
        audit_command._failed_on_spark(KeyError("x"))
    with pytest.raises(SystemExit) as ended:
        audit_command._failed_on_spark(ValueError("not a table of events"))
    assert ended.value.code == 2


def test_a_worker_without_a_package_is_told_how_to_get_it(spark) -> None:
    def fail(batches: Any) -> Any:
        import no_such_package  # noqa: F401

        yield from batches

    with pytest.raises(Exception, match="no_such_package") as raised:
        spark.range(1).mapInArrow(fail, "id bigint").collect()
    told = failure_text(raised.value)
    assert told is not None
    assert "PYSPARK_PYTHON" in told


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (['127.0.0.1 - - [21/Nov/2026:08:00:00] "GET / HTTP/1.1" 200'], "no line of nats-server"),
        (["Nov 21 08:00:00 host sshd[7]: Accepted publickey for x"], "no line of nats-server"),
        (["\x00\x01\x02", "\x7fELF"], "no line of nats-server"),
    ],
)
def test_logs_of_other_products_are_refused_before_spark_starts(tmp_path, lines, told) -> None:
    path = tmp_path / "other.log"
    path.write_text("\n".join(lines * 20))
    for given in (path, tmp_path):
        done = CliRunner().invoke(app, ["audit", str(given)])
        assert (done.exit_code, told in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ('{"schema": 99}', "written by a newer version of subtrie"),
        ('{"schema"', "is not the manifest of an audit"),
        ("[]", "is not the manifest of an audit"),
        ("{}", "is not the manifest of an audit"),
    ],
)
def test_a_result_of_a_newer_version_is_not_replaced(tmp_path, manifest, told) -> None:
    """Bug: the result was replaced, and the files that its manifest named stayed."""
    RunFolder(tmp_path).commit(all_tables([]), {})
    (tmp_path / MANIFEST).write_text(manifest)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(OutputFolderError, match=told):
        RunFolder(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (tmp_path / MANIFEST).read_text() == manifest


FULL = """
import json, resource, signal, sys
from subtrie.audit._runs.run_folder import RunFolder, stage_file
from subtrie.audit._runs.run_writer import all_tables, table_bytes

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
run = RunFolder(sys.argv[1])
rows = [{"subject": f"s{i * 7919}", "published": i, "bytes": 1, "share": 0.5} for i in range(9000)]
big = table_bytes("hot_subjects", rows)
with open(sys.argv[2], "wb") as file:
    file.write(big["data"])
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    if sys.argv[3] == "worker":
        stage_file(run.path, run.staging, sys.argv[2], big["file"])
    else:
        run.commit(all_tables([big]), {})
except OSError as error:
    run.discard()
    print(error.strerror or error)
    raise SystemExit(2)
"""


@pytest.mark.requirement("P-10")
@pytest.mark.parametrize("where", ["worker", "driver"])
def test_a_full_disk_leaves_the_earlier_result(tmp_path, where) -> None:
    out = tmp_path / "out"
    RunFolder(out).commit(all_tables([]), {"lines": 1})
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(out), str(tmp_path / "big"), where],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "File too large" in done.stdout
    after = {path.name: path.read_bytes() for path in out.iterdir()}
    assert after == before
    assert json.loads(after[MANIFEST])["lines"] == 1


def test_a_server_that_is_not_spark_connect_is_told_in_bounded_time(monkeypatch) -> None:
    monkeypatch.setattr(remote, "_READY", 0.2)
    with pytest.raises(SparkStartError, match=r"does not answer.* within 0 s"):
        remote._bounded(lambda: time.sleep(5), "sc://x does not answer")
    with pytest.raises(SparkStartError, match=r"does not answer: wrong$"):
        remote._bounded(_wrong, "sc://x does not answer")


def _wrong() -> None:
    raise RuntimeError("wrong\nin many lines")


@pytest.mark.parametrize(
    "when", ["jvm", pytest.param("worker", marks=pytest.mark.cluster)]
)  # the second waits for a whole session
def test_an_interrupted_audit_leaves_no_process_and_no_files(captures, tmp_path, when) -> None:
    """The command gets SIGINT while the JVM starts, and while the workers read."""
    log = tmp_path / "trace.log"
    log.write_bytes((captures / "go_live" / "trace.log").read_bytes() * 30)
    out, temporary = tmp_path / "out", tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "subtrie.cli",
            "audit",
            str(log),
            "--master",
            "local[2]",
            "--out",
            str(out),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    sign = "SparkSubmit" if when == "jvm" else "pyspark.daemon"

    def begun() -> bool:
        assert process.poll() is None, process.communicate()
        return any(sign in command for command in members(process.pid))

    wait_until(begun)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == "subtrie audit: interrupted; nothing was written"
    wait_until(lambda: not members(process.pid))
    assert not out.exists()
    assert not list(temporary.glob("subtrie-audit-*"))


def members(session: int) -> list[str]:
    """Return the commands of the processes of a session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it has ended
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(command)
    return found


def test_data_sources_name_the_file_that_vanished(spark, log) -> None:
    register(spark)
    df = spark.read.format("nats-trace").load(str(log))
    log.unlink()
    with pytest.raises(Exception, match=r"trace\.log") as raised:
        df.collect()
    assert str(log) in str(failure_text(raised.value))
