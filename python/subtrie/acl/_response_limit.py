"""The limits of ``allow_responses``."""  # A70

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class ResponseLimit:
    """The limit on messages published to the reply subject of a received message.

    Attributes:
        max: the number of answers; negative for no limit, 0 for the broker's default of 1.
        expires: the seconds in which they may be sent; negative for no limit, 0 for the broker's
            default of 120.
    """

    max: int = 1
    expires: float = 120.0

    def __post_init__(self) -> None:
        if isinstance(self.max, bool) or not isinstance(self.max, int):
            raise TypeError(f"max must be int, not {type(self.max).__name__}")
        if isinstance(self.expires, bool) or not isinstance(self.expires, int | float):
            raise TypeError(f"expires must be a number, not {type(self.expires).__name__}")
        if self.expires != self.expires:
            raise ValueError("expires must be a number of seconds")
        object.__setattr__(self, "max", self.max or 1)
        object.__setattr__(self, "expires", float(self.expires) or 120.0)

    def covers(self, other: ResponseLimit) -> bool:
        """Return True if this limit grants whatever the other one grants."""
        often = self.max < 0 or 0 < other.max <= self.max
        return often and (self.expires < 0 or 0 < other.expires <= self.expires)
