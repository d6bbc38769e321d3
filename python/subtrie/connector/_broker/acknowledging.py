"""Acknowledgements composed as requests are read, and the time to wait for one.

The time is Go's, or three times the 99th percentile of the last 128 on the connection if that is
more, but never over a second: a service that is slow to acknowledge because it is busy is not taken
for absent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_KEPT = 128  # acknowledgements
_PLACE = 126  # of the 99th percentile among them, in order
_TIMES = 3
_LONGEST = 1.0  # seconds
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
            together, in order; the others have their own receiver.
        tag: The object that stands for the subscription.
    """

    plane: str
    host: str
    whole: tuple[bytes, bytes]
    fragment: tuple[bytes, bytes]
    receiver: Callable[[Sequence[tuple[Any, str, bytes]]], None]
    tag: Any


class AckTimes:
    """The times of the last acknowledgements; noted in one thread, read in any."""

    __slots__ = ("_count", "_slow", "_times")

    def __init__(self) -> None:
        self._times = [0.0] * _KEPT
        self._count = 0
        self._slow = 0.0

    def note(self, seconds: float) -> None:
        """Note how long an acknowledgement took, in seconds."""
        self._times[self._count % _KEPT] = seconds
        self._count += 1
        if self._count % _EVERY == 0:
            self._slow = _TIMES * sorted(self._times)[_PLACE]

    def limit(self, least: float) -> float:
        """Return how long to wait for an acknowledgement in seconds.

        Args:
            least: What Go would wait, in seconds.
        """
        return max(least, min(self._slow, _LONGEST))
