"""Logs that were written to mislead the audit, or to cost it time; without Spark."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from trace_writer import Trace

from subtrie.spark import TABLES, audit

CALL = "p1.safe.443.{}.b_com._.GET.x"


def tables(trace: Trace, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of a log."""
    log = folder / "trace.log"
    log.write_text(trace.text())
    with audit(None, [str(log)], planes=["p1"]) as found:
        return {name: list(found.rows(name)) for name in TABLES}


def test_a_connection_number_that_comes_again_after_a_restart_is_another_connection(tmp_path):
    """The log has no line that ends the first connection."""
    trace = Trace(pid=1)
    trace.subscribe(1, CALL.format("*"), "1")
    trace.tick(1)
    trace.lines.append(f"[1] {trace.clock:%Y/%m/%d %H:%M:%S.%f} [INF] Starting nats-server")
    trace.tick(1)
    trace.subscribe(1, "p1.safe.443.*.c_com._.GET.y", "1")
    trace.publish(2, CALL.format("a_com"))
    trace.tick(2)
    trace.write(2, "<<- [PING]")
    found = tables(trace, tmp_path)
    (lost,) = found["undelivered"]
    assert lost["subscription_inactive"] is True
    ends = {row["pattern"]: row["end"] for row in found["subscriptions"]}
    assert [end is None for end in ends.values()] == [False, True]


def test_a_user_name_with_a_slash_is_not_the_name_after_it(tmp_path):
    trace = Trace()
    login = "$G/user:a/user:bank.core"
    trace.write(1, f"<<- [SUB {CALL.format('*')} 1]", login=login)
    trace.write(1, f"<<- [PUB {CALL.format('bank_core')} 0]", login=login)
    trace.write(2, f"<<- [PUB {CALL.format('bank_core')} 0]", login="$G/user:evil.com")
    trace.write(3, 'Publish Violation - Subject "p1.x"', level="ERR", login=login)
    found = tables(trace, tmp_path)
    assert [(row["who"], row["claimed"]) for row in found["spoofed"]] == [("evil.com", "bank.core")]
    assert [row["identity"] for row in found["subscriptions"]] == ["a/user:bank.core"]
    assert [row["who"] for row in found["refused"]] == ["a/user:bank.core"]


@pytest.mark.parametrize("part", ["eyJ", "eyJa.", "SUAA", '"password":"', '"jwt":"\\', "cookie:"])
def test_redaction_of_long_subjects_costs_no_more_than_their_length(tmp_path, part):
    """A redaction that is quadratic takes minutes of CPU time."""
    trace = Trace()
    for number in range(60):  # a line of more than 64 KiB would be cut
        trace.write(1, f"<<- [PUB {part * (60_000 // len(part))}.{number} 0]")
    began = time.process_time()
    found = tables(trace, tmp_path)
    assert time.process_time() - began < 30
    assert found["unparseable"] == []
    assert found["other_traffic"]
