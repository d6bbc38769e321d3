"""Receivers and latency against each message of a log, which plain Python reads."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from worlds import Case

from plain_trace_log import read_events
from subtrie.audit._answers.folding import fold
from subtrie.audit._answers.receivers import at_rows, history_rows
from subtrie.audit._answers.tables import matching_rows, sorted_rows
from subtrie.audit._schema import TABLE_COLUMNS, arrow_schema
from subtrie.spark import at, history

Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows(case: Case) -> list[Row]:
    """The events of the log, without Spark and without the native reader."""
    return read_events((case.folder / "trace.log").read_bytes())[0]


def deliveries(rows: list[Row]) -> Iterator[tuple[Row, list[Row]]]:
    """Yield each accepted message whose deliveries are certain, with its deliveries."""
    lines: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["op"] in ("MSG", "HMSG") and row["direction"] == "out":
            lines[row["subject"]].append(row)
    for row in rows:
        if row["op"] not in ("PUB", "HPUB") or row["direction"] != "in" or row["refused"]:
            continue
        taken = [
            each
            for each in lines[row["subject"]]
            if row["position"] < each["position"] < row["until"]
            and (each["reply"], each["size"]) == (row["reply"], row["size"])
        ]
        if not row["ambiguous"] and row["deliveries"] == len(taken):
            yield row, taken


@pytest.mark.requirement("P-09")
def test_the_receivers_at_the_time_of_each_message_are_those_that_received_it(
    case: Case, rows: list[Row]
) -> None:
    """All subscribers without a queue, and one of each queue, are those that the log shows."""
    by_start = {
        row["position"]: row for row in rows if row["op"] == "SUB" and row["direction"] == "in"
    }
    subscriptions = case.tables["subscriptions"]
    known: dict[str, list[Row]] = {}
    checked = 0
    for message, taken in deliveries(rows):
        subject = message["subject"]
        if subject not in known:
            known[subject] = matching_rows(subscriptions, subject)
        told = at_rows(known[subject], subject, message["time"])
        subs = [by_start[each["subscription"]] for each in taken if each["subscription"]]
        assert len(subs) == len(taken)
        alone = sorted((each["conn"], each["sid"]) for each in subs if each["queue"] is None)
        assert alone == sorted((r["conn"], r["sid"]) for r in told if r["queue"] is None), message
        groups = {each["queue"] for each in subs} - {None}
        assert groups == {each["queue"] for each in told} - {None}, message
        members = {(each["conn"], each["sid"]) for each in told}
        assert {(each["conn"], each["sid"]) for each in subs} <= members
        checked += bool(taken)
    assert checked > 300


@pytest.mark.requirement("P-09")
def test_the_history_of_a_subject_has_the_receivers_of_each_time(case: Case) -> None:
    subscriptions = case.tables["subscriptions"]
    (server,) = {row["server"] for row in subscriptions}
    begin = {server: min(row["start"] for row in subscriptions)}
    times = sorted(
        {row[name] for row in subscriptions for name in ("start", "end") if row[name] is not None}
    )
    times += [time + timedelta(microseconds=1) for time in times]
    changed = 0
    for subject in sorted({row["witness"] for row in case.tables["violations"]})[:40]:
        if " " in subject or {"*", ">"} & set(subject.split(".")):
            continue
        matching = matching_rows(subscriptions, subject)
        intervals = history_rows(matching, subject, begin)
        changed += len(intervals) > 2
        for one, after in pairwise(intervals):
            assert one["end"] == after["start"]
        assert intervals[-1]["end"] is None
        for time in times:
            (now,) = (
                each for each in intervals
                if each["start"] <= time and (each["end"] is None or time < each["end"])
            )  # fmt: skip
            told = at_rows(matching, subject, time)
            assert now["subscribers"] == sum(each["queue"] is None for each in told)
            assert now["groups"] == len({each["queue"] for each in told} - {None})
            names = {
                (each["identity"] or each["conn"]) + (f"@{each['queue']}" if each["queue"] else "")
                for each in told
            }
            assert set(now["receivers"].split()) == names
    assert changed


def rank(values: list[int], share: float) -> int:
    """Return the nearest rank: the least value that so many are not above."""
    ordered = sorted(values)
    return next(v for i, v in enumerate(ordered, 1) if i >= share * len(ordered))


def three_digits(value: int) -> int:
    """Return a time as the audit keeps it."""
    text = str(value)
    return int(text[:3].ljust(len(text), "0"))


def test_latency_is_that_of_each_request(case: Case, rows: list[Row]) -> None:
    client = [row for row in rows if row["op"] in ("PUB", "HPUB") and row["direction"] == "in"]
    accepted = [row for row in client if not row["refused"]]

    def who(row: Row) -> str:
        return str(row["identity"] or row["conn"])

    groups: dict[tuple[str, str, str | None], list[int | None]] = defaultdict(list)
    programs = {who(row): {name: row[name] for name in ("user", "client")} for row in accepted}
    for asked in accepted:
        if asked["reply"] is None:
            continue
        answers = [
            (each["time"], who(each))
            for each in accepted
            if each["subject"] == asked["reply"] and each["time"] >= asked["time"]
        ]
        first, responder = min(answers, default=(None, None))
        took = None if first is None else (first - asked["time"]) // timedelta(microseconds=1)
        groups[who(asked), fold(asked["subject"]), responder].append(took)
    expected = []
    for (requester, subject, responder), times in groups.items():
        known = [each for each in times if each is not None]
        expected.append({
            "kind": "nats", "requester": requester, "subject": subject, "responder": responder,
            "count": len(known), "p50": three_digits(rank(known, 0.5)) if known else None,
            "p99": three_digits(rank(known, 0.99)) if known else None,
            "unanswered": len(times) - len(known), "errors": None,
            "account": case.tables["subscriptions"][0]["account"],
            **programs[requester],
        })  # fmt: skip
    assert expected

    def ordered(table: list[Row]) -> list[str]:
        return sorted(json.dumps(row, sort_keys=True) for row in table)

    assert ordered(case.tables["latency"]) == ordered(expected)


@pytest.mark.parametrize("case", [305], indirect=True)
def test_the_functions_on_spark_have_the_same_receivers(
    case: Case, spark: Any, rows: list[Row]
) -> None:
    message = next(row for row, taken in deliveries(rows) if len(taken) > 1)
    subject, time = message["subject"], message["time"]
    backwards = case.tables["subscriptions"][::-1]  # the rows of an answer are in order, anyway
    table = pa.Table.from_pylist(backwards, arrow_schema(TABLE_COLUMNS["subscriptions"]))
    subscriptions = spark.createDataFrame(table)
    matching = matching_rows(case.tables["subscriptions"], subject)
    expected = sorted_rows("at", at_rows(matching, subject, time))
    assert at(subscriptions, subject, time).toArrow().to_pylist() == expected != []
    (server,) = {row["server"] for row in case.tables["subscriptions"]}
    begin = {server: min(row["start"] for row in case.tables["subscriptions"])}
    intervals = sorted_rows("history", history_rows(matching, subject, begin))
    assert history(subscriptions, subject).toArrow().to_pylist() == intervals != []
