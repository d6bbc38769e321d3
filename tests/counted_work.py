"""Work as a number of events in Python, which is the same on a busy machine and on an idle one.

Native code gives no events: where it does the work, a test limits CPU time instead, or counts what
the core examines (``tests/core/trie_hostile.rs``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class TooMuchWork(AssertionError):
    """More calls than the test allows."""


def calls(action: Callable[[], Any], most: int = 10**9) -> tuple[int, Any]:
    """Return how many functions an action called, C functions included, and what it returned.

    Args:
        action: What is counted.
        most: The number at which it is ended.

    Raises:
        TooMuchWork: It made more calls.
    """
    counted = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal counted
        if event == "call" or event == "c_call":
            counted += 1
            if counted > most:
                sys.setprofile(None)
                raise TooMuchWork(f"more than {most} calls, in {frame.f_code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        result = action()
    finally:
        sys.setprofile(before)
    return counted, result


def steps(action: Callable[[], Any]) -> int:
    """Return how many bytecode instructions an action executes; loops without calls count too."""
    counted = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal counted
        frame.f_trace_opcodes = True
        counted += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return counted
