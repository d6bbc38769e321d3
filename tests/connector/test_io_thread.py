"""The thread of the connections, and Python's switch interval: both last while it is used."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from patience import PATIENCE, wait_until
from subtrie.connector import _io_thread

NAME = "subtrie-connections"


def threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == NAME]


@pytest.fixture
def interval(monkeypatch) -> Iterator[float]:
    """An interval of the program, longer than that of the thread; the program's is restored."""
    monkeypatch.delenv("SUBTRIE_KEEP_SWITCH_INTERVAL", raising=False)
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.004)
    yield 0.004
    sys.setswitchinterval(before)


def test_the_thread_ends_with_its_last_use(interval):
    wait_until(lambda: not threads(), "that of another test ends")
    loop = _io_thread.acquire()
    assert _io_thread.acquire() is loop
    (thread,) = threads()
    _io_thread.release()
    assert _io_thread.acquire() is loop, "it is still used"
    _io_thread.release()
    begun = asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop)
    begun.result(PATIENCE)
    _io_thread.release()
    thread.join(PATIENCE)
    assert (loop.is_closed(), threads()) == (True, [])


def test_tasks_are_cancelled_when_the_thread_ends():
    loop, ended = _io_thread.acquire(), threading.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    begun = threading.Event()
    asyncio.run_coroutine_threadsafe(work(), loop)
    assert begun.wait(PATIENCE)
    _io_thread.release()
    assert ended.wait(PATIENCE)


def test_the_interval_of_the_program_is_that_after_the_thread(interval):
    for given in (interval, 0.003):  # the program may change it meanwhile
        sys.setswitchinterval(given)
        _io_thread.acquire()
        assert sys.getswitchinterval() == pytest.approx(0.0005)
        _io_thread.release()
        assert sys.getswitchinterval() == pytest.approx(given)


def test_an_interval_that_the_program_made_shorter_stays(interval):
    sys.setswitchinterval(0.0002)
    _io_thread.acquire()
    assert sys.getswitchinterval() == pytest.approx(0.0002)
    sys.setswitchinterval(0.0003)
    _io_thread.release()
    assert sys.getswitchinterval() == pytest.approx(0.0003)


@pytest.mark.parametrize(
    ("value", "kept"),
    [("", False), ("0", False), ("false", False), ("FALSE", False), ("1", True), ("yes", True)],
)
def test_the_environment_keeps_the_interval(interval, monkeypatch, value, kept):
    monkeypatch.setenv("SUBTRIE_KEEP_SWITCH_INTERVAL", value)
    _io_thread.acquire()
    try:
        assert sys.getswitchinterval() == pytest.approx(interval if kept else 0.0005)
    finally:
        _io_thread.release()
    assert sys.getswitchinterval() == pytest.approx(interval)


CHILD = """
import asyncio, os, sys
from subtrie.connector import _io_thread
given = sys.getswitchinterval()
parent = _io_thread.acquire()
child = os.fork()
if child:
    _io_thread.release()
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert sys.getswitchinterval() == given
loop = _io_thread.acquire()
assert loop is not parent
asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(60)
_io_thread.release()
assert _io_thread._loop is None
assert sys.getswitchinterval() == given
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_a_thread_of_its_own():
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
