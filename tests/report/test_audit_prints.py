"""The counts, findings, tables and JSON that ``subtrie audit`` prints, value by value."""

from __future__ import annotations

import json
import re
import sys
from datetime import timedelta
from typing import Any

import pytest
from report_runs import START, RunOfRows, call, row
from rich.console import Console

from subtrie._cli.audit_answers import print_proposal
from subtrie._cli.audit_counts import print_counts, print_findings
from subtrie._cli.audit_tables import (
    _SHORT,
    _WIDE,
    _plain_table,
    _rich_table,
    print_json,
    print_tables,
)
from subtrie._findings.finding import Finding
from subtrie._findings.rate import Rate
from subtrie.audit import ANSWERS, TABLES


def test_short_headings_are_shorter_and_each_its_own():
    assert all(len(short) < len(name) for name, short in _SHORT.items())
    assert set(_SHORT) <= {name for columns in TABLES.values() for name in columns}
    for columns in TABLES.values():
        shown = [_SHORT.get(name, name) for name in columns if name not in _WIDE]
        assert len(set(shown)) == len(shown)


class Made(RunOfRows):
    """A result with these rows, counts of its summary and further counters."""

    def __init__(
        self,
        tables: dict[str, list[dict[str, Any]]] | None = None,
        more: dict[str, int] | None = None,
        **counts: Any,
    ) -> None:
        super().__init__(tables or {})
        self.summary |= counts
        self._more = more or {}

    @property
    def counters(self) -> dict[str, int]:
        """The counters."""
        return {**super().counters, **self._more}


NO_COUNTS = dict.fromkeys(("ambiguous", "unmatched", "forwarded", "unparseable_lines"), 0)
SOME = {"lines": 10, "operations": 11, "payloads": 12, "server": 13}
#: A count, and the line about it.
COUNTS = {
    "ambiguous": "ambiguous delivery windows: 7 (no fault: equal messages at one time, whose "
    "deliveries may be exchanged)",
    "unmatched": "unmatched deliveries: 7 (no fault: sent by the broker, or before the log)",
    "forwarded": "forwarded to other brokers: 7 (no fault; give their logs, too, to see whether "
    "they arrived)",
    "unparseable_lines": "lines: 10 = 11 operations + 12 payloads + 13 of the server + 7 "
    "unparseable (bad: nothing of them is in the tables)",
}
NOTHING = [
    "", "planes: none", "ambiguous delivery windows: 0", "unmatched deliveries: 0",
    "forwarded to other brokers: 0",
    "lines: 10 = 11 operations + 12 payloads + 13 of the server + 0 unparseable",
]  # fmt: skip


@pytest.mark.parametrize("count", [None, *COUNTS])
def test_each_count_is_told_and_whether_it_is_bad(count, capsys):
    print_counts(Made(**{**SOME, **NO_COUNTS, **({count: 7} if count else {})}))
    wanted = [line if count is None or not line.startswith(COUNTS[count].partition(":")[0])
              else COUNTS[count] for line in NOTHING]  # fmt: skip
    assert capsys.readouterr().out.splitlines() == wanted


@pytest.mark.parametrize(
    ("counters", "told"),
    [
        ({"folded_messages": 7, "untimed_requests": 3},
         "messages on inboxes that are counted together: 7 (their subjects end in *; requests "
         "without a latency: 3)"),
        ({"folded_messages": 7},
         "messages on inboxes that are counted together: 7 (their subjects end in *; requests "
         "without a latency: 0)"),
        ({"folded_messages": 0, "untimed_requests": 3}, None),
        ({"mqtt": 4}, "lines of MQTT: 4 (not read: what these clients publish, subscribe and "
         "receive is in no table but logins; undelivered messages may have reached one)"),
        ({"mqtt": 0}, None),
    ],
)  # fmt: skip
def test_counters_are_told_where_there_are_some(counters, told, capsys):
    print_counts(Made(None, counters, **SOME, **NO_COUNTS, planes=["a\x1b", "b"]))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "planes: a\\x1b, b"
    assert lines[5:-1] == ([] if told is None else [told])


def refused(who: str, count: int, **more: Any) -> dict[str, Any]:
    return row("refused", **{"who": who, "kind": "publish", "subject": "s", "count": count, **more})


@pytest.mark.parametrize(
    ("rows", "shown", "more"), [(0, 3, 0), (1, 1, 2), (2, 2, 1), (3, 3, 0), (4, 3, 0)]
)
def test_so_many_findings_are_printed(rows, shown, more, capsys):
    result = Made({"refused": [refused(each, 2_000) for each in "abc"]})
    print_findings(result, rows, None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["", "Findings: 3"]
    found = [each for each in lines if each.startswith("  warning  2,000 The broker refused")]
    assert len(found) == shown
    assert [each for each in lines if "more" in each] == (
        [f"  … and {more} more (use --rows 0 or --report)"] if more else []
    )
    print_findings(Made(), rows, None)
    assert capsys.readouterr().out == ""


def test_each_part_of_a_finding_is_printed(capsys):
    rate = {"start": START, "width_s": 4, "counts": [1, 0, 1]}
    late = START + timedelta(seconds=9, milliseconds=5)
    rows = [refused("a\x1b", 2, subject="w.x\x1b", first=START, last=late, rate=rate)]
    print_findings(Made({"refused": rows}), 0, None)
    pad = " " * 17
    assert capsys.readouterr().out.splitlines()[2:] == [
        "  warning      2 The broker refused a\\x1b: publish",
        f"{pad}such as w.x\\x1b",
        f"{pad}from 2026-11-21 08:00:00.000 to 08:00:09.005",
        f"{pad}█·█ each bar 4 s",
        f"{pad}→ If it should do this, add the entry that subtrie acl usage proposes.",
    ]
    rows = [row("claimed_users", who="a", claimed="b", count=1)]
    print_findings(Made({"claimed_users": rows}), 0, None)
    assert capsys.readouterr().out.splitlines()[2:] == [
        "  error        1 a claims another user: b",  # which has the example
        f"{pad}→ Let the client name no user beside its credentials.",
    ]


def test_a_finding_without_a_part_has_no_line_for_it(capsys, monkeypatch):
    """A count of 0 is printed: it is not the same as no count."""
    rate = Rate("2026-11-21T08:00:00.000000Z", 4, (1,))  # one bar shows nothing
    found = [Finding("r", "note", "said", count=count, rate=rate) for count in (None, 0, 1_000)]
    monkeypatch.setattr("subtrie.report._findings.all_findings", lambda result: found)
    print_findings(Made(), 0, None)
    assert [each.rstrip() for each in capsys.readouterr().out.splitlines()[2:]] == [
        "  note           said", "  note         0 said", "  note     1,000 said",
    ]  # fmt: skip


# --- tables


def printed(capsys, tables, rows=20, *, long=False, windowed=False, **counts) -> list[str]:
    print_tables(Made(tables, **counts), rows, long=long, windowed=windowed)
    return capsys.readouterr().out.splitlines()


CALLS = {"call_graph": [call("a.x", "b.x", each, window=START) for each in (1, 2, 3)]}


def heading(lines: list[str], table: str) -> str:
    (found,) = [each for each in lines if f": {table}, " in each]
    return found


@pytest.mark.parametrize(
    ("rows", "shown"), [(0, "321"), (-1, "321"), (1, "3"), (2, "32"), (3, "321"), (9, "321")]
)
def test_the_largest_rows_are_printed_and_how_many_more_there_are(rows, shown, capsys):
    lines = printed(capsys, CALLS, rows)
    at = lines.index(heading(lines, "call_graph"))
    assert lines[at] == "Call graph: call_graph, 3 rows"
    column = lines[at + 1].split().index("published")
    assert "".join(each.split()[column] for each in lines[at + 2 : at + 2 + len(shown)]) == shown
    left = 3 - len(shown)
    more = [each for each in lines if "more" in each]
    assert more == ([f"  … and {left} more (use --rows 0, --json or --out)"] if left else [])
    one = printed(capsys, {"call_graph": CALLS["call_graph"][:1]})
    assert heading(one, "call_graph") == "Call graph: call_graph, 1 row"


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ({}, ""), ({"windowed": True}, "window"), ({"long": True}, "bytes first last instances"),
        ({"long": True, "windowed": True}, "window bytes first last instances"),
    ],
)  # fmt: skip
def test_wide_columns_and_the_period_are_printed_on_request(options, columns, capsys):
    lines = printed(capsys, CALLS, **options)
    shown = lines[lines.index(heading(lines, "call_graph")) + 1].split()
    wide = {"window", "bytes", "first", "last", "instances"}
    assert set(shown) & wide == set(columns.split())
    assert {*shown, *wide, "account"} == set(TABLES["call_graph"])  # which all rows have in common


def test_users_and_clients_that_say_no_more_than_who_are_printed_on_request(capsys):
    tables = {"refused": [refused(who, 1, user="u", client=f"c {who}") for who in "ab"]}
    for long in (False, True):
        lines = printed(capsys, {**CALLS, **tables}, long=long)
        shown = lines[lines.index(heading(lines, "refused")) + 1].split()
        assert {"who", "user", "client"} & set(shown) == {"who", *(["user", "client"] * long)}


def test_the_rules_of_a_proposal_are_counted(capsys):
    rules = {"a": ["publish p"], "b": ["subscribe s"], "c": ["publish p", "subscribe s"],
             "d\x1b": ["publish p", "subscribe s", "subscribe t"]}  # fmt: skip
    rows = [row("proposal", service=service, verb=rule.split()[0], rule=rule.split()[1])
            for service, listed in rules.items() for rule in listed]  # fmt: skip
    print_proposal(Made({"proposal": rows}), None)
    lines = [each.split(",")[0] for each in capsys.readouterr().out.splitlines() if each]
    counts = ("a: 1 rule", "b: 1 rule", "c: 2 rules", "d\\x1b: 3 rules")
    assert lines == [f"Proposal for {each}" for each in counts]


LONG = ("servers", "subscriptions", "coverage", "fan_out", "hot_subjects", "runs")


@pytest.mark.parametrize("name", LONG)
def test_tables_about_nothing_wrong_are_printed_on_request(name, capsys):
    made = {"servers": {"server": "n", "process": "7", "event": "start"},
            "subscriptions": {"pattern": "p", "conn": "c"}, "coverage": {"pattern": "p"},
            "fan_out": {"subject": "s"},
            "hot_subjects": {"subject": "s", "published": 1}}  # fmt: skip
    tables = dict(CALLS)
    if name != "runs":
        tables[name] = [row(name, **made[name])]
    assert not [each for each in printed(capsys, tables) if f": {name}, " in each]
    assert heading(printed(capsys, tables, long=True), name).endswith(f": {name}, 1 row")


def test_which_tables_of_a_log_are_printed_and_which_are_said_to_be_empty(capsys):
    """Without Microbus traffic those with rows; with it all but the answers to questions."""
    flows = [row("flows", publisher="a", pattern="p", published=1)]
    tables = {"refused": [refused("a", 1)], "flows": flows, "servers": [
        row("servers", server="n", process="7", event="start")]}  # fmt: skip
    only = {"refused": tables["refused"]}
    empty_tables = set(TABLES) - {*ANSWERS, "runs"}  # a run is always a row
    for given, planes, long, shown, empty in (
        (tables, {}, False, ["flows", "refused"], set()),
        (tables, {}, True, None, empty_tables - set(tables)),
        (only, {}, False, ["refused"], set()),
        (only, {"p": 1}, False, ["refused"], empty_tables - {"refused", *LONG}),
        (only, {"p": 1}, True, ["refused", "runs"], empty_tables - {"refused"}),
    ):
        lines = printed(capsys, given, long=long, planes=planes)
        printed_names = re.findall(r": (\w+), \d+ rows?\b", "\n".join(lines))
        assert shown is None or printed_names == shown, (given, planes, long)
        said = [each.removeprefix("without rows: ") for each in lines if "without rows" in each]
        assert {name for each in said for name in each.split(", ")} == empty, (planes, long)
        told = "no Microbus traffic" in "\n".join(lines)
        assert told is (not planes and "flows" in given)


def test_the_account_of_all_rows_is_in_the_title(capsys):
    for accounts, more in (("XX", ", account X"), ("XY", ""), ((None, None), "")):
        rows = [refused(str(number), 1, account=each) for number, each in enumerate(accounts)]
        title = heading(printed(capsys, {**CALLS, "refused": rows}), "refused")
        assert title == f"Refused by the broker: refused, 2 rows{more}"


def test_cells_of_a_plain_table(capsys):
    values = [None, True, False, START, {"start": START, "width_s": 4, "counts": [1, 2]},
              {"start": START, "width_s": 4, "counts": [1]}, "a\x1b", 7, 0.5]  # fmt: skip
    _plain_table("title", ("x",), [{"x": each} for each in values])
    assert capsys.readouterr().out.splitlines() == [
        "", "title", "  x", "  -", "  yes", "  no", "  2026-11-21 08:00:00.000000",
        "  ▄█ each bar 4 s", "  -", "  a\\x1b", "  7", "  0.5",
    ]  # fmt: skip


def test_columns_of_a_terminal_with_one_value_are_in_the_title(capsys):
    rows = [{"a": 1, "b": "x", "c": "[b]"}, {"a": 2, "b": "x", "c": "[b]"}]

    def shown(some: list[dict[str, Any]], same: set[str]) -> tuple[str, list[str]]:
        console = Console(width=60, force_terminal=True, color_system=None)
        _rich_table(console, "T", ("a", "b", "c"), some, frozenset(same))
        lines = capsys.readouterr().out.splitlines()
        top = next(number for number, each in enumerate(lines) if "┏" in each)
        cells = [each.strip("│ ") for each in lines[top:] if "│" in each]
        return " ".join(" ".join(lines[:top]).split()), cells

    assert shown(rows, {"b", "c"}) == ("T, b x, c [b]", ["1", "2"])
    title, cells = shown(rows[:1], {"a", "b", "c"})
    assert (title, cells[0].split()) == ("T", ["1", "│", "x", "│", "[b]"])
    assert shown([rows[0], rows[0]], {"a", "b", "c"}) == ("T, b x, c [b]", ["1", "1"])


def test_on_a_terminal_brackets_colons_and_numbers_of_a_log_are_text(capsys, monkeypatch):
    """No style, no picture, and a long text of a finding is in one line."""
    for name, value in (("COLUMNS", "120"), ("TERM", "xterm")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    hostile = ":smile:[red]x[/red]12:30[/]"
    long = hostile + "y" * 200
    rows = [refused(f"{who}{hostile}", 1, account=hostile, subject=subject)
            for who, subject in (("a", hostile), ("b", long))]  # fmt: skip
    flows = [row("flows", publisher=hostile, pattern="p", published=1)]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    lines = printed(capsys, {"refused": rows, "flows": flows})
    for wanted in (
        "\x1b[1mFindings: 2\x1b[0m",
        f"\x1b[33m  warning      1 The broker refused b{hostile}: publish\x1b[0m",
        f"\x1b[2m                 such as {long}\x1b[0m",
    ):
        assert wanted in lines
    title = next(each for each in lines if "Refused by the broker" in each)
    assert title.startswith(f"\x1b[3mRefused by the broker: refused, 2 rows, account {hostile}, ")
    cells = [each.split("│")[1:-1] for each in lines if "│" in each]
    assert [each[0].strip() for each in cells if "p" in "".join(each)] == [hostile]
    assert {f"{who}{hostile}" for who in "ab"} < {each[0].strip() for each in cells}
    assert not [each for each in cells if "\x1b" in "".join(each)]


@pytest.mark.parametrize("failed", [None, [], [{"expectation": "e", "found": "1"}]])
def test_json_has_each_table_and_the_expectations_that_were_given(failed, capsys):
    tables = {"call_graph": [call("a.x", "b.x", 1), call("a.x", "b.x", 2, window=START)]}
    print_json(Made(tables, **SOME), failed)
    told = json.loads(capsys.readouterr().out)
    first, second = told["call_graph"]
    assert ("window" in first, second["window"]) == (False, "2026-11-21T08:00:00.000000Z")
    assert (first["first"], first["published"]) == ("2026-11-21T08:00:00.000000Z", 1)
    assert set(TABLES) < set(told)
    assert {name: told[name] for name in SOME} == SOME
    assert told.get("expectations", "none given") == ("none given" if failed is None else failed)
