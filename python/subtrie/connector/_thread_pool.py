"""Threads for handlers that are plain functions: their own, so that nobody else's work is in front.

A thread cannot be stopped: a function that passes its deadline runs on, its caller is answered.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

MAX_THREADS = 64

_pool: ThreadPoolExecutor | None = None


async def run_in_thread(function: Callable[[], Any]) -> Any:
    """Calls a function in one of the threads, with the context of the task that waits for it."""
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="subtrie-handler")
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(_pool, context.run, function)


def _after_fork() -> None:
    global _pool
    _pool = None  # its threads are the parent's


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
