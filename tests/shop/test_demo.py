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
from examples.shop.services import SERVICES
from subtrie import Pattern
from subtrie.report import read_report
from subtrie.spark import open_audit

ROOT = Path(__file__).resolve().parents[2]


def demo(out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "examples.shop", "--out", str(out), *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=420,
    )


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of one run of the demo, and what it printed."""
    out = tmp_path_factory.mktemp("demo")
    done = demo(out, "--seconds", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    return out, done.stdout


def test_every_line_is_counted_and_every_number_agrees(shown):
    out, said = shown
    report = read_tables(out / "tables")
    lines = (out / "trace.log").read_bytes().count(b"\n")
    parts = [report[part] for part in ("operations", "payloads", "server", "unparseable_lines")]
    assert sum(parts) == report["lines"] == lines
    named = zip(parts, ("operations", "payloads", "of the server", "unparseable"), strict=True)
    assert f"lines: {lines} = {' + '.join(f'{count} {name}' for count, name in named)}" in said
    assert "every number agrees with what the services counted themselves" in said
    assert (report["unparseable_lines"], report["unmatched"]) == (0, 0)


def test_faulty_traffic_is_reported_with_its_reason(shown):
    _, said = shown
    for part in ("shipping_shop", "stocks", "orders%2eshop", "payments.shop", "cron.hourly"):
        assert part in said


def test_the_tables_are_written_as_parquet(shown):
    out, _ = shown
    manifest = json.loads((out / "tables" / "audit.json").read_text())
    graph = pq.read_table(out / "tables" / manifest["tables"]["call_graph"]["file"]).to_pylist()
    edges = {(row["source"], row["destination"], row["port"]): row["delivered"] for row in graph}
    assert edges["payments.shop", "token.shop", 666] > 10


def test_the_report_has_usage_gap_and_proposal(shown):
    out, said = shown
    page = out / "report.html"
    assert f"report written to {page}" in said
    assert page.stat().st_size < 1_500_000
    report = read_report(out / "tables")
    found = {section.table for section in report.sections}
    assert {"permission_usage", "gap", "proposal", "undelivered", "call_graph"} <= found
    assert "payments.shop" in {diff.service for diff in report.diffs}
    assert any(each.rule == "spoofed" and each.level == "error" for each in report.findings)


def test_falsified_numbers_end_with_exit_1(shown, tmp_path):
    """One count raised by one, and one delivery taken out of the log: both are named."""
    out = tmp_path / "falsified"
    shutil.copytree(shown[0], out)
    counts = json.loads((out / "counts.json").read_text())
    row = next(row for row in counts["other_traffic"] if row[0] == "cron.hourly")
    row[1] += 1
    (out / "counts.json").write_text(json.dumps(counts))
    lines = (out / "trace.log").read_bytes().splitlines(keepends=True)
    minted = b"->> [MSG shop.danger.666.payments_shop.token_shop._.POST.mint "
    del lines[next(place for place, line in enumerate(lines) if minted in line)]
    (out / "trace.log").write_bytes(b"".join(lines))
    done = demo(out, "--again")
    assert done.returncode == 1, done.stdout + done.stderr
    said = [line.removeprefix("differs").strip() for line in done.stdout.splitlines()]
    right = row[1] - 1
    assert (
        f"other_traffic, cron.hourly: the services counted {right + 1}, the audit says {right}"
        in said
    )
    edge = "call graph, delivered, payments.shop token.shop 666 POST: the services counted"
    assert any(line.startswith(edge) for line in said)
    assert any(line.endswith("differing numbers: 4") for line in said), done.stdout


def test_no_earlier_run_is_bad_input(tmp_path):
    done = demo(tmp_path / "nothing", "--again")
    assert done.returncode == 2
    assert "trace.log" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_the_proposal_and_the_rules_of_the_source_meet(shown):
    """Each proposed rule is covered by one of gencreds, and each of these that was used is met."""
    out, _ = shown
    with open_audit(str(out / "tables")) as result:
        usage, proposal, too_thin, gap = (
            list(result.rows(name)) for name in ("permission_usage", "proposal", "too_thin", "gap")
        )
    proposed = [row for row in proposal if row["service"] in SERVICES]
    assert {row["service"] for row in proposed} == set(SERVICES)
    assert [row for row in proposed if row["covered_by"] is None] == []
    met = {(row["service"], row["covered_by"]) for row in proposed}
    used = [row for row in usage if row["verb"] == "publish" and row["accepted"] and row["rule"]]
    # The control port is every service's own.
    called = [row for row in used if row["rule"].split(".")[2] != "888"]
    thin = [(row["service"], row["pattern"]) for row in too_thin]
    missing = [
        row["rule"]
        for row in called
        if (row["service"], row["rule"]) not in met
        and not any(
            service == row["service"] and Pattern(row["rule"], dialect="server").overlaps(pattern)
            for service, pattern in thin
        )
    ]
    assert missing == []
    assert len(called) > 10
    assert [
        (row["service"], row["destination"], row["path"], row["code"].rpartition(":")[0])
        for row in gap
        if row["finding"] == "never called"
    ] == [("orders.shop", "payments.shop", "refunds.*", "examples/shop/orders.py")]
