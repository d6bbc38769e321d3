"""Reading a connection on the event loop of its services, while messages come one at a time.

A message that the thread of the connection reads costs a wake-up of the services' loop and two
switches between the threads: more than most handlers. So that loop reads the socket itself while
few messages come at once. The thread watches it: once nothing was read for a moment, because
nothing came or because a handler blocks the loop, the thread reads again. So no acknowledgement
waits longer than that moment for a blocked loop. Record: ``benches/records/busy-go-*``.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from .. import _system

#: Seconds after which the thread reads again, if the loop has read nothing. Twice this is the most
#: that an acknowledgement waits for a blocked loop; less wakes the thread more often.
WATCH = 0.01
#: Reads of few messages in a row, each soon after the one before, after which the loop reads. More
#: leave more requests to the slower way; each change costs as much as one or two of them.
ENOUGH = 16
SOON = 0.005  # seconds between two reads in a row
FEW = 2  # messages of a read in a row
MANY = 8  # messages of one read after which the thread reads again, beside the handlers
MUCH = 1 << 14  # bytes of one read, likewise: large bodies are read while handlers run

#: Reads from a socket and delivers what it read. Returns whether the loop may go on reading, and
#: what to call then: the steps that begin with the requests.
Read = Callable[[socket.socket], tuple[bool, list[Callable[[], None]]]]


class ReadRate:
    """Tells from the reads of the connection's thread when its services' loop may read instead."""

    __slots__ = ("_at", "_in_a_row")

    def __init__(self) -> None:
        self._at, self._in_a_row = 0.0, 0

    def admits(self, messages: int, nbytes: int) -> bool:
        """Note a read; return whether enough reads of few messages came in a row.

        Args:
            messages: The number of its messages.
            nbytes: The number of its bytes.
        """
        now = _system.monotonic()
        in_a_row = messages <= FEW and nbytes <= MUCH and now - self._at < SOON
        self._at, self._in_a_row = now, self._in_a_row + 1 if in_a_row else 0
        if self._in_a_row < ENOUGH:
            return False
        self._in_a_row = 0
        return True


class LoopReading:
    """One time during which an event loop reads a connection instead of the connection's thread.

    Args:
        loop: The event loop.
        reading: A handle of the socket of its own, which is closed at the end.
        read: Reads and delivers.
        on_end: Called on the loop if it may not go on.

    Attributes:
        reads: How often the loop has read.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        reading: socket.socket,
        read: Read,
        on_end: Callable[[], None],
    ) -> None:
        self._loop, self._socket, self._read, self._on_end = loop, reading, read, on_end
        self._lock = _system.lock()  # held while the loop reads; guards the next
        self._ended = False
        self.reads = 0

    def begin(self) -> bool:
        """Let the loop read; False if it is closed."""
        try:
            self._loop.call_soon_threadsafe(self._begin)
        except RuntimeError:
            self._ended = True
            self._socket.close()
            return False
        return True

    def _begin(self) -> None:
        if self._ended:
            return  # closed by what ended it
        try:
            self._loop.add_reader(self._socket, self._on_readable)
        except NotImplementedError:  # the thread goes on when it sees that nothing is read
            self._ended = True
            self._socket.close()

    def _on_readable(self) -> None:
        with self._lock:
            if self._ended:
                return  # the thread reads: this loop was blocked
            self.reads += 1
            more, steps = self._read(self._socket)
            self._ended = not more
        if not more:
            self._close()
            self._on_end()
        for step in steps:  # not under the lock: handlers may begin at once, and block
            step()

    def _close(self) -> None:
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def end(self, *, wait: bool) -> bool:
        """Stop the loop from reading, in the connection's thread; False if it reads just now.

        Args:
            wait: Wait for it then.
        """
        if not self._lock.acquire(blocking=wait):
            return False
        ended, self._ended = self._ended, True
        self._lock.release()
        if not ended:
            try:
                self._loop.call_soon_threadsafe(self._close)
            except RuntimeError:  # the loop is closed, and its selector too
                self._socket.close()
        return True
