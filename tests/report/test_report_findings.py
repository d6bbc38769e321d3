"""``subtrie report findings`` in each format, and commands whose reader goes away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from report_runs import make_run, row

sys.path.insert(0, str(Path(__file__).parent.parent / "acl"))

from sarif_schema import checked

from subtrie._cli.app import app
from subtrie.audit import TABLES
from subtrie.report import read_report
from subtrie.report._sections import LEADS


def printed(run: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["report", "findings", str(run), *words])
    return done.exit_code, done.output


def test_the_findings_of_a_run_in_each_format(runs):
    run = runs["small"]
    told = [each.message for each in read_report(run).findings]
    assert len(told) == 4
    code, text = printed(run)
    assert code == 1
    assert text.endswith("4 findings: 1 error, 2 warnings, 1 note\n")
    assert text.splitlines()[0].startswith(f"{run}: error spoofed: {told[0]}  example: prod.safe")
    rows = [json.loads(line) for line in printed(run, "--json")[1].splitlines()]
    assert [each["message"] for each in rows] == told
    assert (rows[0]["count"], rows[0]["user"], rows[0]["first"][:10]) == (
        4, "stock.example", "2026-11-21",
    )  # fmt: skip
    results = checked(printed(run, "--sarif")[1])["runs"][0]["results"]
    assert [each["ruleId"] for each in results] == [each["rule"] for each in rows]
    suite = ElementTree.fromstring(printed(run, "--format", "junit")[1])
    assert (suite.get("tests"), suite.get("failures")) == ("4", "3")
    assert "| error | spoofed |" in printed(run, "--format", "markdown")[1]


def test_a_run_without_findings_is_exit_0_and_bad_input_2(tmp_path):
    make_run(tmp_path / "run", {})
    assert printed(tmp_path / "run") == (0, "✓ no findings\n")
    suite = ElementTree.fromstring(printed(tmp_path / "run", "--format", "junit")[1])
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")
    assert printed(tmp_path)[0] == 2


def test_every_table_has_a_sentence_for_sarif():
    assert set(TABLES) == {*LEADS, "runs"}


@pytest.mark.parametrize("words", ["markdown", "json", "html", "findings", "diff", "lines"])
def test_the_command_ends_in_silence_if_its_reader_goes_away(runs, tmp_path, words):
    """``subtrie report markdown run | head`` said ``[Errno 32] Broken pipe`` and exited with 2."""
    run = str(runs["small"])
    (tmp_path / "nats.log").write_text("\n")
    subject = "prod.safe.443.web_example.stock_example._.GET.itms"
    (tmp_path / "nats.log").write_text(
        "[1] 2026/11/21 08:00:00.000000 [TRC] 127.0.0.1:1 - cid:1 - "
        f"<<- [PUB {subject} 0]\n"
    )  # fmt: skip
    more = {
        "diff": [str(runs["answers"])],
        "lines": ["undelivered", subject, "--log", str(tmp_path / "nats.log")],
    }
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "subtrie.cli", "report", words, run, *more.get(words, ())],
        stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
    )  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_consumer_that_acknowledges_nothing_is_a_finding(tmp_path):
    """It is more than a note only if messages came again."""

    def consumer(name, policy, again, acknowledged=0):
        return row("consumers", stream="ORDERS", consumer=name, who=name, ack_policy=policy,
                   delivered=80 + again, redelivered=again, acknowledged=acknowledged,
                   rejected=0)  # fmt: skip

    rows = [consumer("silent", None, 320), consumer("once", "explicit", 0),
            consumer("shipper", "explicit", 20, 80), consumer("copy", "none", 0),
            consumer("*", None, 0)]  # fmt: skip
    make_run(tmp_path / "run", {"consumers": rows})
    code, text = printed(tmp_path / "run", "--json")
    found = [json.loads(line) for line in text.splitlines()]
    assert code == 1
    assert [(each["level"], each["message"], each["count"]) for each in found] == [
        (level, f"{who} acknowledges nothing that stream ORDERS, consumer {who}, delivers{more}",
         count)
        for level, who, more, count in (
            ("warning", "silent", "; 320 came again", 400), ("note", "once", "", 80),
        )
    ] + [
        ("note", "shipper receives again what stream ORDERS, consumer shipper, delivered: 20 of "
         "100 messages", 20),
    ]  # fmt: skip


@pytest.mark.parametrize(("count", "words", "differs"), [
    (125, (), False), (126, (), True), (80, (), False), (79, (), True),
    (101, ("--share", "0"), True), (200, ("--share", "0.5"), False),
    (201, ("--share", "0.5"), True),
])  # fmt: skip
def test_a_number_differs_if_more_than_a_fifth_of_the_larger_one_changed(
    tmp_path, count, words, differs
):
    for name, number in (("old", 100), ("new", count)):
        rows = [row("other_traffic", subject="a", count=number)]
        make_run(tmp_path / name, {"other_traffic": rows})
    runs = [str(tmp_path / name) for name in ("old", "new")]
    done = CliRunner().invoke(app, ["report", "diff", *runs, *words])
    assert done.exit_code == differs
    told = f"~ other_traffic: a  (count 100 → {count})\n" if differs else "no difference\n"
    assert done.output == told
