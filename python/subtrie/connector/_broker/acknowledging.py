"""Acknowledgements composed as requests are read, and the time to wait for one.

The time is Go's, or three times the 99th percentile of the last 128 on the connection if that is
more, but never over a second: a service that is slow to acknowledge because it is busy is not taken
for absent. A while after the last slow one it is Go's again, also if nothing was sent since.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _system

_KEPT = 128  # acknowledgements
_PLACE = 126  # of the 99th percentile among them, in order
_TIMES = 3
_LONGEST = 1.0  # seconds
_QUICK = 0.1 / _TIMES  # seconds: three times that is the least that Go waits on a broker
_SLOW_SPELL = 3.0  # seconds after a slow acknowledgement; longer delays every 404 that follows
_EVERY = 16  # acknowledgements between two looks at the percentile


@dataclass(frozen=True, slots=True)
class Acknowledging:
    """The acknowledgements of one subscription, composed as its requests are read.

    Attributes:
        plane: The plane of the service.
        host: The host of the service.
        whole: The acknowledgement of a message, before and after the message id.
        fragment: That of a fragment.
        receiver: Takes tag, subject and payload of the messages that were read and acknowledged
            together, in order; the others have their own receiver. Returns what to call once
            everything of the read was delivered, or None.
        tag: The object that stands for the subscription.
    """

    plane: str
    host: str
    whole: tuple[bytes, bytes]
    fragment: tuple[bytes, bytes]
    receiver: Callable[[Sequence[tuple[Any, str, bytes]]], Callable[[], None] | None]
    tag: Any


class AckTimes:
    """The times of the last acknowledgements; noted in one thread, read in any."""

    __slots__ = ("_clock", "_count", "_slow", "_slow_at", "_times")

    def __init__(self, clock: Callable[[], float] = lambda: _system.monotonic()) -> None:
        self._clock, self._slow_at = clock, 0.0
        self._times = [0.0] * _KEPT
        self._count = 0
        self._slow = 0.0

    def note(self, seconds: float) -> None:
        """Note how long an acknowledgement took, in seconds."""
        self._times[self._count % _KEPT] = seconds
        self._count += 1
        if seconds > _QUICK:
            self._slow_at = self._clock()
        if self._count % _EVERY == 0:
            self._slow = _TIMES * sorted(self._times)[_PLACE]

    def limit(self, least: float) -> float:
        """Return how long to wait for an acknowledgement in seconds.

        Args:
            least: What Go would wait, in seconds.
        """
        if self._slow <= least or self._clock() - self._slow_at > _SLOW_SPELL:
            return least
        return min(self._slow, _LONGEST)
