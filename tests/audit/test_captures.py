"""The tables of real logs: every line is counted, and the counts agree with a tap."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from plain_tables import audit as plain_audit
from truth import tables_differ
from window_oracle import judge

from subtrie.audit._readers.log_reader import divide, whole_logs
from subtrie.spark import TABLES, audit


def tables_of(spark: Any, *logs: Any, **options: Any) -> dict[str, Any]:
    """Return the summary and every table of an audit."""
    with audit(spark, [str(log) for log in logs], **options) as result:
        return {"summary": result.summary, **{name: list(result.rows(name)) for name in TABLES}}


@pytest.fixture(scope="module")
def live(spark, captures) -> dict[str, Any]:
    """The audit of the Go test services."""
    return tables_of(spark, captures / "go_live" / "trace.log")


@pytest.fixture(scope="module")
def truth(captures) -> dict[str, Any]:
    """The messages and totals that the tap recorded."""
    return json.loads((captures / "go_live" / "truth.json").read_text())


@pytest.fixture(scope="module")
def messages(truth) -> list[dict[str, Any]]:
    """Every publish that the tap recorded."""
    inside = [message for scenario in truth["scenarios"] for message in scenario["messages"]]
    return inside + truth["outside_scenarios"]


def parts(subject: str) -> list[str]:
    return subject.split(".")


def test_totals_agree_with_the_tap(live, truth, messages) -> None:
    assert len(messages) == truth["totals"]["published"]
    published = sum(row["published"] for row in live["call_graph"])
    replies = sum(row["published"] for row in live["replies"])
    assert published + replies == truth["totals"]["published"]
    heard = sum(len(message["delivered_to"]) for message in messages)
    assert heard == truth["totals"]["delivered"]


def test_the_call_graph_agrees_with_the_tap(live, messages) -> None:
    expected: dict[tuple, Counter[str]] = {}
    for message in messages:
        token = parts(message["subject"])
        if token[1] == "reply":
            continue
        key = (
            token[0],
            token[3].replace("_", "."),
            token[4].replace("_", "."),
            int(token[2]),
            token[6],
        )
        edge = expected.setdefault(key, Counter())
        edge["published"] += 1
        edge["delivered"] += len(message["delivered_to"])
        edge["undelivered"] += not message["delivered_to"]
    found: dict[tuple, Counter[str]] = {}
    for row in live["call_graph"]:  # a row for each route
        key = (row["plane"], row["source"], row["destination"], row["port"], row["method"])
        names = ("published", "delivered", "undelivered", "refused")
        found.setdefault(key, Counter()).update({name: row[name] for name in names})
    # One host of the capture has a character that is percent-encoded in the subject.
    spelled = {
        key: (*key[:2], key[2].replace("%7e", "~").replace("%24", "$"), *key[3:])
        for key in expected
    }
    assert len(found) == len(expected)
    for key, edge in expected.items():
        row = found[spelled[key]]
        assert (row["published"], row["delivered"], row["undelivered"], row["refused"]) == (
            edge["published"],
            edge["delivered"],
            edge["undelivered"],
            0,
        ), key


def test_the_replies_agree_with_the_tap(live, messages) -> None:
    expected: Counter[tuple[str, str]] = Counter()
    for message in messages:
        token = parts(message["subject"])
        if token[1] == "reply":
            expected[token[3].replace("_", "."), token[4].replace("_", ".")] += 1
    found = {(row["replier"], row["caller"]): row["published"] for row in live["replies"]}
    assert found == expected


def test_undelivered_subjects_are_those_without_delivery_in_the_tap(live, messages) -> None:
    expected = Counter(m["subject"] for m in messages if not m["delivered_to"])
    assert {row["subject"]: row["count"] for row in live["undelivered"]} == expected


def test_undelivered_names_the_nearest_pattern_and_where_it_differs(live, truth) -> None:
    patterns = {row["subject"] for row in truth["subscriptions"]}
    for row in live["undelivered"]:
        assert row["nearest"] in patterns
        if row["subscription_inactive"]:
            assert row["differs_at"] is None
            continue
        subject, pattern, place = parts(row["subject"]), parts(row["nearest"]), row["differs_at"]
        equal = [a in (b, "*") for a, b in zip(pattern, subject, strict=False)]
        assert all(equal[:place])
        assert place == len(equal) or not equal[place]


def test_a_clean_log_has_nothing_wrong(live) -> None:
    assert [
        live[name] for name in ("malformed", "other_traffic", "refused", "spoofed", "unparseable")
    ] == [[]] * 5
    assert live["summary"]["planes"] == ["goldplane1"]


@pytest.mark.requirement("P-02")
@pytest.mark.parametrize("name", ["go_live", "go_app"])
def test_every_line_is_counted_and_every_delivery_is_matched(spark, captures, name) -> None:
    log = captures / name / "trace.log"
    tables = tables_of(spark, log)
    summary = tables["summary"]
    text = log.read_text()
    assert summary["lines"] == text.count("\n")
    parts = [summary[n] for n in ("operations", "payloads", "server", "unparseable_lines")]
    assert summary["lines"] == sum(parts)
    assert summary["payloads"] == text.count("MSG_PAYLOAD: [")
    assert summary["unparseable_lines"] == summary["unmatched"] == 0
    expected = judge(text)
    assert summary["ambiguous"] == expected.ambiguous
    assert {r["subject"]: r["count"] for r in tables["undelivered"]} == expected.undelivered
    published = sum(row["published"] for row in tables["call_graph"])
    assert published + sum(row["published"] for row in tables["replies"]) == sum(
        expected.published.values()
    )


@pytest.mark.requirement("P-03")
@pytest.mark.parametrize("split_bytes", [199, 77_777])
def test_any_split_gives_the_same_tables(spark, captures, live, tmp_path, split_bytes) -> None:
    log = captures / "go_live" / "trace.log"
    if split_bytes == 199:  # far below a line, on a part of the log
        part = tmp_path / "part.log"
        part.write_bytes(b"\n".join(log.read_bytes().split(b"\n")[2_000:2_040]))
        whole = tables_of(spark, part, split_bytes=10**9)
        assert whole["summary"]["lines"] == 40
        assert len(list(divide(whole_logs([str(part)])[0], split_bytes))) > 20
        assert tables_of(spark, part, split_bytes=split_bytes) == whole
        return
    assert tables_of(spark, log, split_bytes=split_bytes) == live


@pytest.mark.requirement("P-03")
@pytest.mark.parametrize("name", ["go_live", "go_app"])
def test_every_table_agrees_with_the_rules_in_plain_python(spark, captures, name) -> None:
    log = captures / name / "trace.log"
    found = tables_of(spark, log, split_bytes=200_000)
    summary, tables = plain_audit([log.read_bytes()])
    assert found["summary"] == summary
    assert tables_differ(found, tables) == []
