"""The thread that reads and writes the connections of this process, with an event loop of its own.

A handler that blocks its event loop does not delay what this thread reads, and so no
acknowledgement. The thread starts with the first connection and ends with the last. While it runs,
Python's threads take turns more often than by default: each system call of this thread ends with
waiting for its turn, and at the default of 5 ms those waits alone would exceed the time in which
callers expect an acknowledgement. ``SUBTRIE_KEEP_SWITCH_INTERVAL=1`` leaves the interval as it is.
"""

from __future__ import annotations

import asyncio
import os
import sys

from . import _system

_lock = _system.lock()
_loop: asyncio.AbstractEventLoop | None = None
_users = 0
_restored: float | None = None  # the switch interval to restore, in seconds

#: Seconds; shorter costs more switches between threads, longer delays acknowledgements.
SWITCH_INTERVAL = 0.0005


def acquire() -> asyncio.AbstractEventLoop:
    """Return the event loop of the thread; each call needs a ``release``."""
    global _loop, _users, _restored
    with _lock:
        _users += 1
        if _loop is None:
            if not _keeps_interval() and sys.getswitchinterval() > SWITCH_INTERVAL:
                _restored = sys.getswitchinterval()
                sys.setswitchinterval(SWITCH_INTERVAL)
            _loop = _system.new_event_loop()
            _system.start_thread(_run, _loop, name="subtrie-connections")
        return _loop


def _keeps_interval() -> bool:
    text = os.environ.get("SUBTRIE_KEEP_SWITCH_INTERVAL", "")
    return text.lower() not in ("", "0", "false")


def release() -> None:
    """End one use of the thread; it ends with the last."""
    global _loop, _users, _restored
    with _lock:
        _users -= 1
        if _users == 0 and _loop is not None:
            if _restored is not None:
                sys.setswitchinterval(_restored)
                _restored = None
            _loop.call_soon_threadsafe(_loop.stop)
            _loop = None


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def _after_fork() -> None:
    """Forget the parent's thread: a child does not have it."""
    # S0-134
    global _lock, _loop, _users, _restored
    _lock, _loop, _users = _system.lock(), None, 0
    if _restored is not None:
        sys.setswitchinterval(_restored)
        _restored = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
