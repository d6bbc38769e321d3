"""The audit in this process and on Spark: the same bytes, whatever the division of the work."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from subtrie.audit import _here
from subtrie.audit import audit as audit_here
from subtrie.audit._answers.questions import load_code, load_rules
from subtrie.audit._answers.sums import Sums
from subtrie.audit._partial.selection import Selection
from subtrie.audit._tables.latency_sums import microbus_sums
from subtrie.spark import TABLES, Questions, audit
from synthetic_traffic import write_traffic

CAPTURES = Path(__file__).resolve().parents[2] / "examples" / "captures"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("here") / "world"
    write_traffic(folder, seed=7, rows=2500, days=4, answers=True)
    return folder


def questions_of(folder: Path, **more: Any) -> Questions:
    rules = load_rules(sorted((folder / "rules").iterdir()))
    return Questions(rules=rules, code=load_code([folder / "code"]), **more)


def compare(spark: Any, paths: list[str], **options: Any) -> dict[str, int]:
    """Assert that both give the same bytes; return the number of rows of each table."""
    with audit(None, paths, **options) as here, audit(spark, paths, **options) as there:
        for name in TABLES:
            if name != "runs":  # it has the time of the run
                assert Path(here.path(name)).read_bytes() == Path(there.path(name)).read_bytes()
        assert here.counters == there.counters
        return {name: here.count(name) for name in TABLES}


@pytest.mark.parametrize("chosen", ["all", "since", "until", "source", "host", "both"])
def test_every_table_with_every_selection(spark, world, chosen) -> None:
    log = [str(world / "trace.log")]
    with audit(None, log) as known:
        graph = sorted(known.rows("call_graph"), key=lambda row: row["first"])
        hot = next(iter(known.rows("hot_subjects")))["subject"]
    middle = graph[len(graph) // 2]["first"]
    hosts = sorted({row["source"] for row in graph if row["source"]})
    selection = {
        "all": None,
        "since": Selection(since=middle),
        "until": Selection(until=middle),
        "source": Selection(source=hosts[0]),
        "host": Selection(host=hosts[1]),
        "both": Selection(since=middle, source=hosts[0], host=hosts[1]),
    }[chosen]
    asked = questions_of(world, subject=hot)
    rows = compare(spark, log, questions=asked, selection=selection, window=600)
    assert all(rows[name] for name in ("flows", "proposal", "permission_usage", "history"))


@pytest.mark.parametrize("name", ["go_live", "go_app"])
def test_logs_of_live_services(spark, name) -> None:
    """With the heads of payloads, which have the latency of Microbus requests."""
    log = str(CAPTURES / name / "trace.log")
    rows = compare(spark, [log], questions=Questions(payloads="heads"))
    assert all(rows[name] for name in ("flows", "latency"))


def test_a_capture_and_several_servers(spark, world) -> None:
    both = [str(world / "trace.log"), str(CAPTURES / "go_live" / "trace.log"),
            str(CAPTURES / "go_live" / "wire.jsonl.gz")]  # fmt: skip
    assert compare(spark, both, questions=questions_of(world))["call_graph"]


def test_the_first_answer_of_each_responder_counts() -> None:
    """In one part or several: the least time, then the least code and status."""
    names = ("time", "subject", "message_id", "op_code", "status")
    request, reply = "p.safe.443.a_b.c_d._.GET.x", "p.reply._.{}.a_b.id-1"
    rows = [
        (100, request, "m", "Req", None),
        (90, request, "m", "Req", None),  # a fragment that was logged before
        (150, reply.format("c_d"), "m", "Res", 200),
        (140, reply.format("c_d"), "m", "Err", 500),
        (80, reply.format("e_f"), "m", "Res", 404),  # its clock is behind
        (200, reply.format("c_d"), "n", "Res", 200),  # no request has its id
        (300, request, "o", "Req", None),  # unanswered
    ]
    table = pa.table({n: [row[at] for row in rows] for at, n in enumerate(names)})
    sums = Sums()
    for name in ("account", "user", "client"):
        table = table.append_column(name, pa.nulls(len(rows), pa.string()))
    microbus_sums(sums, table)
    assert dict(sums["latency"]) == {
        ("microbus", "a.b", request, "c.d", None, None, None): ({50: 1}, 1),
        ("microbus", "a.b", request, "e.f", None, None, None): ({0: 1}, 1),
        ("microbus", "a.b", request, None, None, None, None): ({None: 1}, 0),
    }


@pytest.mark.parametrize("stop", ["reading lines", "writing tables", "answering questions"])
def test_an_interrupt_at_any_step_leaves_nothing(world, tmp_path, stop) -> None:
    def step(name: str, rows: int = 0) -> None:
        if name == stop:
            raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        audit_here([str(world / "trace.log")], out=out, questions=questions_of(world), step=step)
    assert not out.exists()


def test_a_part_that_cannot_be_read_ends_every_thread(world, tmp_path, monkeypatch) -> None:
    read, seen = _here.partials_of_part, []

    def fails_at_the_third(part, *more):
        seen.append(part)
        if len(seen) == 3:
            raise OSError("the log became shorter")
        return read(part, *more)

    monkeypatch.setattr(_here, "partials_of_part", fails_at_the_third)
    with pytest.raises(OSError, match="became shorter"):
        audit_here([str(world / "trace.log")], out=tmp_path / "out", split_bytes=20_000)
    assert not (tmp_path / "out").exists()
    assert not [each for each in threading.enumerate() if each.name.startswith("subtrie-audit")]


def test_small_parts_give_the_same_tables(world) -> None:
    log = [str(world / "trace.log")]
    with audit_here(log) as whole, audit_here(log, split_bytes=7_000) as parts:
        assert {name for name in TABLES if whole.path(name) and name != "runs"} == {
            name
            for name in TABLES
            if name != "runs"
            and Path(whole.path(name)).read_bytes() == Path(parts.path(name)).read_bytes()
        }


NO_SPARK = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "pandas", "py4j"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from subtrie.cli import main
main()
"""


def test_without_pyspark_the_command_answers_everything(world, tmp_path) -> None:
    out, page = tmp_path / "run", tmp_path / "report.html"
    source = json.loads((world / "world.json").read_text())["edges"][0]["source"]
    done = subprocess.run(
        [sys.executable, "-c", NO_SPARK, "audit", str(world / "trace.log"), "--rules",
         str(world / "rules"), "--code", str(world / "code"), "--report", str(page), "--out",
         str(out), "--source", source, "--payloads", "heads", "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flows"]
    assert page.stat().st_size > 100_000
    followed = subprocess.run(
        [sys.executable, "-c", NO_SPARK, "audit", str(world / "trace.log"), "--follow",
         "--until-idle", "0.1", "--out", str(tmp_path / "followed")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert followed.returncode == 0, followed.stderr
    refused = subprocess.run(
        [sys.executable, "-c", NO_SPARK, "audit", str(world / "trace.log"), "--master", "local[2]"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refused.returncode == 2
    assert "pip install " in refused.stderr
    assert "'pyspark[sql]>=" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
