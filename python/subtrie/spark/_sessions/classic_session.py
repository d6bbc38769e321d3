"""The only module that uses the Spark context, which Spark Connect does not have."""

from __future__ import annotations

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
