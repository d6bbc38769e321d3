"""SplitMix64 (Steele, Lea and Flood 2014): random numbers that are the same on every machine.

The generator of the standard library promises the same numbers for ``random()`` only, not for
``choice`` or ``shuffle`` of every version of Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
_MASK = (1 << 64) - 1


class SplitMix64:
    """A stream of random numbers, determined by its seed."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def bits(self) -> int:
        """Return 64 random bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def below(self, limit: int) -> int:
        """Return a number from 0 to ``limit`` - 1 (its bias is below ``limit`` / 2**64)."""
        return (self.bits() * limit) >> 64

    def chance(self, percent: int) -> bool:
        """Return True in ``percent`` of 100 cases."""
        return self.below(100) < percent

    def choice(self, values: Sequence[T]) -> T:
        """Return one of the values."""
        return values[self.below(len(values))]

    def skewed(self, limit: int) -> int:
        """Return a number from 0 to ``limit`` - 1, small ones more often (a truncated Zipf law).

        Each of the ranges 1, 2-3, 4-7, ... has the same weight, so a value of rank r has a weight
        proportional to 1/r.
        """
        number = (1 << self.below(limit.bit_length())) - 1
        return min(number + self.below(number + 1), limit - 1)

    def shuffle(self, values: list[T]) -> None:
        """Put the values in random order (Fisher and Yates)."""
        for i in range(len(values) - 1, 0, -1):
            j = self.below(i + 1)
            values[i], values[j] = values[j], values[i]

    def letters(self, count: int) -> str:
        """Return lower-case letters and digits."""
        return "".join("abcdefghijklmnopqrstuvwxyz0123456789"[self.below(36)] for _ in range(count))
