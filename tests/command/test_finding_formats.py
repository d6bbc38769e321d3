"""Findings as text, Markdown, SARIF, JUnit and JSON: each field, with and without a place."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "acl"))

from sarif_schema import checked

from subtrie._findings.finding import LEVELS, Finding, Place, counted
from subtrie._findings.junit import Passed, junit
from subtrie._findings.markdown import code_table, markdown, of_audit, summary, when
from subtrie._findings.rate import Rate
from subtrie._findings.sarif import fingerprint, sarif
from subtrie._findings.text import file_first, text_line

ALL = [Finding(f"rule-{level}", level, f"m {level}", file="a b.conf", line=7, column=3,
               witness="w.x") for level in LEVELS]  # fmt: skip
BARE = Finding("bare", "note", "nothing more")


@pytest.mark.parametrize(("values", "place"), [
    ({"file": "f", "line": 7, "column": 3}, "f:7:3"), ({"file": "f", "line": 7}, "f:7"),
    ({"file": "f"}, "f"), ({"file": "f", "column": 3}, "f"), ({}, ""),
])  # fmt: skip
def test_a_place_has_what_is_known(values, place):
    found = Finding("r", "note", "m", **values)
    assert found.place == place
    parts = text_line(found)
    assert "".join(text for text, _ in parts) == (f"{place}: " if place else "") + "note r: m"


def test_a_finding_is_at_a_place_or_in_a_file():
    assert Finding.at(Place("f", 7, 3), "r", "note", "m", user="u") == Finding(
        "r", "note", "m", file="f", line=7, column=3, user="u"
    )
    assert Finding.at("f", "r", "note", "m") == Finding("r", "note", "m", file="f")
    assert Place("f", 7).column == 1


def test_json_has_the_fields_that_say_something():
    always = ["rule", "level", "message", "witness", "file", "line", "column", "list", "entry"]
    assert list(BARE.as_dict()) == always
    more = {"user": "u", "why": "y", "instead": "i", "count": 0, "rows": 0, "first": "1",
            "last": "2", "command": "c", "key": ("k",)}  # fmt: skip
    assert replace(BARE, **more).as_dict() == {**BARE.as_dict(), **more}
    nothing = {"user": "", "count": None, "first": None, "key": ()}
    assert list(replace(BARE, **nothing).as_dict()) == always


def test_counts_of_levels_are_the_most_severe_first():
    note, warning, error = (Finding("r", level, "m") for level in reversed(LEVELS))
    assert counted([note, warning, note, error]) == "1 error, 1 warning, 2 notes"
    assert counted([warning, warning]) == "2 warnings"
    assert summary([error]) == "1 finding: 1 error"
    assert summary([note, error]) == "2 findings: 1 error, 1 note"


def test_a_note_is_a_test_case_that_passed():
    text = junit("acl lint", [*ALL, BARE], [Passed("p\x1b", "looked at\u202e")])
    root = ElementTree.fromstring(text)
    assert root.attrib == {"name": "acl lint", "tests": "5", "failures": "2", "errors": "0"}
    cases = [(each.get("classname"), each.get("name"), [part.text for part in each])
             for each in root]  # fmt: skip
    assert cases == [
        ("a b.conf:7:3", "rule-error: m error", ["m error, for example w.x"]),
        ("a b.conf:7:3", "rule-warning: m warning", ["m warning, for example w.x"]),
        ("a b.conf:7:3", "rule-note: m note", []),
        ("", "bare: nothing more", []),
        ("p\\x1b", "looked at\\u202e", []),
    ]
    assert [each.get("message") for each in root.iter("failure")] == [
        each.text for each in root.iter("failure")
    ]


def test_the_text_of_a_failure_has_no_control_character():
    found = Finding("r\x1b", "error", "m\x1b", witness="w\x00", file="f\x07")
    root = ElementTree.fromstring(junit("s", [found]))
    (failure,) = root.iter("failure")
    assert failure.text == failure.get("message") == "m\\x1b, for example w\\x00"
    assert root[0].get("classname") == "f\\x07"
    assert all(
        text.isprintable() for parts in (text_line(replace(found, rule="r")),) for text, _ in parts
    )


RULES = {each.rule: f"finds {each.rule}" for each in [*ALL, BARE]} | {"unused": "finds nothing"}


def test_sarif_names_place_rule_and_level(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    elsewhere = replace(ALL[0], file="/else where/x.conf", column=None)
    report = checked(sarif([*ALL, elsewhere, BARE], RULES))
    (run,) = report["runs"]
    assert run["tool"]["driver"]["rules"] == [
        {"id": rule, "shortDescription": {"text": RULES[rule]}}
        for rule in ("bare", "rule-error", "rule-note", "rule-warning")
    ]
    assert [each["level"] for each in run["results"]] == [*LEVELS, "error", "note"]
    assert [each["message"]["text"] for each in run["results"]] == [
        *(f"m {each}, for example w.x" for each in (*LEVELS, "error")), "nothing more",
    ]  # fmt: skip
    found = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert [each["region"] for each in found] == [
        *[{"startLine": 7, "startColumn": 3}] * 3, {"startLine": 7}, {"startLine": 1},
    ]  # fmt: skip
    uris = [each["artifactLocation"]["uri"] for each in found]
    assert uris == [*["a%20b.conf"] * 3, "file:///else%20where/x.conf", "."]


@pytest.mark.parametrize("text", ["a[b](c)", "\\[", "]", "a\\", "plain"])
def test_a_message_of_sarif_is_plain_text(text):
    """In a message of SARIF brackets are links; a backslash takes the next sign as it is."""
    (result,) = checked(sarif([replace(BARE, message=text)], RULES))["runs"][0]["results"]
    shown = result["message"]["text"]
    assert re.sub(r"\\(.)", r"\1", shown) == text
    assert not re.search(r"[\[\]]", re.sub(r"\\.", "", shown))


def test_the_fingerprint_of_a_finding_stays_as_it_moves():
    one = ALL[0]
    assert fingerprint(replace(one, message="m 1,024 bytes")) == fingerprint(
        replace(one, message="m 7 bytes", line=99, column=1)
    )
    others = [replace(one, message="m 7"), replace(one, message="m 8"), replace(one, rule="other"),
              replace(one, file="other"), replace(one, file=None), replace(one, key=("k",)),
              replace(one, key=("k", "l")), one]  # fmt: skip
    assert len({fingerprint(each) for each in others}) == len(others)
    assert fingerprint(replace(one, key=("k",))) == fingerprint(
        replace(one, key=("k",), message="told in other words")
    )


def test_a_table_of_findings_has_each_field():
    lines = markdown([*ALL, replace(BARE, witness="")]).splitlines()
    assert lines == [
        "| place | level | rule | finding | example |", "|---|---|---|---|---|",
        *(f"| `a b.conf:7:3` | {each} | rule-{each} | `m {each}` | `w.x` |"
          for each in LEVELS),
        lines[5], "", "4 findings: 1 error, 1 warning, 2 notes",
    ]  # fmt: skip
    assert lines[5].endswith(" | note | bare | `nothing more` |  |")
    assert markdown([]) == "No findings.\n"


def test_a_table_of_an_audit_has_each_field():
    told = replace(BARE, message="[m]", why="why", instead="do", count=1_234, witness="w",
                   first="2026-11-21T08:00:00.000000Z")  # fmt: skip
    assert list(of_audit([told, BARE])) == [
        "| level | rule | finding | count | example | first | last | over time |",
        "|---|---|---|---|---|---|---|---|",
        "| note | bare | &#91;m&#93;. why. do | 1,234 | `w` | 2026-11-21 08:00:00.000000 | - | - |",
        "| note | bare | nothing more | 0 |  | - | - | - |",
    ]
    assert when(None) == "-"


def test_a_sentence_of_an_audit_ended_with_two_full_stops():
    told = replace(BARE, message="m", why="It is why.", instead="Do this.")
    assert "| m. It is why. Do this. |" in list(of_audit([told]))[2]
    assert "| m. Do this. |" in list(of_audit([replace(told, why="")]))[2]


def test_a_table_without_rows_says_so():
    assert code_table(["a", "b"], []) == "Nothing to report.\n"
    assert code_table(["a", "b"], [["x", ""]]) == "| a | b |\n|---|---|\n| `x` |  |\n"


def test_a_line_of_text_has_the_colour_of_its_level():
    colours = {each.level: text_line(each)[1] for each in ALL}
    assert colours == {"error": ("error", "red"), "warning": ("warning", "yellow"),
                       "note": ("note", "dim")}  # fmt: skip
    assert text_line(ALL[0])[0] == ("a b.conf:7:3: ", "")
    assert text_line(ALL[0])[3] == ("  example: w.x", "dim")
    assert [file_first(text) for text in ("::x", " ::x", ":x", "x::")] == [
        "./::x", "./ ::x", ":x", "x::",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "shown"),
    [((1, 0, 8), "  ▁·█ each bar 4 s"), ((8, 9), "  ██ each bar 4 s"), ((3,), ""), ((), "")],
)
def test_the_rate_of_a_finding_is_behind_its_example(counts, shown):
    rate = Rate("2026-11-21T08:00:00.000000Z", 4, counts)
    assert text_line(replace(ALL[0], rate=rate))[3] == (f"  example: w.x{shown}", "dim")
    assert text_line(replace(BARE, rate=rate))[3] == (shown, "dim")
    (_, _, cells) = of_audit([replace(BARE, rate=rate)])
    assert cells.split(" | ")[-1] == f"{shown.strip() or '-'} |"
    told = replace(BARE, rate=rate).as_dict()["rate"]
    assert told == {"start": rate.start, "width_s": 4, "counts": counts}
