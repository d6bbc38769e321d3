"""Two runs are compared by the keys of their tables."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from subtrie._cli.app import app
from subtrie._cli.audit_answers import exit_code
from subtrie.audit._results.verdict import failing, is_usual_error, not_read, verdict
from subtrie.audit._run import run_record
from subtrie.audit._runs.run_folder import RunFolder
from subtrie.audit._runs.run_writer import all_tables, table_bytes
from subtrie.audit._schema import TABLE_COLUMNS
from subtrie.spark import open_audit, run_difference


def commit(
    folder: Path,
    planes: tuple[str, ...] = ("prod",),
    other: dict[str, int] | None = None,
    **tables: list[dict[str, Any]],
) -> None:
    """Write a result with these tables, and with other counters than 1."""
    names = ("lines", "operations", "payloads", "server", "unparseable_lines", "ambiguous",
             "unmatched", "forwarded")  # fmt: skip
    counts = {**dict.fromkeys(names, 1), **(other or {})}
    rows = {**tables, "runs": [run_record(None, {}, counts)]}
    made = [table_bytes(name, each) for name, each in rows.items()]
    RunFolder(folder).commit(all_tables(made), {**counts, "planes": list(planes)})


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


@pytest.mark.parametrize(("share", "changed"), [(0.2, False), (0.19, True), (0, True), (1, False)])
def test_a_share_is_of_the_larger_number(tmp_path, share, changed) -> None:
    runs = [open_audit(str(run(tmp_path / str(n), a=n))) for n in (80, 100)]
    for pair in (runs, runs[::-1]):
        assert [row["change"] for row in run_difference(*pair, share=share)] == [
            "changed"
        ] * changed
    for bad in (-0.01, 1.01):
        with pytest.raises(ValueError, match="from 0 to 1"):
            list(run_difference(*runs, share=bad))


@pytest.mark.parametrize(
    ("before", "after", "changed"), [(None, 1500, True), (1500, None, True), (None, None, False)]
)
def test_a_number_that_one_run_does_not_know_is_a_change(tmp_path, before, after, changed) -> None:
    """Requests without an answer have no latency."""
    for name, took in (("0", before), ("1", after)):
        row = {"request": "a", "count": 4, "p50": took, "unanswered": 1, "errors": 0}
        commit(tmp_path / name, latency=[row])
    found = run_difference(*(open_audit(str(tmp_path / name)) for name in "01"))
    columns = [row["columns"] for row in found]
    assert columns == ([{"p50": [before, after]}] if changed else [])


@pytest.mark.parametrize(
    ("table", "column", "folded"),
    [("other_traffic", "subject", True), ("fan_out", "subject", True), ("undelivered", "subject",
     False), ("hot_subjects", "subject", True), ("coverage", "pattern", True)],
)  # fmt: skip
def test_subjects_as_they_were_sent_are_folded(tmp_path, table, column, folded) -> None:
    count = {"hot_subjects": "published", "fan_out": "published", "coverage": "matched"}
    inboxes = ("K3vX9aQ0ZrT7mB2cYdL5wE", "Zb1cR2tY3uI4oP5aS6dF7g")
    for number, inbox in enumerate(inboxes):
        row = {column: f"_INBOX.{inbox}.1", count.get(table, "count"): 3, "class": "inbox"}
        commit(tmp_path / str(number), **{table: [row]})
    found = list(run_difference(*(open_audit(str(tmp_path / n)) for n in "01")))
    assert len(found) == (0 if folded else 2)


@pytest.mark.parametrize("table", ["subscriptions", "unparseable", "runs", "at", "history"])
def test_tables_of_one_run_are_left_out(tmp_path, table) -> None:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    values = {"at": now, "time": now, "first": now, "start": now, "subject": "a", "pattern": "a",
              "file": "f", "offset": 1, "conn": "c", "kind": "k"}  # fmt: skip
    names = TABLE_COLUMNS[table]
    row = {name: values.get(name) for name, _ in names}
    commit(tmp_path / "0")
    commit(tmp_path / "1", **({} if table == "runs" else {table: [row]}))
    assert list(run_difference(*(open_audit(str(tmp_path / n)) for n in "01"))) == []


def test_one_server_has_no_name_and_two_have(tmp_path) -> None:
    rows = [{"server": server, "event": "start", "time": None} for server in "ab"]
    heard = [{"server": server, "pattern": "p", "matched": 9, "delivered": 9} for server in "ab"]
    commit(tmp_path / "one", servers=rows[:1], coverage=heard[:1])
    commit(tmp_path / "other", servers=rows[1:], coverage=heard[1:])
    commit(tmp_path / "both", servers=rows, coverage=heard)
    one, other, both = (open_audit(str(tmp_path / name)) for name in ("one", "other", "both"))
    assert [row["table"] for row in run_difference(one, other)] == []
    found = [row for row in run_difference(one, both) if row["table"] == "coverage"]
    assert [(row["change"], row["key"]["server"]) for row in found] == [("new", "b")]
    assert all("account" not in row["key"] for row in found)


TIME = datetime(2026, 11, 21, tzinfo=UTC)
LATER = TIME + timedelta(seconds=1)
#: What is in a table, and what the verdict says of it.
TOLD: list[tuple[str, list[dict[str, Any]], str]] = [
    ("spoofed", [{"count": 3, "accepted": 3}], "3 spoofed and accepted"),
    ("spoofed", [{"count": 3, "accepted": 2, "identity_source": "jwt"},
                 {"count": 1, "accepted": 1}], "3 spoofed and accepted"),
    ("spoofed", [{"count": 3, "accepted": 2, "identity_source": "claimed"}],
     "2 accepted under another name than the client's own"),
    ("spoofed", [{"count": 3, "accepted": 2, "identity_source": "token"}],
     "2 accepted under another name than the client's own"),
    ("violations", [{"kind": "forbidden_x", "count": 2}, {"kind": "other", "count": 5}],
     "2 forbidden and accepted"),
    ("claimed_users", [{"count": 1}], "1 claim of another user"),
    ("claimed_users", [{"count": 1}, {"count": 1}], "2 claims of another user"),
    ("undelivered", [{"count": 1234}], "1,234 undelivered"),
    ("malformed", [{"count": 2}], "2 malformed"),
    ("refused", [{"count": 2}], "2 refused"),
    ("jetstream_errors", [{"count": 2, "why": "no space"}, {"count": 5, "why": "not found"},
                          {"count": 5, "why": "wrong last sequence: 3"},
                          {"count": 5, "why": "name already in use"}], "2 refused by JetStream"),
    ("logins", [{"count": 1, "outcome": "refused"}, {"count": 5, "outcome": "accepted"}],
     "1 refused login"),
    ("logins", [{"count": 2, "outcome": "refused"}], "2 refused logins"),
    ("slow_consumers", [{"count": 1}], "1 slow consumer"),
    ("slow_consumers", [{"count": 2}], "2 slow consumers"),
    ("servers", [{"server": s, "event": "start", "time": TIME} for s in "ab"], "no findings"),
    ("servers", [{"server": "a", "event": "start", "time": TIME}] * 2, "1 restart"),
    ("servers", [{"server": "a", "event": "start", "time": TIME}] * 3, "2 restarts"),
    ("servers", [{"server": "a", "event": event, "time": TIME}
                 for event in ("reload", "lame duck", "ready")], "1 reload, 1 lame duck"),
    ("servers", [{"server": "a", "event": e, "time": TIME} for e in ("reload", "lame duck") * 2],
     "2 reloads, 2 lame ducks"),
    ("links", [{"server": "a", "start": TIME, "end": None}], "no findings"),
    ("links", [{"server": "a", "start": TIME, "end": LATER}], "1 link ended"),
    ("links", [{"server": "a", "start": None, "end": LATER}] * 2, "2 links ended"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "rows", "told"), TOLD)
def test_the_verdict_counts_what_is_wrong_in_a_table(tmp_path, table, rows, told) -> None:
    commit(tmp_path / "run", other={"unparseable_lines": 0}, **{table: rows})
    assert verdict(open_audit(str(tmp_path / "run"))) == told


def test_the_verdict_says_the_worst_first(tmp_path) -> None:
    rows: dict[str, list[dict[str, Any]]] = {}
    for table, each, _ in TOLD:
        rows[table] = [*rows.get(table, []), *each]
    rows["spoofed"].append({"count": 9, "accepted": 0})
    commit(tmp_path / "run", other={"unparseable_lines": 7, "mqtt": 1}, **rows)
    assert verdict(open_audit(str(tmp_path / "run"))) == (
        "6 spoofed and accepted, 3 claims of another user, 2 forbidden and accepted, "
        "1,234 undelivered, 2 malformed, 4 accepted under another name than the client's own, "
        "2 refused (10 spoofed), 2 refused by JetStream, 3 refused logins, 3 slow consumers, "
        "5 restarts, 3 reloads, 3 lame ducks, 3 links ended, 7 unparseable, "
        "1 line of MQTT not read"
    )
    commit(tmp_path / "mqtt", other={"mqtt": 2, "unparseable_lines": 0})
    assert verdict(open_audit(str(tmp_path / "mqtt"))) == "2 lines of MQTT not read"


@pytest.mark.parametrize(
    ("stop", "start", "end", "ended"),
    [(None, 1, 3, 1), (2, 1, 3, 0), (4, 1, 3, 1), (1, 1, 3, 1), (0, 1, 3, 1), (3, 1, 3, 0),
     (2, None, 3, 0), (4, None, 3, 1)],
)  # fmt: skip
def test_a_link_that_ended_with_its_server_is_not_counted(
    tmp_path, stop, start, end, ended
) -> None:
    at = {None: None, **{n: TIME + timedelta(seconds=n) for n in range(5)}}
    stops = [] if stop is None else [{"server": "a", "event": "stop", "time": at[stop]}]
    stops.append({"server": "b", "event": "stop", "time": at[2]})
    link = {"server": "a", "start": at[start], "end": at[end]}
    commit(tmp_path / "r", other={"unparseable_lines": 0}, servers=stops, links=[link])
    wanted = "1 link ended" if ended else "no findings"
    assert verdict(open_audit(str(tmp_path / "r"))) == wanted


@pytest.mark.parametrize(
    ("planes", "other", "traffic", "flows", "told"),
    [
        (("p",), {"operations": 0}, False, False, "no operation was read"),
        (("p",), {}, True, False, None),
        (("p",), {"unsettled": 1}, False, False, "undelivered messages not counted"),
        ((), {}, False, False, None),
        ((), {}, True, False, "undelivered messages not counted"),
        ((), {}, True, True, None),
    ],
)
def test_what_was_not_counted_is_said(tmp_path, planes, other, traffic, flows, told) -> None:
    tables: dict[str, list[dict[str, Any]]] = {}
    if traffic:
        tables["other_traffic"] = [{"subject": "a", "count": 1, "class": "other"}]
    if flows:
        tables["flows"] = [{"subject": "a", "subscriber": None, "undelivered": 2},
                           {"subject": "a", "subscriber": "s", "undelivered": 4}]  # fmt: skip
    commit(tmp_path / "r", planes, {"unparseable_lines": 0, **other}, **tables)
    result = open_audit(str(tmp_path / "r"))
    assert not_read(result) == told
    assert not_read(result, ()) == (told if told == "no operation was read" else None)
    assert verdict(result) == (told or ("2 undelivered" if flows else "no findings"))
    assert failing(result, ["undelivered", "flows"]) == (
        {"undelivered": 2, "flows": 2} if flows else {}
    )


@pytest.mark.parametrize(
    ("unsettled", "refused", "code"), [(0, 0, 0), (0, 1, 1), (1, 0, 2), (1, 1, 2)]
)
def test_what_was_not_counted_comes_before_what_is_wrong(
    tmp_path, capsys, unsettled, refused, code
) -> None:
    rows: list[dict[str, Any]] = [{"who": "a", "subject": "x", "count": 2}] * refused
    commit(tmp_path / "r", other={"unsettled": unsettled}, refused=rows)
    result = open_audit(str(tmp_path / "r"))
    assert exit_code(result, ("undelivered", "refused"), ()) == code
    told = capsys.readouterr().err
    assert ("--fail-on: 1 in refused" in told) is bool(refused)
    assert ("undelivered messages not counted" in told) is bool(unsettled)


@pytest.mark.parametrize(
    ("table", "wrong", "right"),
    [
        ("logins", [{"outcome": "refused", "count": 1}], [{"outcome": "accepted", "count": 1}]),
        ("links", [{"server": "a", "end": TIME}], [{"server": "a", "end": None}]),
        ("gap", [{"finding": "unused"}], [{"finding": "ok"}]),
        ("flows", [{"undelivered": 1}], [{"undelivered": 0}]),
        ("latency", [{"unanswered": 1, "errors": 0}, {"unanswered": 0, "errors": 1}],
         [{"unanswered": 0, "errors": 0}]),
        ("permission_usage", [{"accepted": 0, "effect": "allow"}, {"accepted": 1, "effect": None}],
         [{"accepted": 1, "effect": "allow"}]),
        ("consumers", [{"delivered": 2, "redelivered": 1, "acknowledged": 0, "rejected": 0,
                        "consumer": "c"}],
         [{"delivered": 2, "redelivered": 0, "acknowledged": 0, "rejected": 0, "consumer": "c"},
          {"delivered": 2, "redelivered": 1, "acknowledged": 1, "rejected": 0, "consumer": "d"},
          {"delivered": 2, "redelivered": 1, "acknowledged": 0, "rejected": 1,
           "consumer": "e"}]),
        ("malformed", [{"count": 1}], []),
    ],
)  # fmt: skip
def test_a_table_fails_by_the_rows_in_which_something_is_wrong(
    tmp_path, table, wrong, right
) -> None:
    commit(tmp_path / "r", **{table: [*wrong, *right]})
    commit(tmp_path / "ok", **{table: right})
    assert failing(open_audit(str(tmp_path / "r")), [table]) == {table: len(wrong)}
    assert failing(open_audit(str(tmp_path / "ok")), [table]) == {}


def test_an_error_that_programs_provoke_is_usual() -> None:
    for why in ("stream not found", "wrong last sequence: 3", "name already in use"):
        assert is_usual_error(why)
    for why in ("not found here", "the wrong last one", "alreadyin use", "no space"):
        assert not is_usual_error(why)


def test_the_command_tells_differences_and_exits_with_1(runs, tmp_path) -> None:
    def call(*arguments: object):
        return CliRunner().invoke(app, ["report", "diff", *map(str, arguments)])

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
    some = call(*runs, "--table", "malformed", "--table", "undelivered")
    assert (some.exit_code, some.output) == (1, told.output)
    for bad in ((*runs, "--table", "x"), (runs[0], tmp_path / "none")):
        refused = call(*bad)
        assert (refused.exit_code, len(refused.stderr.splitlines())) == (2, 1)
