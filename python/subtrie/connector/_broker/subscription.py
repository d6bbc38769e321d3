"""A subscription of a connection."""

from __future__ import annotations

from dataclasses import dataclass

from .acknowledging import Acknowledging


@dataclass(frozen=True, eq=False, slots=True)
class OpenSubscription:
    """A subscription of a connection."""

    sid: int
    pattern: str
    queue: str | None
    acknowledging: Acknowledging | None

    def line(self) -> bytes:
        """Return the ``SUB`` line."""
        queue = f"{self.queue} " if self.queue else ""
        return f"SUB {self.pattern} {queue}{self.sid}\r\n".encode()
