"""Windows take delivery lines: the rule by which the audit says who got which publish.

All of one subject, reply and size is one contest, swept in the order of the log. A window runs from
a publish to its end; windows are served in the order of their ends (then of their beginnings), and
for each subscriber a window takes the earliest line inside it that is still free. Serving a window
when the sweep reaches its end has seen every line inside it, so one pass decides, with memory for
what is open.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple


class Outcome(NamedTuple):
    """What became of one message that came in."""

    pos: int
    inbound: bool  # from another broker, not from a client
    delivered: int  # lines to clients
    hops: tuple[tuple[str, int], ...]  # lines to other brokers: connection, position
    contested: bool


class _Open:
    __slots__ = ("contested", "inbound", "pos", "served")

    def __init__(self, pos: int, inbound: bool) -> None:
        self.pos = pos
        self.inbound = inbound
        self.contested = False
        self.served = False


class Sweep:
    """One contest. Feed it in the order of the log, then ``finish``."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.orphans = 0
        self._ends: list[tuple[int, int, _Open]] = []
        self._free: dict[str, list[int]] = {}
        self._hops: dict[str, list[int]] = {}
        self._calm: list[_Open] = []  # open and not yet contested

    def window(self, pos: int, end: int, inbound: bool) -> None:
        """A message came in at ``pos``; ``end`` is the first position outside its window."""
        self._serve(pos)
        window = _Open(pos, inbound)
        heapq.heappush(self._ends, (end, pos, window))
        self._calm.append(window)

    def line(self, pos: int, subscriber: str) -> None:
        """A message was handed to a client."""
        self._serve(pos)
        if not self._ends:
            self.orphans += 1
            return
        if len(self._ends) > 1:
            for window in self._calm:
                window.contested = not window.served
            self._calm = []
        self._free.setdefault(subscriber, []).append(pos)

    def hop(self, pos: int, conn: str) -> None:
        """A message was handed to another broker."""
        self._serve(pos)
        if self._ends:
            self._hops.setdefault(conn, []).append(pos)

    def finish(self) -> None:
        """The log ends: serves what is open; lines left over are orphans."""
        self._serve(None)

    def _serve(self, pos: int | None) -> None:
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
                Outcome(start, window.inbound, delivered, tuple(hops), window.contested)
            )
        if not ends:
            self.orphans += sum(map(len, self._free.values()))
            self._free, self._hops, self._calm = {}, {}, []


def _take(lines: list[int], start: int) -> int | None:
    """Removes the earliest line after ``start``, and says where it was."""
    for i, pos in enumerate(lines):
        if pos > start:
            return lines.pop(i)
    return None
