"""Write the lines of a trace log as nats-server 2.15 does, with a clock."""

from __future__ import annotations

import time
from typing import BinaryIO, NamedTuple

SECOND = 1_000_000  # microseconds


class Written(NamedTuple):
    """The offset of a line, and the time that it shows."""

    offset: int
    time: int  # microseconds since 1970


class TraceLog:
    """A log that is being written.

    Args:
        stream: Receives the bytes.
        pid: The process id of the broker.
        start: The time of the first line, in microseconds since 1970.
    """

    def __init__(self, stream: BinaryIO, pid: int, start: int) -> None:
        self._stream = stream
        self.pid = pid
        self._second = -1
        self._text = ""
        self.first_line = b""
        self.offset = 0
        self.clock = start
        self.latest = start  # the latest time of any line
        self.lines = 0
        self.counts = {"operations": 0, "payloads": 0, "server": 0, "unparseable_lines": 0}

    def stamp(self, microseconds: int) -> str:
        """Return a time as the broker prints it."""
        second, fraction = divmod(microseconds, SECOND)
        if second != self._second:
            self._second = second
            self._text = time.strftime("%Y/%m/%d %H:%M:%S", time.gmtime(second))
        return f"{self._text}.{fraction:06d}"

    def write(self, kind: str, level: str, rest: str, early: int = 0) -> Written:
        """Write a line of the broker.

        Args:
            kind: What it counts as: a key of ``counts``.
            level: ``TRC``, ``DBG``, ``INF`` or ``ERR``.
            rest: What follows the level.
            early: By how many microseconds its time precedes the clock.
        """
        shown = self.clock - early
        self.latest = max(self.latest, shown)
        offset = self._put(f"[{self.pid}] {self.stamp(shown)} [{level}] {rest}\n".encode())
        self.counts[kind] += 1
        return Written(offset, shown)

    def write_raw(self, data: bytes) -> int:
        """Write a line that the broker did not write, and return its offset."""
        self.counts["unparseable_lines"] += 1
        return self._put(data + b"\n")

    def front(self) -> str:
        """Return the beginning of a line: process id and time."""
        return f"[{self.pid}] {self.stamp(self.clock)}"

    def _put(self, data: bytes) -> int:
        offset = self.offset
        if not offset:
            self.first_line = data
        self._stream.write(data)
        self.offset += len(data)
        self.lines += 1
        return offset


def iso(microseconds: int) -> str:
    """Return a time as text."""
    second, fraction = divmod(microseconds, 1_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(second))}.{fraction:06d}Z"
