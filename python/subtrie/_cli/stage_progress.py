"""Progress of Spark jobs on standard error, in a terminal only: tasks, rows, rate and time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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
        self._task: Any = None
        self._forget: Callable[[], None] | None = None
        self._rows = 0
        self._began = time.monotonic()

    def __enter__(self) -> StageProgress:
        self._progress.start()
        self._task = self._progress.add_task("", total=None, speed="")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Remove the line."""
        if self._forget is not None:
            self._forget()
            self._forget = None
        self._progress.stop()

    def step(self, name: str, rows: int = 0) -> None:
        """Begin a step.

        Args:
            name: What the step does.
            rows: The number of rows that it works on, if known.
        """
        self._rows, self._began = rows, time.monotonic()
        counted = f" ({rows:,} rows)" if rows else ""
        self._progress.reset(self._task, description=name + counted, total=None, speed="")

    def watch(self, spark: SparkSession) -> None:
        """Count the tasks of the stages of this session from now on."""
        if self._progress.disable:
            return
        from ..spark._sessions.task_watch import watch_tasks

        self._forget = watch_tasks(spark, self.update)

    def update(self, complete: int, total: int) -> None:
        """Show how many tasks of the running stages are complete, or bytes of the inputs read."""
        self._progress.update(
            self._task,
            completed=complete,
            total=total,
            speed=speed(
                complete,
                total,
                self._rows,
                time.monotonic() - self._began,
                in_bytes=self._forget is None,
            ),
        )


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
