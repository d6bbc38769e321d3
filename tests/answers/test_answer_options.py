"""The options of the command that need no session, and tables that fit a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from subtrie._cli.app import app
from subtrie._cli.audit_answers import print_failing
from subtrie._cli.audit_tables import _rich_table, cut, fitted_widths
from subtrie.spark import open_audit
from subtrie.spark._runs.run_folder import RunFolder, table_bytes

LOG = "[7] 2026/11/21 08:00:00.000001 [INF] Server is ready\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "nats.log").write_text(LOG)
    (tmp_path / "bad.py").write_text("from subtrie.connector import Connector\ndef f(:\n")
    (tmp_path / "rules.json").write_text(json.dumps({"subtrie": 1, "publish_allow": []}))
    (tmp_path / "two words.json").write_text(json.dumps({"subtrie": 1, "publish_allow": []}))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--at", "2026-11-21"], "--at needs --subject"),
        (["--subject", "a..b"], "a..b"),
        (["--subject", "a.b", "--at", "noon"], "not a time"),
        (["--since", "2026-11-22", "--until", "2026-11-21"], "the period is empty"),
        (["--rules", "two words.json"], "cannot tell which service"),
        (["--rules", "gone.json"], "gone.json"),
        (["--code", "bad.py"], "bad.py:2"),
        (["--fail-on", "violations,colour"], "no table 'colour'"),
    ],
)
def test_a_bad_question_is_one_line_and_exit_2(files, monkeypatch, arguments, message) -> None:
    monkeypatch.chdir(files)
    told = CliRunner().invoke(app, ["audit", "nats.log", *arguments])
    assert told.exit_code == 2
    assert message in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1
    assert told.stdout == ""


def test_fail_on_names_the_tables_that_have_rows(tmp_path, capsys) -> None:
    row = {"subject": "a", "count": 1, "differs_at": 0, "subscription_inactive": False}
    RunFolder(tmp_path / "run").commit([table_bytes("undelivered", [row])], {"lines": 1})
    result = open_audit(str(tmp_path / "run"))
    assert print_failing(result, ("spoofed", "undelivered"))
    assert capsys.readouterr().err == "subtrie audit: --fail-on: 1 in undelivered\n"
    assert not print_failing(result, ("spoofed",))
    assert capsys.readouterr().err == ""


def test_a_table_fits_80_columns_and_subjects_are_cut_in_the_middle(capsys) -> None:
    long = "prod.safe.443.shop_example.warehouse_example._.GET.items.{}.parts.by-day.of.everything"
    rows = [
        {"plane": "prod", "subject": long.format(n), "count": n * 1000, "refused": 0,
         "nearest": long.format("*")}
        for n in range(1, 4)
    ]  # fmt: skip
    _rich_table(Console(width=80, force_terminal=True), "undelivered",
                tuple(rows[0]), 3, rows)  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, (line for line in lines if "│" in line))) <= 90  # with escape sequences
    shown = [line for line in lines if "1000" in line]
    assert len(shown) == 1
    assert "…" in shown[0]
    assert any("refused 0" in line for line in lines)
    assert fitted_widths([["a" * 50, "b" * 5], ["c", "d"]], 30) == [25, 5]
    # Headings are cut before what stands below them.
    flows = [["publisher", "pattern", "undelivered"], ["shop", "orders.*.sold1", "58"]]
    assert fitted_widths(flows, 24) == [5, 14, 5]
    assert fitted_widths(flows, 20) == [5, 10, 5]
    assert cut("abcdefghij", 5) == "ab…ij"
    assert cut("abc", 3) == "abc"
