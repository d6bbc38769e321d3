"""Two runs are compared by the keys of their tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from subtrie._cli.report_diff import diff
from subtrie.audit._run import run_record
from subtrie.audit._runs.run_folder import RunFolder
from subtrie.audit._runs.run_writer import all_tables, table_bytes
from subtrie.spark import open_audit, run_difference


def commit(folder: Path, **tables: list[dict[str, Any]]) -> None:
    """Write a result with these tables."""
    names = ("lines", "operations", "payloads", "server", "unparseable_lines", "ambiguous",
             "unmatched", "forwarded")  # fmt: skip
    counts = dict.fromkeys(names, 1)
    rows = {**tables, "runs": [run_record(None, {}, counts)]}
    made = [table_bytes(name, each) for name, each in rows.items()]
    RunFolder(folder).commit(all_tables(made), {**counts, "planes": ["prod"]})


def run(folder: Path, **counts: int) -> Path:
    """Write a result with undelivered subjects and their counts."""
    rows: list[dict[str, Any]] = [
        {"subject": name, "count": count, "differs_at": 1, "subscription_inactive": False}
        for name, count in counts.items()
    ]
    commit(folder, undelivered=rows)
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    before = run(tmp_path / "before", gone=3, same=100, more=100)
    return before, run(tmp_path / "after", new=4, same=120, more=160)


def test_rows_are_new_gone_or_changed_by_more_than_the_share(runs) -> None:
    found = list(run_difference(*map(open_audit, map(str, runs))))
    assert [(row["key"]["subject"], row["change"], row["columns"]) for row in found] == [
        ("gone", "gone", {"count": 3}),
        ("more", "changed", {"count": [100, 160]}),
        ("new", "new", {"count": 4}),
    ]
    all_of = run_difference(*map(open_audit, map(str, runs)), share=0)
    assert {row["key"]["subject"] for row in all_of} == {"gone", "more", "new", "same"}
    assert list(run_difference(*[open_audit(str(runs[0]))] * 2, share=0)) == []
    with pytest.raises(ValueError, match="from 0 to 1"):
        list(run_difference(*map(open_audit, map(str, runs)), share=2))


def test_what_two_runs_cannot_have_in_common_is_left_out(tmp_path) -> None:
    folders = []
    for server, inbox, orders in (
        ("a", "K3vX9aQ0ZrT7mB2cYdL5wE", 2),
        ("b", "Zb1cR2tY3uI4oP5aS6dF7g", 4),
    ):
        traffic: list[dict[str, Any]] = [
            {"subject": f"_INBOX.{inbox}.1", "count": 1, "class": "inbox"},
            *({"subject": f"orders.{n}.paid", "count": 1, "class": "other"} for n in range(orders)),
        ]
        heard: list[dict[str, Any]] = [
            {"server": server, "pattern": "orders.*.paid", "matched": 9, "delivered": 9}
        ]
        folder = tmp_path / server
        commit(folder, other_traffic=traffic, coverage=heard)
        folders.append(open_audit(str(folder)))
    (row,) = run_difference(*folders)
    assert (row["key"], row["columns"]) == ({"subject": "orders.*.paid"}, {"count": [2, 4]})


def test_the_command_tells_differences_and_exits_with_1(runs, tmp_path) -> None:
    def call(*arguments: object):
        return CliRunner().invoke(diff, list(map(str, arguments)))

    told = call(*runs)
    assert (told.exit_code, told.output.splitlines()) == (
        1,
        [
            "- undelivered: gone  (count 3)",
            "~ undelivered: more  (count 100 → 160)",
            "+ undelivered: new  (count 4)",
        ],
    )
    rows = [json.loads(line) for line in call(*runs, "--json").output.splitlines()]
    assert [row["change"] for row in rows] == ["gone", "changed", "new"]
    same = call(runs[0], runs[0])
    assert (same.exit_code, same.output) == (0, "no difference\n")
    assert call(*runs, "--table", "malformed").exit_code == 0
    for bad in ((*runs, "--table", "x"), (runs[0], tmp_path / "none")):
        refused = call(*bad)
        assert (refused.exit_code, len(refused.stderr.splitlines())) == (2, 1)
