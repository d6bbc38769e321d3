"""Logs that are read once and audited several times, as ``acl usage --hold-out`` does."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest
from trace_writer import Trace

from subtrie.audit import TABLES, Questions, Run, Selection, audit
from subtrie.audit._here import SpillFile
from subtrie.audit._read_once import ReadOnce
from synthetic_traffic import write_traffic


@pytest.fixture(scope="module", params=[(1,), (2,), (3, 4)])
def logs(request, tmp_path_factory) -> list[str]:
    found = []
    for seed in request.param:
        folder = tmp_path_factory.mktemp("traffic")
        write_traffic(folder, seed=seed, rows=3_000)
        found.append(os.fspath(folder / "trace.log"))
    return found


def tables(run: Run) -> dict[str, list[dict[str, Any]]]:
    with run:
        return {name: list(run.rows(name)) for name in TABLES if name != "runs"}


def test_each_audit_is_that_of_the_logs_read_again(logs, tmp_path):
    whole = tables(audit(logs, questions=Questions()))
    times = [row[name] for row in whole["flows"] for name in ("first", "last") if row[name]]
    cut = max(times) - (max(times) - min(times)) * 0.3
    before, after = Selection(until=cut), Selection(since=cut)
    expected = [tables(audit(logs, questions=Questions(), selection=each))
                for each in (before, after)]  # fmt: skip
    assert expected[0]["flows"] != expected[1]["flows"]
    moved = [tmp_path / f"{number}.log" for number in range(len(logs))]
    for path, log in zip(moved, logs, strict=True):
        path.write_bytes(Path(log).read_bytes())
    once = ReadOnce(list(map(str, moved)), memory=100_000)  # the rest is in the file
    first = tables(once.audit(Questions()))
    for path in moved:
        path.unlink()  # it is not read again
    found = [tables(once.audit(Questions(), each)) for each in (before, after)]
    once.close()
    for each in (first, whole):
        each.pop("unparseable")  # has the names of the files
    for rows in (*found, *expected):
        rows.pop("unparseable")
    assert first == whole
    assert found == expected


@pytest.mark.parametrize("again", [False, True])
def test_the_last_messages_of_a_period_have_their_deliveries(tmp_path, again):
    """A delivery after the end of the period belongs to the message before it."""
    trace = Trace()
    trace.subscribe(2, "a", "1")
    for late in (0, 0.5, 0):
        trace.tick(5)
        trace.publish(1, "a")
        trace.tick(late)
        trace.deliver(2, "a", "1")
    log = tmp_path / "trace.log"
    log.write_text(trace.text())
    end = trace.clock.replace(tzinfo=UTC) - timedelta(seconds=5.25)
    once = ReadOnce([str(log)])
    if again:
        tables(once.audit(Questions()))
    (flow,) = tables(once.audit(Questions(), Selection(until=end)))["flows"]
    once.close()
    with audit([str(log)], selection=Selection(until=end)) as run:
        assert run.counters["unmatched"] == 0
    assert (flow["published"], flow["delivered"], flow["undelivered"]) == (2, 2, 0)


def test_threads_that_share_a_temporary_file_read_their_own_bytes():
    file, pieces = SpillFile(), [bytes([number]) * (1000 + number) for number in range(200)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for _ in range(10):
                places = list(pool.map(file.write, pieces))
                assert list(pool.map(file.read, places)) == pieces
    finally:
        sys.setswitchinterval(interval)
        file.close()
