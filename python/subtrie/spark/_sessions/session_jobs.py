"""Jobs of a session that run side by side, classic or of Spark Connect."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .classic_session import cancel_tagged, tag_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Found = TypeVar("_Found")
_THREADS = 32
#: Seconds until jobs are cancelled again: a thread may have begun its job meanwhile.
_AGAIN = 0.2


class SessionJobs(Generic[_Found]):
    """Threads that each wait for a job, with the local properties of the thread that made this.

    When the ``with`` block is left by an exception, the jobs that still run are cancelled.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark: Any = spark
        self._tag = f"subtrie-{secrets.token_hex(8)}"
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="subtrie-job")
        self._jobs: list[Future[_Found]] = []

    def start(self, call: Callable[..., _Found], *arguments: Any) -> None:
        """Call a function that runs a job, in a thread."""
        from pyspark import inheritable_thread_target

        def run() -> _Found:
            with tag_jobs(self._spark, self._tag):
                return call(*arguments)

        inherit = inheritable_thread_target(self._spark)
        # A process without pinned threads has no local properties of threads.
        self._jobs.append(self._threads.submit(inherit(run) if callable(inherit) else run))

    def results(self) -> Iterator[_Found]:
        """Wait for the jobs, and yield what they found, in the order of their starts."""
        for job in self._jobs:
            yield job.result()

    def __enter__(self) -> SessionJobs[_Found]:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is not None:
                running = {job for job in self._jobs if not job.cancel()}
                while running:
                    cancel_tagged(self._spark, self._tag)
                    running = wait(running, _AGAIN).not_done
        finally:
            self._threads.shutdown(wait=True)
