"""The places of requests at work, and of plain functions in threads, shared by source.

While there is room a source may take what it needs. When the places or the bytes are used up, a
source that holds less than its share of them is still admitted, up to as much again in sum: one
source cannot keep the others out.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

MAX_THREADS = 64  # of plain functions that run at once, and of those in excess by other sources


class Places:
    """A bound for the requests at work and their bytes, and a share for each source.

    Args:
        most: The number of requests at work, and of those in excess by other sources.
        most_bytes: The bytes of their bodies, and of those in excess.

    Attributes:
        most: The number of requests.
        most_bytes: The bytes.
        taken: The places that are taken.
        taken_bytes: The bytes of the requests that took them.
    """

    __slots__ = ("_by_source", "_bytes", "most", "most_bytes", "taken", "taken_bytes")

    def __init__(self, most: int, most_bytes: int = 1 << 62) -> None:
        if most < 1:
            raise ValueError(f"max_at_work must be at least 1, not {most!r}")
        self.most, self.most_bytes = most, most_bytes
        self.taken = self.taken_bytes = 0
        self._by_source: dict[str, int] = {}
        self._bytes: dict[str, int] = {}

    def admits(self, source: str, size: int = 0) -> bool:
        """Return whether there is a place for a request of a source.

        Args:
            source: The verified source.
            size: The bytes of its body.
        """
        total = self.taken_bytes + size
        if self.taken < self.most and total <= self.most_bytes:
            return True
        own = self._by_source.get(source, 0)
        sources = len(self._by_source) + (0 if own else 1)
        return (
            own < max(1, self.most // sources)
            and self.taken < 2 * self.most
            and self._bytes.get(source, 0) + size <= self.most_bytes // sources
            and total <= 2 * self.most_bytes
        )

    def take(self, source: str, size: int = 0) -> None:
        """Take a place for a request of a source.

        Args:
            source: The verified source.
            size: The bytes of its body.
        """
        self.taken += 1
        by_source = self._by_source
        by_source[source] = by_source[source] + 1 if source in by_source else 1
        if size:
            self.taken_bytes += size
            self._bytes[source] = self._bytes.get(source, 0) + size

    def give(self, source: str, size: int = 0) -> None:
        """Give a place back.

        Args:
            source: The verified source.
            size: The bytes with which it was taken.
        """
        by_source = self._by_source
        if source not in by_source:  # taken before a restart
            return
        self.taken -= 1
        if size:
            self.taken_bytes -= size
            self._bytes[source] -= size
        if by_source[source] > 1:
            by_source[source] -= 1
        else:
            del by_source[source]
            self._bytes.pop(source, None)


class SharedThreads:
    """A thread pool that sources share: calls that wait take turns by source.

    Args:
        most: The number of threads, and of those in excess by other sources.
    """

    def __init__(self, most: int) -> None:
        self._pool = ThreadPoolExecutor(2 * most, thread_name_prefix="subtrie-handler")
        self._places = Places(most)
        self._waiting: dict[str, dict[Future[Any], Callable[[], Any]]] = {}
        self._lock = threading.Lock()  # guards the places and what waits

    def submit(self, source: str, call: Callable[[], Any]) -> Future[Any]:
        """Call a function in a thread, once it is the turn of its source.

        Args:
            source: The verified source.
            call: The function.
        """
        future: Future[Any] = Future()
        with self._lock:
            if source not in self._waiting and self._places.admits(source):
                self._begin(source, future, call)
            else:
                self._waiting.setdefault(source, {})[future] = call
        return future

    def forget(self, source: str, future: Future[Any]) -> None:
        """Keep a call no longer that was cancelled before its turn.

        Args:
            source: Its source.
            future: What ``submit`` returned.
        """
        with self._lock:
            calls = self._waiting.get(source)
            if calls is not None and calls.pop(future, None) is not None and not calls:
                del self._waiting[source]

    def _begin(self, source: str, future: Future[Any], call: Callable[[], Any]) -> None:
        self._places.take(source)
        self._pool.submit(self._run, source, future, call)

    def _run(self, source: str, future: Future[Any], call: Callable[[], Any]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                try:
                    result = call()
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
        finally:
            with self._lock:
                self._places.give(source)
                self._begin_next()

    def _begin_next(self) -> None:
        """Begin with the next call of the first source that is admitted, which goes last then."""
        for source in list(self._waiting):
            if self._places.admits(source):
                calls = self._waiting.pop(source)
                future = next(iter(calls))
                call = calls.pop(future)
                if calls:
                    self._waiting[source] = calls
                self._begin(source, future, call)
                return


_threads: SharedThreads | None = None


async def run_in_thread(source: str, function: Callable[[], Any]) -> Any:
    """Call a function in the thread pool, with the context variables of the calling task.

    Args:
        source: The verified source of the request: sources share the threads.
        function: The function.
    """
    global _threads
    threads = _threads
    if threads is None:
        threads = _threads = SharedThreads(MAX_THREADS)
    context = contextvars.copy_context()
    future = threads.submit(source, lambda: context.run(function))
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        threads.forget(source, future)
        raise


def _after_fork() -> None:
    global _threads
    _threads = None  # the threads exist in the parent only


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
