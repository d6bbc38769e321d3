"""Progress of Spark stages on standard error, in a terminal only."""

from __future__ import annotations

import sys
import threading
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
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task: Any = None
        self._spark: SparkSession | None = None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> StageProgress:
        self._progress.start()
        self._task = self._progress.add_task("", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._progress.stop()

    def step(self, name: str) -> None:
        """Begin a step."""
        self._progress.reset(self._task, description=name, total=None)

    def watch(self, spark: SparkSession) -> None:
        """Count the tasks of the stages of this session from now on."""
        if self._progress.disable:
            return
        self._spark = spark
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _poll(self) -> None:
        """Update the line until the end."""
        assert self._spark is not None
        tracker = self._spark.sparkContext.statusTracker()
        while not self._ended.wait(0.3):
            try:
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            except Exception:  # the session is stopping
                return
            running = [stage for stage in stages if stage is not None]
            if running:
                self._progress.update(
                    self._task,
                    completed=sum(stage.numCompletedTasks for stage in running),
                    total=sum(stage.numTasks for stage in running),
                )
