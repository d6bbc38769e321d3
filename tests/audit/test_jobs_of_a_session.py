"""Jobs of a session side by side: those of one group end without those of another."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from patience import PATIENCE, wait_until
from subtrie.spark._sessions.session_jobs import SessionJobs


def waiting_job(spark: Any, folder: Path, name: str) -> list[int]:
    """Run a job that says that it runs, and ends when a file is there."""
    begun, end = folder / f"{name}.begun", folder / f"{name}.end"

    def wait(batches: Any) -> Iterator[Any]:
        begun.touch()
        for _ in range(6_000):  # a minute, if it is not ended
            if end.exists():
                break
            time.sleep(0.01)
        yield from batches

    return [row.id for row in spark.range(2, numPartitions=1).mapInArrow(wait, "id long").collect()]


def test_a_failure_cancels_the_jobs_of_its_own_group_only(spark: Any, tmp_path: Path) -> None:
    """Two audits may share a session."""
    before = set(threading.enumerate())
    with SessionJobs[list[int]](spark) as others:
        others.start(waiting_job, spark, tmp_path, "other")
        wait_until((tmp_path / "other.begun").exists)
        with contextlib.suppress(ZeroDivisionError), SessionJobs[list[int]](spark) as own:
            own.start(waiting_job, spark, tmp_path, "own")
            wait_until((tmp_path / "own.begun").exists)
            raise ZeroDivisionError
        with pytest.raises(Exception, match="CANCEL"):
            list(own.results())  # its job has ended, though its file is not there
        (tmp_path / "other.end").touch()
        assert list(others.results()) == [[0, 1]]
    assert not {each.name for each in set(threading.enumerate()) - before if
                each.name.startswith("subtrie-job")}  # fmt: skip


def test_results_are_in_the_order_of_the_starts(spark: Any) -> None:
    first = threading.Event()

    def numbered(number: int) -> int:
        if number:
            first.set()
        else:
            assert first.wait(PATIENCE)
        return number

    with SessionJobs[int](spark) as jobs:
        for number in range(3):
            jobs.start(numbered, number)
        assert list(jobs.results()) == [0, 1, 2]
