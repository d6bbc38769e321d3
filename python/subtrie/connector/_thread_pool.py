"""The thread pool for handlers that are not coroutine functions.

It is separate from asyncio's default executor, so that other work does not delay handlers. A thread
cannot be stopped: a handler that passes its deadline runs on after its caller was answered.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

MAX_THREADS = 64  # of handlers that run at once; more wait

_pool: ThreadPoolExecutor | None = None


async def run_in_thread(function: Callable[[], Any]) -> Any:
    """Call a function in the thread pool, with the context variables of the calling task."""
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="subtrie-handler")
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(_pool, context.run, function)


def _after_fork() -> None:
    global _pool
    _pool = None  # the threads exist in the parent only


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
