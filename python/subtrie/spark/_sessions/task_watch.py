"""The progress of the tasks of a session, classic or of Spark Connect."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .classic_session import is_classic, running_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INTERVAL = 0.3


def watch_tasks(spark: SparkSession, update: Callable[[int, int], None]) -> Callable[[], None]:
    """Call ``update`` with the number of complete and of all tasks of the stages that run.

    Returns:
        A function that ends this.
    """
    return _poll(spark, update) if is_classic(spark) else _listen(spark, update)


def _poll(spark: SparkSession, update: Callable[[int, int], None]) -> Callable[[], None]:
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(_INTERVAL):
            try:
                found = running_tasks(spark)
            except Exception:  # the session is stopping
                return
            if found is not None:
                update(*found)

    thread = threading.Thread(target=run, name="subtrie-progress", daemon=True)
    thread.start()

    def stop() -> None:
        ended.set()
        thread.join()

    return stop


def _listen(spark: Any, update: Callable[[int, int], None]) -> Callable[[], None]:
    """Listen to the server, whose totals have stages that are skipped and never complete."""

    def handle(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        found = [(s.num_completed_tasks, s.num_tasks) for s in stages or ()]
        running = [each for each in found if 0 < each[0] < each[1]] or found
        if done:
            running = [(total, total) for _, total in running]
        if running:
            update(sum(n for n, _ in running), sum(total for _, total in running))

    spark.registerProgressHandler(handle)

    def stop() -> None:
        spark.removeProgressHandler(handle)

    return stop
