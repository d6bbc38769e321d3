"""Progress of Spark jobs on standard error, in a terminal only: tasks, rows, rate and time left."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class StageProgress:
    """A progress line with the current step and its tasks. Prints nothing outside a terminal."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._watching: contextlib.ExitStack | None = None

    def __enter__(self) -> StageProgress:
        self._progress.start()
        self._progress.add_task("", total=None, rows=0, speed="")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Remove the line."""
        if self._watching is not None:
            self._watching.close()
        self._progress.stop()

    def step(self, name: str, rows: int = 0) -> None:
        """Begin a step.

        Args:
            name: What the step does.
            rows: The number of rows that it works on, if known.
        """
        counted = f" ({rows:,} rows)" if rows else ""
        (task,) = self._progress.tasks
        task.total = None  # which reset leaves as it is
        self._progress.reset(task.id, description=name + counted, rows=rows, speed="")

    def watch(self, spark: SparkSession) -> None:
        """Count the tasks of the stages of this session from now on."""
        if self._progress.disable:
            return
        from ..spark._sessions.task_watch import watch_tasks

        self._watching = contextlib.ExitStack()
        self._watching.callback(watch_tasks(spark, self.update))

    def update(self, complete: int, total: int) -> None:
        """Show how many tasks of the running stages are complete, or bytes of the inputs read."""
        (task,) = self._progress.tasks
        rows, seconds, in_bytes = task.fields["rows"], task.elapsed or 0.0, self._watching is None
        rate = speed(complete, total, rows, seconds, in_bytes=in_bytes)
        self._progress.update(task.id, completed=complete, total=total, speed=rate, refresh=True)


def speed(complete: int, total: int, rows: int, seconds: float, *, in_bytes: bool = False) -> str:
    """Return the rate of a step, in rows if their number is known, and the time that is left."""
    if not complete or seconds <= 0:
        return ""
    done = complete / total
    if rows:
        rate = f"{rows * done / seconds:,.0f} rows/s"
    elif in_bytes:
        rate = f"{complete / seconds / 1e6:.1f} MB/s"
    else:
        rate = f"{complete / seconds:.1f} tasks/s"
    return f"{rate}, {seconds * (1 - done) / done:.0f} s left"
