"""Classic sessions on a standalone cluster, and servers that end in time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from spark_servers import HOME, cluster, connect_server, environment, gone
from test_connect_on_cluster import LOG, PUBLISHED
from truth import differences

import subtrie
from subtrie.spark import TABLES
from synthetic_traffic import write_traffic

pytestmark = pytest.mark.cluster


def test_the_package_is_sent_and_a_log_is_read(spark_cluster, drive):
    told = drive(
        spark_cluster.url,
        ("engine_missing", {}),
        ("ship", {}),
        ("engine", {}),
        ("decode", {"log": str(LOG)}),
    )
    assert "No module named 'subtrie'" in told["engine_missing"]
    assert {text.split()[0] for text in told["engine"]} == {"native"}
    assert told["decode"] == PUBLISHED
    assert not (HOME / "work").exists(), "Spark wrote into its own package"


@pytest.mark.parametrize("split_bytes", [40_000, 1_000_000])
def test_the_audit_on_the_cluster_is_the_truth(spark_cluster, drive, tmp_path, split_bytes):
    world = tmp_path / "world"
    write_traffic(world, seed=62, rows=6000)
    logs, out = [str(world / "trace.log")], str(tmp_path / "out")
    arguments = {"logs": logs, "world": str(world), "out": out, "split_bytes": split_bytes}
    told = drive(spark_cluster.url, ("ship", {}), ("audit", arguments))
    assert told["audit"] == []


@pytest.mark.requirement("P-12")
@pytest.mark.parametrize("option", ["--master", "--remote"])
def test_the_command_runs_on_the_cluster(spark_cluster, bare_python, tmp_path, option):
    """The workers have neither this package nor a log that is not shared."""
    world, out = tmp_path / "world", tmp_path / "out"
    write_traffic(world, seed=64, rows=2000)
    env = environment(PYSPARK_PYTHON=str(bare_python))
    with contextlib.ExitStack() as stack:
        arguments = ["--master", spark_cluster.url, "--conf", "spark.executor.memory=512m"]
        if option == "--remote":
            server = connect_server(
                tmp_path, spark_cluster.url, env={"PYSPARK_PYTHON": str(bare_python)}
            )
            arguments = ["--remote", stack.enter_context(server)]
        done = subprocess.run(
            [sys.executable, "-m", "subtrie.cli", "audit", str(world / "trace.log"), "--json",
             "--out", str(out), "--expect", "builtin", *arguments],
            capture_output=True, text=True, check=False, timeout=300, env=env,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    tables = {name: told[name] for name in TABLES}
    for row in tables["call_graph"]:
        row["window"] = None
    assert differences(told, tables, world) == []
    assert told["expectations"] == []
    assert (out / "audit.json").exists()
    assert done.stderr == ""


def test_a_local_session_sends_the_package_too(drive):
    told = drive("local[1]", ("ship", {}), ("engine", {}))
    assert {text.split()[0] for text in told["engine"]} == {"native"}


def test_the_package_of_a_wheel_is_sent(drive, tmp_path):
    package = Path(subtrie.__file__).parent
    wheel = tmp_path / "subtrie-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in package.rglob("*"):
            if file.suffix in (".py", ".so"):
                archive.write(file, f"subtrie/{file.relative_to(package)}")
        archive.writestr("subtrie/_of_the_wheel.py", "")
    told = drive("local[1]", ("ship", {"wheel": str(wheel)}), ("engine", {}))
    assert [text.split()[0] for text in told["engine"]] == ["native"]
    assert f"{told['ship']}.unpacked" in told["engine"][0]


def test_servers_end_when_the_process_that_started_them_is_killed(tmp_path):
    program = (
        "import sys, time; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
        "from spark_servers import cluster\n"
        "with cluster(Path(sys.argv[1]), workers=1) as made:\n"
        "    print(made.workers[0].pid, flush=True); time.sleep(600)\n"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path), str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    worker = int(starter.stdout.readline())
    assert not gone(worker)
    starter.kill()
    starter.communicate()
    for _ in range(200):
        if gone(worker):
            return
        time.sleep(0.1)
    pytest.fail("the worker still runs")


@pytest.mark.requirement("P-10")
@pytest.mark.parametrize("step", ["slow_count", "audit"])
def test_a_worker_killed_in_the_middle_loses_nothing(tmp_path, drive, bare_python, step):
    world = tmp_path / "world"
    write_traffic(world, seed=31, rows=60_000, events=True)
    log = str(world / "trace.log")
    folder = tmp_path / "servers"
    folder.mkdir()
    out = str(tmp_path / "out")
    audit = {"logs": [log], "world": str(world), "out": out, "split_bytes": 500_000}
    steps = [("ship", {}), (step, {"log": log} if step == "slow_count" else audit)]
    with cluster(folder, env={"PYSPARK_PYTHON": str(bare_python)}) as made:
        driver = drive.start(made.url, *steps)
        for line in driver.stdout:
            if json.loads(line)["step"] == "ship":
                break
        reading = made.folder / "work0"
        for _ in range(1200):  # until an executor of the first worker has finished a task
            if any("Finished task" in p.read_text() for p in reading.glob("*/*/stderr")):
                break
            time.sleep(0.1)
        os.kill(made.workers[0].pid, signal.SIGKILL)
        out, err = driver.communicate(timeout=600)
    assert driver.returncode == 0, out + err[-3000:]
    (told,) = [json.loads(line) for line in out.splitlines()]
    if step == "audit":
        assert told["result"] == []
    else:
        events = pq.read_table(world / "events.parquet", columns=["op"])["op"].to_pylist()
        # A login is read of the first line of a connection, and START also tells of the server.
        derived = {"LOGIN", "SERVER"}
        found = {op: count for op, count in told["result"].items() if op not in derived}
        assert found == Counter(map(str, events))
    master = (folder / "master.log").read_text()
    assert "Removing worker" in master or "lost" in master.lower()
