"""Progress of the audit: tasks, rows, rate and time left."""

from __future__ import annotations

import time
from typing import Any

from subtrie._cli.stage_progress import StageProgress, speed
from subtrie.spark._sessions.task_watch import watch_tasks


def test_the_rate_and_the_time_left() -> None:
    assert speed(1, 4, 1000, 2.0) == "125 rows/s, 6 s left"
    assert speed(2, 4, 0, 4.0) == "0.5 tasks/s, 4 s left"
    # In the process of the command, bytes are counted: 837416.9 tasks a second were shown.
    assert speed(4_000_000, 8_000_000, 0, 2.0, in_bytes=True) == "2.0 MB/s, 2 s left"
    assert speed(4, 4, 5_000_000, 2.5) == "2,000,000 rows/s, 0 s left"
    assert speed(0, 4, 1000, 2.0) == speed(1, 4, 0, 0.0) == ""


def test_the_tasks_of_a_job_are_counted(spark: Any) -> None:
    found: list[tuple[int, int]] = []

    def slow(batches: Any) -> Any:
        time.sleep(0.2)
        yield from batches

    stop = watch_tasks(spark, lambda complete, total: found.append((complete, total)))
    try:
        spark.range(0, 8, 1, 8).mapInArrow(slow, "id bigint").collect()
    finally:
        stop()
    assert found
    assert {total for _, total in found} == {8}
    assert [complete for complete, _ in found] == sorted(complete for complete, _ in found)
    before = len(found)
    spark.range(1).collect()
    assert len(found) == before


def test_nothing_is_printed_outside_a_terminal(spark: Any, capfd: Any) -> None:
    with StageProgress() as progress:
        progress.step("reading lines")
        progress.watch(spark)
        progress.update(1, 4)
        progress.step("writing tables", 1000)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
