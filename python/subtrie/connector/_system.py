"""The clocks, randomness, locks, threads and event loops that the connector uses.

Other modules call these names through this module (``_system.monotonic()``), never through
``time``, ``random``, ``secrets`` or ``threading``. So a test can replace them all, and run services
that are unchanged on a clock of its own and with a seed. Within an event loop the time is that of
the loop, ``loop.time()``; a clock for tests replaces that too.

The names are the functions themselves: a call costs no more than without this module.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

#: Return the seconds since the epoch.
now = time.time
#: Return seconds that never go back.
monotonic = time.monotonic

#: Return so many bytes that cannot be guessed.
random_bytes = secrets.token_bytes
#: Return one of a sequence; it cannot be guessed.
random_choice = secrets.choice
#: Return a number between two others.
uniform = random.uniform
#: Bring a list into random order.
shuffle = random.shuffle

#: Return a lock.
lock = threading.Lock
#: Return a queue for what threads hand to each other; each of its steps is atomic.
queue = deque
#: Return the event loop for the thread of the connections.
new_event_loop = asyncio.new_event_loop


def start_thread(target: Callable[..., object], *arguments: Any, name: str) -> None:
    """Call a function in a thread of its own, which does not keep the process alive.

    Args:
        target: The function.
        arguments: Its arguments.
        name: The name of the thread.
    """
    threading.Thread(target=target, args=arguments, name=name, daemon=True).start()


def executor(threads: int, name: str) -> Executor:
    """Return a pool of threads.

    Args:
        threads: The largest number of threads.
        name: How their names begin.
    """
    return ThreadPoolExecutor(threads, thread_name_prefix=name)
