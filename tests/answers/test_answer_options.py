"""The options of the command that need no session, and tables that fit a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from subtrie._cli.app import app
from subtrie._cli.audit_answers import exit_code
from subtrie._cli.audit_tables import _rich_table, broken, cut, fitted_widths
from subtrie.audit._results.verdict import failing
from subtrie.audit._run import run_record
from subtrie.audit._runs.run_folder import RunFolder
from subtrie.audit._runs.run_writer import all_tables, table_bytes
from subtrie.spark import Audit, open_audit, verdict

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


MADE = {"lines": 1, "operations": 1, "unparseable_lines": 0, "payloads": 0, "server": 0,
        "ambiguous": 0, "unmatched": 0, "forwarded": 0}  # fmt: skip
MISSED = {"subject": "a", "count": 1, "differs_at": 0, "subscription_inactive": False}
FLOW = {"publisher": "shop", "pattern": "a", "published": 700, "delivered": 0, "bytes": 0,
        "per_minute": 1.0}  # fmt: skip


def made(folder: Path, planes: list[str], **tables: list[dict[str, object]]) -> Audit:
    record = run_record(None, {}, {**MADE, "published": 1})
    files = [table_bytes(name, rows) for name, rows in {**tables, "runs": [record]}.items()]
    RunFolder(folder).commit(all_tables(files), {**MADE, "planes": planes})
    return open_audit(str(folder))


#: For tables that have other rows, too: a row that is as it should be, and one that is wrong.
USUAL_AND_WRONG: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "logins": ({"outcome": "accepted"}, {"outcome": "refused"}),
    "gap": ({"finding": "ok"}, {"finding": "uncovered"}),
    "flows": ({"undelivered": 0}, {"undelivered": 2}),
    "latency": ({"unanswered": 0, "errors": 0}, {"unanswered": 0, "errors": 1}),
    "permission_usage": ({"accepted": 1, "effect": "allow"}, {"accepted": 0, "effect": "allow"}),
}


@pytest.mark.parametrize("table", USUAL_AND_WRONG)
def test_fail_on_counts_the_rows_of_a_table_that_are_wrong(tmp_path, capsys, table) -> None:
    usual, wrong = USUAL_AND_WRONG[table]
    result = made(tmp_path / "run", ["prod"], **{table: [usual, usual, wrong]})
    assert exit_code(result, (table,), ()) == 1
    assert capsys.readouterr().err == f"subtrie audit: --fail-on: 1 in {table}\n"
    result = made(tmp_path / "usual", ["prod"], **{table: [usual]})
    assert exit_code(result, (table,), ()) == 0


def test_the_verdict_counts_refused_logins_alone(tmp_path) -> None:
    logins = [{"outcome": "accepted", "count": 5}, {"outcome": "refused", "count": 2}]
    assert "2 refused logins" in verdict(made(tmp_path / "run", ["prod"], logins=logins))


def test_fail_on_names_the_tables_that_have_rows(tmp_path, capsys) -> None:
    tables = {name: [] for name in ("spoofed", "flows", "other_traffic")}
    result = made(tmp_path / "run", ["prod"], undelivered=[MISSED], **tables)
    assert exit_code(result, ("spoofed", "undelivered"), ()) == 1
    assert capsys.readouterr().err == "subtrie audit: --fail-on: 1 in undelivered\n"
    assert exit_code(result, ("spoofed",), ()) == 0
    assert capsys.readouterr().err == ""


def test_fail_on_undelivered_fails_on_what_the_verdict_counts_without_microbus(
    tmp_path, capsys
) -> None:
    """The flows have it then: the table ``undelivered`` is that of Microbus."""
    flows = [{**FLOW, "undelivered": 598}, {**FLOW, "subscriber": "stock", "undelivered": 5}]
    sent = [{"subject": "a", "count": 700}]
    result = made(tmp_path / "run", [], undelivered=[], flows=flows, other_traffic=sent)
    assert verdict(result) == "598 undelivered"
    assert failing(result, ("undelivered", "flows")) == {"undelivered": 598, "flows": 2}
    assert exit_code(result, ("undelivered",), ()) == 1
    assert capsys.readouterr().err == "subtrie audit: --fail-on: 598 in undelivered\n"
    received = made(tmp_path / "run", [], flows=[{**FLOW, "undelivered": 0}], logins=[])
    assert failing(received, ("flows", "logins")) == {}
    result = made(tmp_path / "run", [], undelivered=[], flows=[], other_traffic=sent)
    assert verdict(result) == "undelivered messages not counted"
    assert exit_code(result, ("undelivered",), ()) == 2
    assert "the input does not tell deliveries, or --redact hides them" in capsys.readouterr().err
    assert exit_code(result, ("spoofed",), ()) == 0


NOT_TRACED = LOG + (
    '[7] 2026/11/21 08:00:01.000001 [DBG] 127.0.0.1:4 - cid:1 - "v1:go:a" - Client connected\n'
)
TRACED = LOG + (
    '[7] 2026/11/21 08:00:01.000001 [TRC] 127.0.0.1:4 - cid:1 - "v1:go:a" - <<- '
    "[SUB prod.safe.443.*.a_shop._.GET.x  1]\n"
)


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("", 2, "no operation was read"),
        (LOG, 2, "no operation was read"),
        (NOT_TRACED, 2, "no operation was read"),
        (NOT_TRACED + "[7] 2026/11/21 08:0", 2, "no operation was read, 1 unparseable"),
        (TRACED, 0, "no findings"),
    ],
)
@pytest.mark.requirement("A81")
def test_a_log_without_operations_is_neither_without_findings_nor_green(
    tmp_path, text, code, told
) -> None:
    log, page = tmp_path / "nats.log", tmp_path / "page.html"
    log.write_text(text)
    for options in ([], ["--fail-on", "spoofed,refused"], ["--report", str(page)]):
        done = CliRunner().invoke(app, ["audit", str(log), *options])
        assert (done.exit_code, done.stdout.splitlines()[0]) == (code, told), done.output
        hint = "run nats-server with -DV, and give the log that it writes"
        assert (hint in done.stderr) == (code == 2)
    assert told in page.read_text()


def test_a_table_fits_80_columns_and_subjects_are_broken_after_dots(capsys) -> None:
    long = "prod.safe.443.shop_example.warehouse_example._.GET.items.{}.parts.by-day.of.everything"
    rows = [
        {"plane": "prod", "subject": long.format(n), "count": n * 1000, "refused": 0,
         "nearest": long.format("*")}
        for n in range(1, 4)
    ]  # fmt: skip
    _rich_table(Console(width=80, force_terminal=True), "undelivered",
                tuple(rows[0]), rows, frozenset({"plane", "refused"}))  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, (line for line in lines if "│" in line))) <= 90  # with escape sequences
    # The misspelt token of a subject was what was cut.
    assert [line for line in lines if "…" in line] == []
    cells = [[each.strip() for each in line.split("│")[1:4]] for line in lines if "│" in line]
    whole = ["".join(each[column] for each in cells) for column in (0, 2)]
    assert whole == ["".join(long.format(n) for n in (1, 2, 3)), long.format("*") * 3]
    assert any("refused 0" in line for line in lines)
    assert fitted_widths([["a" * 50, "b" * 5], ["c", "d"]], 30) == [25, 5]
    # Headings are cut before what stands below them.
    flows = [["publisher", "pattern", "undelivered"], ["shop", "orders.*.sold1", "58"]]
    assert fitted_widths(flows, 24) == [5, 14, 5]
    assert fitted_widths(flows, 20) == [5, 10, 5]
    # A row never has more than the screen: the last heading was cut by the edge.
    wide = [["publisher", "pattern", "bytes"], ["a-service-with", "orders.eu.created", "12345678"]]
    assert fitted_widths(wide, 18) == [5, 5, 8]
    for column in ("pattern", "nearest", "subject"):
        row = {column: "orders.*.created.misspelt.long", "count": 1}
        _rich_table(Console(width=40, force_terminal=True), "x", tuple(row), [row], frozenset())
        assert "…" not in capsys.readouterr().out
    assert broken("prod.safe.longest..x", 8) == "prod.\nsafe.\nlongest.\n.x"
    assert broken("abcdefghij.k", 4) == "abcd\nefgh\nij.k"
    assert broken("", 4) == ""
    assert cut("abcdefghij", 5) == "ab…ij"
    assert cut("abc", 3) == "abc"
