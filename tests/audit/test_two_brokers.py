"""A message forwarded to another broker, without and with the log of that broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trace_writer import Trace

from subtrie.spark import audit

HEARD = "p1.safe.443.a_com.b_com._.GET.heard"
UNHEARD = "p1.safe.443.a_com.b_com._.GET.unheard"


def route(trace: Trace, rest: str) -> None:
    """Write a line about the connection between the brokers."""
    trace.lines.append(
        f"[{trace.pid}] {trace.clock:%Y/%m/%d %H:%M:%S.%f} [TRC] 127.0.0.1:6222 - rid:9 - {rest}"
    )


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> tuple[Path, Path]:
    """The logs of both brokers for the same two publishes."""
    here, there = Trace(pid=7), Trace(pid=8)
    for subject in (HEARD, UNHEARD):
        here.publish(1, subject)
        route(here, f"->> [RMSG $G {subject} 2]")
        route(there, f"<<- [RMSG $G {subject} 2]")
        if subject == HEARD:
            there.deliver(2, subject, "1")
    folder = tmp_path_factory.mktemp("two")
    paths = (folder / "here.log", folder / "there.log")
    for path, trace in zip(paths, (here, there), strict=True):
        path.write_text(trace.text())
    return paths


def told(spark: Any, *logs: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    with audit(spark, [str(log) for log in logs]) as result:
        unheard = [row["subject"] for row in result.rows("undelivered")]
        return result.summary, list(result.rows("call_graph")), unheard


def test_one_log_alone_reports_both_as_forwarded(spark, logs) -> None:
    summary, (edge,), undelivered = told(spark, logs[0])
    assert (summary["forwarded"], summary["unmatched"], undelivered) == (2, 0, [])
    assert (edge["published"], edge["delivered"], edge["undelivered"]) == (2, 0, 0)


def test_the_log_of_the_other_broker_alone_has_no_unmatched_delivery(spark, logs) -> None:
    summary, (edge,), undelivered = told(spark, logs[1])
    assert (summary["forwarded"], summary["unmatched"], undelivered) == (0, 0, [])
    assert (edge["published"], edge["delivered"], edge["undelivered"]) == (0, 1, 0)


def test_with_both_logs_the_undelivered_message_is_known(spark, logs) -> None:
    summary, (edge,), undelivered = told(spark, *logs)
    assert (summary["forwarded"], summary["unmatched"]) == (0, 0)
    assert undelivered == [UNHEARD]
    assert (edge["published"], edge["delivered"], edge["undelivered"]) == (2, 1, 1)
