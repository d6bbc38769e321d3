"""A clock that a test advances: what a connector needs of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol


class ManualClock(Protocol):
    """Tells a time that only the test changes, and runs what is due when it does."""

    def __call__(self) -> float:
        """Return the seconds since the epoch."""

    def add(self, seconds: float, first: float, run: Callable[[], Awaitable[None]]) -> object:
        """Run a function periodically.

        Args:
            seconds: The interval.
            first: The seconds until the first run.
            run: The function.

        Returns:
            What ``remove`` takes.
        """

    def remove(self, added: object) -> None:
        """Run a function no longer."""
