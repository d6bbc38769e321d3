"""The threads of plain functions, shared by source.

While there is room a source may use all threads. When they are used up, a source that holds less
than its share of them gets further ones, up to as many again in sum; what waits takes turns.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from . import _system

#: Bytes of a body beyond which its values are made in a thread. Less takes more messages through a
#: thread, which costs 50 us or more; of more bytes others wait for tens of milliseconds.
LARGE_BODY = 1 << 16
MAX_THREADS = 64  # of plain functions that run at once, and of those in excess by other sources


class SharedThreads:
    """A thread pool that sources share: calls that wait take turns by source.

    Args:
        most: The number of threads, and of those in excess by other sources.
    """

    def __init__(self, most: int) -> None:
        self._pool = _system.executor(2 * most, "subtrie-handler")
        self._most, self._taken = most, 0
        self._by_source: dict[str, int] = {}
        self._waiting: dict[str, dict[Future[Any], Callable[[], Any]]] = {}
        self._lock = _system.lock()  # guards the places and what waits

    def submit(self, source: str, call: Callable[[], Any]) -> Future[Any]:
        """Call a function in a thread, once it is the turn of its source.

        Args:
            source: The verified source.
            call: The function.
        """
        future: Future[Any] = Future()
        with self._lock:
            if self._admits(source):  # then none of its calls waits
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

    def _admits(self, source: str) -> bool:
        """Return whether there is a thread for a source: the rule of the places of requests."""
        own = self._by_source.get(source, 0)
        share = self._most // (len(self._by_source) + (0 if own else 1))
        return self._taken < self._most or (own < max(1, share) and self._taken < 2 * self._most)

    def _begin(self, source: str, future: Future[Any], call: Callable[[], Any]) -> None:
        self._taken += 1
        self._by_source[source] = self._by_source.get(source, 0) + 1
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
                self._taken -= 1
                self._by_source[source] -= 1
                if not self._by_source[source]:
                    del self._by_source[source]
                self._begin_next()

    def _begin_next(self) -> None:
        """Begin with the next call of each source that is admitted, in turns; it goes last then."""
        sources = deque(self._waiting)
        while sources and self._taken < 2 * self._most:
            if self._begins(source := sources.popleft()):
                sources.append(source)

    def _begins(self, source: str) -> bool:
        """Begin with the next call of a source if it is admitted; return whether more wait."""
        if not self._admits(source):
            return False
        calls = self._waiting.pop(source)
        future = next(iter(calls))
        call = calls.pop(future)
        if calls:
            self._waiting[source] = calls
        self._begin(source, future, call)
        return bool(calls)


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
