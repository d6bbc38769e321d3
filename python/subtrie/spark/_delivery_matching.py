"""Assign delivery lines to publish windows: the rule by which the audit matches deliveries.

All messages of one subject, reply and size are one match group, swept in the order of the log. A
window runs from a publish to its end. Windows are served in the order of their ends (then of their
beginnings), and for each subscriber a window takes the earliest line inside it that is still free.
A window is served when the sweep reaches its end, and all its lines have been read by then: so one
pass decides, with memory for the open windows only.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple


class Outcome(NamedTuple):
    """The deliveries of one message that the broker received."""

    pos: int
    inbound: bool  # from another broker, not from a client
    delivered: int  # lines to clients
    hops: tuple[tuple[str, int], ...]  # lines to other brokers: connection, position
    ambiguous: bool


class _OpenWindow:
    """A window that the sweep has entered and not left."""

    __slots__ = ("ambiguous", "inbound", "pos", "served")

    def __init__(self, pos: int, inbound: bool) -> None:
        self.pos = pos
        self.inbound = inbound
        self.ambiguous = False
        self.served = False


class DeliveryMatcher:
    """The sweep over one match group: add its lines in the order of the log, then ``finish``."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.unmatched = 0
        self._ends: list[tuple[int, int, _OpenWindow]] = []
        self._free: dict[str, list[int]] = {}
        self._hops: dict[str, list[int]] = {}
        self._unambiguous: list[_OpenWindow] = []  # open and not yet ambiguous

    def window(self, pos: int, end: int, inbound: bool) -> None:
        """Open the window of a message received at ``pos``.

        ``end`` is the first position outside the window.
        """
        self._serve(pos)
        window = _OpenWindow(pos, inbound)
        heapq.heappush(self._ends, (end, pos, window))
        self._unambiguous.append(window)

    def line(self, pos: int, subscriber: str) -> None:
        """Add a line that delivers a message to a client."""
        self._serve(pos)
        if not self._ends:
            self.unmatched += 1
            return
        if len(self._ends) > 1:
            for window in self._unambiguous:
                window.ambiguous = not window.served
            self._unambiguous = []
        self._free.setdefault(subscriber, []).append(pos)

    def hop(self, pos: int, conn: str) -> None:
        """Add a line that sends a message to another broker."""
        self._serve(pos)
        if self._ends:
            self._hops.setdefault(conn, []).append(pos)

    def finish(self) -> None:
        """Serve the windows that are open when the log ends; lines left over are unmatched."""
        self._serve(None)

    def _serve(self, pos: int | None) -> None:
        """Serve the windows that end at ``pos`` or earlier, or all of them."""
        ends = self._ends
        if not ends or (pos is not None and ends[0][0] > pos):
            return
        while ends and (pos is None or ends[0][0] <= pos):
            _, start, window = heapq.heappop(ends)
            window.served = True
            delivered = sum(1 for lines in self._free.values() if _take(lines, start) is not None)
            hops = []
            for conn, lines in self._hops.items():
                taken = _take(lines, start)
                if taken is not None:
                    hops.append((conn, taken))
            self.outcomes.append(
                Outcome(start, window.inbound, delivered, tuple(hops), window.ambiguous)
            )
        if not ends:
            self.unmatched += sum(map(len, self._free.values()))
            self._free, self._hops, self._unambiguous = {}, {}, []


def _take(lines: list[int], start: int) -> int | None:
    """Remove and return the position of the earliest line after ``start``."""
    for i, pos in enumerate(lines):
        if pos > start:
            return lines.pop(i)
    return None
