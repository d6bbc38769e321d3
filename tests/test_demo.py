"""``make demo`` from end to end: a real broker, the real audit on Spark, and both verdicts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from examples.shop.demo import read_tables

ROOT = Path(__file__).resolve().parent.parent


def demo(out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "examples.shop", "--out", str(out), *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of one run of the demo, and what it printed."""
    out = tmp_path_factory.mktemp("demo")
    done = demo(out, "--seconds", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    return out, done.stdout


def test_every_line_is_accounted_for_and_every_number_agrees(shown):
    out, said = shown
    report = read_tables(out / "tables")
    lines = (out / "trace.log").read_bytes().count(b"\n")
    parts = [report[part] for part in ("operations", "payloads", "server", "quarantined")]
    assert sum(parts) == report["lines"] == lines
    assert f"{lines} = {' + '.join(map(str, parts))}" in said
    assert "every number agrees with what the services counted themselves" in said
    assert (report["quarantined"], report["orphans"]) == (0, 0)


def test_the_wrong_traffic_is_named_with_its_reason(shown):
    _, said = shown
    for part in ("shipping_shop", "stocks", "orders%2eshop", "payments.shop", "cron.hourly"):
        assert part in said


def test_the_tables_are_written_as_parquet(shown):
    out, _ = shown
    graph = pq.read_table(out / "tables" / "call_graph.parquet").to_pylist()
    edges = {(row["source"], row["destination"], row["port"]): row["delivered"] for row in graph}
    assert edges["payments.shop", "token.shop", 666] > 10


def test_a_falsified_count_ends_with_exit_1(shown, tmp_path):
    out = tmp_path / "falsified"
    shutil.copytree(shown[0], out)
    counts = json.loads((out / "counts.json").read_text())
    edge, number = counts["handled"][0]
    counts["handled"][0][1] = number + 1
    (out / "counts.json").write_text(json.dumps(counts))
    done = demo(out, "--again")
    assert done.returncode == 1, done.stdout + done.stderr
    name = " ".join(str(part) for part in edge)
    wanted = f"delivered, {name}: the services counted {number + 1}, the audit says {number}"
    assert wanted in done.stdout
    assert "differing numbers: 1" in done.stdout


def test_a_line_taken_out_of_the_log_ends_with_exit_1(shown, tmp_path):
    out = tmp_path / "shortened"
    shutil.copytree(shown[0], out)
    lines = (out / "trace.log").read_bytes().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if b"->> [MSG shop.safe" in line)
    del lines[place]
    (out / "trace.log").write_bytes(b"".join(lines))
    done = demo(out, "--again")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "call graph, delivered" in done.stdout


def test_no_earlier_run_is_bad_input(tmp_path):
    done = demo(tmp_path / "nothing", "--again")
    assert done.returncode == 2
    assert "trace.log" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
