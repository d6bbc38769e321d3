"""``matched`` counts the messages of the time in which a subscription lived."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plain_tables import audit as plain_audit
from trace_writer import Trace

from subtrie.audit import Run, audit


def matched(run: Run) -> dict[tuple[str, str | None], tuple[int, int]]:
    return {(row["pattern"], row["queue"]): (row["matched"], row["delivered"])
            for row in run.rows("coverage")}  # fmt: skip


def of(trace: Trace, folder: Path, **options: Any) -> dict[tuple[str, str | None], tuple[int, int]]:
    """Return what each subscription matched and received, as the plain audit says it, too."""
    (folder / "trace.log").write_text(trace.text())
    with audit([str(folder / "trace.log")], **options) as run:
        found = matched(run)
    rows = plain_audit([trace.text().encode()])[1]["coverage"]
    assert found == {(row["pattern"], row["queue"]): (row["matched"], row["delivered"])
                     for row in rows}  # fmt: skip
    return found


def publish(trace: Trace, count: int, *receivers: int, conn: int = 1) -> None:
    for _ in range(count):
        trace.tick(2)
        trace.publish(conn, "orders.new")
        for each in receivers:
            trace.deliver(each, "orders.new", "1")


@pytest.fixture(params=[None, 100], ids=["whole", "in-parts"])
def options(request) -> dict[str, Any]:
    return {} if request.param is None else {"split_bytes": request.param}


def test_a_subscription_that_begins_in_the_middle(tmp_path, options) -> None:
    """It had the messages of all of the log, as if it had received none of the first ones."""
    trace = Trace()
    publish(trace, 3)
    trace.subscribe(2, "orders.*", "1")
    publish(trace, 2, 2)
    assert of(trace, tmp_path, **options) == {("orders.*", None): (2, 2)}


@pytest.mark.parametrize("end", ["<<- [UNSUB 1 ]", "Client connection closed: Client Closed"])
def test_a_subscription_that_ends_in_the_middle(tmp_path, options, end) -> None:
    trace = Trace()
    trace.subscribe(2, "orders.*", "1")
    publish(trace, 2, 2)
    trace.write(2, end, level="TRC" if "UNSUB" in end else "DBG")
    publish(trace, 3)
    assert of(trace, tmp_path, **options) == {("orders.*", None): (2, 2)}


def test_what_a_living_subscription_did_not_receive_is_matched(tmp_path, options) -> None:
    """The broker lost a message, or the client publishes and does not want its own."""
    trace = Trace()
    trace.subscribe(3, "orders.>", "1")
    publish(trace, 4, 3)
    trace.subscribe(2, "orders.*", "1")
    publish(trace, 2, 3)  # not to 2
    publish(trace, 1, 2, 3)
    trace.write(2, "<<- [UNSUB 1 ]")
    publish(trace, 5, 3)
    assert of(trace, tmp_path, **options) == {
        ("orders.*", None): (3, 1), ("orders.>", None): (12, 12),
    }  # fmt: skip


def test_a_group_lives_as_long_as_one_of_its_members(tmp_path, options) -> None:
    trace = Trace()
    publish(trace, 1)
    trace.subscribe(2, "orders.*", "1", "q")
    publish(trace, 2, 2)
    trace.subscribe(3, "orders.*", "1", "q")
    publish(trace, 1, 3)
    trace.write(2, "<<- [UNSUB 1 ]")
    publish(trace, 3, 3)
    trace.write(3, "<<- [UNSUB 1 ]")
    publish(trace, 4)
    trace.subscribe(2, "orders.*", "1", "q")
    publish(trace, 1, 2)
    assert of(trace, tmp_path, **options) == {("orders.*", "q"): (7, 7)}


def test_a_refused_subscription_matches_nothing(tmp_path, options) -> None:
    trace = Trace()
    trace.subscribe(2, "orders.*", "1")
    trace.write(2, 'Subscription Violation - Subject "orders.*", SID 1', level="ERR")
    publish(trace, 3)
    trace.subscribe(2, "orders.*", "1")
    publish(trace, 1, 2)
    assert of(trace, tmp_path, **options) == {("orders.*", None): (1, 1)}
