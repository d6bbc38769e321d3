"""Rates: how a count went over time, the same of parts that are added in any order."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_tables import audit as plain_audit
from trace_writer import Trace
from truth import tables_differ

from rate_of_times import bars
from subtrie._findings.rate import Rate
from subtrie.audit import Questions, audit
from subtrie.audit._partial.rates import (
    added_rates,
    both_rates,
    rate_column,
    rate_of_row,
    rates_of,
    table_rate,
)
from subtrie.audit._runs.batch_rows import rows_of_batch
from subtrie.report._findings import all_findings

SECOND = 1_000_000
LISTS = pa.list_(pa.int64())
#: Times near each other, and anywhere in the calendar.
TIMES = st.lists(
    st.one_of(st.integers(0, 40), st.integers(0, 4_000), st.integers(-(10**9), 2 * 10**11)).map(
        lambda second: second * SECOND + 7
    ),
    max_size=40,
)

# The rule -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ([], []),
        ([5.9], [1, 5, 1]),
        ([3, 3, 5], [1, 3, 2, 0, 1]),
        ([0, 31], [1, 0, 1, *[0] * 30, 1]),
        # The thirty-third second: bars of two seconds, which begin at multiples of two.
        ([1, 33], [2, 0, 1, *[0] * 15, 1]),
        ([-1, 0], [1, -1, 1, 1]),
        ([86_400, 0], [4_096, 0, 1, *[0] * 20, 1]),
    ],
)
def test_the_width_is_the_least_with_which_all_times_have_a_bar(seconds, expected) -> None:
    times = [int(each * SECOND) for each in seconds]
    assert bars(times) == expected
    column = rates_of(pa.array(times, pa.timestamp("us", "UTC")))
    assert added_rates(column, [0] * len(times), 1).to_pylist() == [expected or None]


@given(TIMES, st.integers(0, 2**32))
def test_parts_add_up_in_any_order_and_grouping(times: list[int], seed: int) -> None:
    dice = random.Random(seed)
    parts = [bars([time]) for time in times]
    in_pairs: list[Any] = list(parts)
    while len(parts) > 1:
        dice.shuffle(parts)
        groups = [dice.randrange(2) for _ in parts]
        added = added_rates(pa.array(parts, LISTS), groups, 2).to_pylist()
        parts = [each for each in added if each is not None]
        if len(set(groups)) == 2 and len(parts) == 2:
            parts = [list(both_rates(*parts) or ())]
    while len(in_pairs) > 1:
        dice.shuffle(in_pairs)
        in_pairs.append(both_rates(in_pairs.pop(), in_pairs.pop()))
    assert parts == [bars(times)][: len(times)]
    assert list(map(list, in_pairs)) == parts
    assert both_rates(None, in_pairs[0] if in_pairs else None) == (
        tuple(in_pairs[0]) if in_pairs else None
    )


def test_other_lists_are_refused() -> None:
    most = [1, 0, *[1] * 32]
    assert added_rates(pa.array([most], LISTS), [0], 1).to_pylist() == [most]
    for numbers in ([3, 0, 1], [2, 1, 1], [0, 0, 1], [1, 0], [*most, 1]):
        with pytest.raises(ValueError, match="is not a rate"):
            added_rates(pa.array([numbers], LISTS), [0], 1)


@given(TIMES)
def test_a_table_has_the_rate_of_its_rows(times: list[int]) -> None:
    column = rate_column(pa.array([bars(times), None], LISTS), pa.array([len(times), 0]))
    (row, nothing) = rows_of_batch(pa.record_batch({"rate": column}))
    assert list(rate_of_row(row) or ()) == bars(times)
    assert row["rate"] == table_rate(bars(times), of=len(times))
    assert nothing == {"rate": None}
    assert rate_of_row({}) is None
    assert table_rate(bars(times), of=len(times) + 1) is None


# Of a log -------------------------------------------------------------------------------------


def faults() -> Trace:
    """Return a log in which messages are undelivered, and refused, at some times."""
    trace = Trace()
    trace.subscribe(2, "p1.safe.443.*.b_com._.GET.x", "1")
    for seconds in (0, 0, 3, 90, 1):
        trace.publish(1, "p1.safe.443.a_com.b_com._.GET.y")
        trace.publish(3, "p1.safe.443.c_com.b_com._.GET.y")
        trace.write(1, 'Publish Violation - Subject "z"', level="ERR", login="$G/user:a.com")
        trace.tick(seconds)
    trace.write(
        2, "Slow Consumer Detected: WriteDeadline of 10s exceeded with 1 chunks", level="INF"
    )
    return trace


@pytest.mark.parametrize("split_bytes", [1 << 30, 300])
def test_tables_have_the_rates_of_the_plain_audit(tmp_path: Path, split_bytes: int) -> None:
    log = tmp_path / "nats.log"
    log.write_text(faults().text())
    _, expected = plain_audit([log.read_bytes()])
    with audit([str(log)], split_bytes=split_bytes) as run:
        names = ("undelivered", "refused", "slow_consumers")
        found = {name: list(run.rows(name)) for name in names}
        assert tables_differ(found, {name: expected[name] for name in names}) == []
    rates = [row["rate"]["counts"] for name in names for row in found[name]]
    assert [4, 1] in [[count for count in each if count] for each in rates]
    assert found["refused"][0]["rate"]["width_s"] == 4


def misuse() -> Trace:
    """Return a log of one identity that uses two planes, other names, and malformed subjects."""
    trace = Trace()
    for seconds, plane, sources in (
        (0, "p1", ("a", "b")), (3, "p2", ("a",)), (50, "p1", ("b", "a")), (1, "p1", ("a",)),
    ):  # fmt: skip
        trace.tick(seconds)
        for source in sources:
            subject = f"{plane}.safe.443.{source}_com.b_com._.GET.x"
            trace.write(1, f"<<- [PUB {subject} 0]", login="$G/user:a.com")
        trace.write(1, f"<<- [PUB {plane}.unsafe 0]", login="$G/user:a.com")
    trace.write(1, "<<- [PUB p1.safe.443.c_com.b_com._.GET.x 0]", login="$G/user:a.com")
    refused = 'Publish Violation - Subject "p1.safe.443.c_com.b_com._.GET.x"'
    trace.write(1, refused, level="ERR", login="$G/user:a.com")
    trace.write(1, "<<- [PING]", login="$G/user:a.com")
    return trace


@pytest.mark.parametrize("split_bytes", [1 << 30, 300])
def test_accepted_misuse_has_its_rate(tmp_path: Path, split_bytes: int) -> None:
    """Refused messages have theirs in ``refused``."""
    log = tmp_path / "nats.log"
    log.write_text(misuse().text())
    _, expected = plain_audit([log.read_bytes()])
    with audit([str(log)], split_bytes=split_bytes, questions=Questions()) as run:
        names = ("spoofed", "cross_plane", "malformed", "violations")
        found = {name: list(run.rows(name)) for name in names}
    plain = {name: expected[name] for name in names[:3]}
    assert tables_differ({name: found[name] for name in plain}, plain) == []
    rates = {
        (name, row["count"]): row["rate"] and row["rate"]["counts"]
        for name, rows in found.items() for row in rows
    }  # fmt: skip
    whole = [1, *[0] * 25, 1]
    assert rates == {
        ("spoofed", 2): whole, ("spoofed", 1): None, ("cross_plane", 1): [1],
        ("malformed", 3): [1, *[0] * 25, 1, 1], ("malformed", 1): [1],
        ("violations", 2): whole, ("violations", 1): [1],
    }  # fmt: skip


def test_a_finding_has_the_rate_of_its_rows(tmp_path: Path) -> None:
    log = tmp_path / "nats.log"
    log.write_text(faults().text())
    with audit([str(log)]) as run:
        by_rule = {each.rule: each for each in all_findings(run)}
    lost, refused = by_rule["undelivered"], by_rule["refused"]
    assert lost.count == 10
    assert lost.rate == Rate("2026-11-21T08:00:00.000000Z", 4, (8, *[0] * 22, 2))
    assert refused.rate is not None
    assert refused.rate.counts == (4, *[0] * 22, 1)
    assert by_rule["slow_consumers"].rate.text == ""
    assert lost.as_dict()["rate"]["width_s"] == 4
    assert lost.rate.text == "█······················▂ each bar 4 s"


def test_flows_without_a_subscriber_have_the_rate_of_their_messages(tmp_path: Path) -> None:
    trace = Trace()
    for seconds in (0, 5, 1, 60):
        trace.publish(1, "orders.new")
        trace.publish(2, "orders.new")
        trace.tick(seconds)
    log = tmp_path / "nats.log"
    log.write_text(trace.text())
    with audit([str(log)], questions=Questions()) as run:
        flows = list(run.rows("flows"))
    assert len(flows) == 2
    for row in flows:
        assert row["rate"]["counts"] == [2, 0, 0, 0, 0, 1, 1]
        assert row["rate"]["start"] == datetime(2026, 11, 21, 8, tzinfo=UTC)


def test_a_log_without_times_has_no_rates(tmp_path: Path) -> None:
    log = tmp_path / "nats.log"
    lines = [line.split(" ") for line in faults().text().splitlines()]
    log.write_text("".join(" ".join([line[0], *line[3:]]) + "\n" for line in lines))
    with audit([str(log)], questions=Questions()) as run:
        rows = [*run.rows("undelivered"), *run.rows("refused"), *run.rows("violations")]
        findings = all_findings(run)
    assert {row["rate"] for row in rows} == {None}
    assert {each.rate for each in findings} == {None}


# As text --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "counts", "text"),
    [
        (4, (3,), ""),
        (1, (1, 0, 8), "▁·█ each bar 1 s"),
        (64, (1, 2), "▄█ each bar 1 min 4 s"),
        (1024, (1, 1000), "▁█ each bar 17 min 4 s"),
        (131_072, (2, 3), "▆█ each bar 1 d 12 h 24 min 32 s"),
    ],
)
def test_the_bars_as_text(width, counts, text) -> None:
    assert Rate("2026-11-21T08:00:00.000000Z", width, counts).text == text
