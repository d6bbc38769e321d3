"""The only module that uses the Spark context, which Spark Connect does not have."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_classic(spark: SparkSession) -> bool:
    """Return whether a session has a Spark context in this process."""
    return not type(spark).__module__.startswith("pyspark.sql.connect")


def session_key(spark: SparkSession) -> str:
    """Return what identifies a session; each batch of a stream has another object for its one."""
    if is_classic(spark):
        key: str = spark._jsparkSession.sessionUUID()
        return key
    return str(spark.session_id)  # type: ignore[attr-defined]


def executor_count(spark: SparkSession) -> int:
    """Return the number of executors that have registered, without the driver."""
    context: Any = spark.sparkContext._jsc.sc()
    return max(0, len(context.statusTracker().getExecutorInfos()) - 1)


def running_tasks(spark: SparkSession) -> tuple[int, int] | None:
    """Return the number of complete and of all tasks of the stages that run, or None."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    running = [stage for stage in stages if stage is not None]
    if not running:
        return None
    return (
        sum(stage.numCompletedTasks for stage in running),
        sum(stage.numTasks for stage in running),
    )


def cancel_jobs(spark: SparkSession) -> None:
    """End all jobs of a session."""
    spark.sparkContext.cancelAllJobs()


@contextlib.contextmanager
def tag_jobs(spark: Any, tag: str) -> Iterator[None]:
    """Tag the jobs that this thread starts in this block, for ``cancel_tagged``.

    The tags of a classic session would be those of one thread: others cannot cancel its jobs.
    """
    if not is_classic(spark):
        spark.addTag(tag)
        yield
        return
    spark.sparkContext.addJobTag(tag)
    try:
        yield
    finally:
        spark.sparkContext.removeJobTag(tag)


def cancel_tagged(spark: Any, tag: str) -> None:
    """End the jobs that threads started in a block of ``tag_jobs``."""
    if is_classic(spark):
        spark.sparkContext.cancelJobsWithTag(tag)
    else:
        spark.interruptTag(tag)
