"""``Rate``: how a count went over time, and its bars as text."""

from __future__ import annotations

from typing import NamedTuple

_BARS = "▁▂▃▄▅▆▇█"
#: In place of a bar where nothing is.
_NONE = "·"
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


class Rate(NamedTuple):
    """A count in periods of one length.

    Attributes:
        start: when the first period began, as ISO 8601 text in UTC.
        width_s: the length of a period in seconds.
        counts: the count of each.
    """

    start: str
    width_s: int
    counts: tuple[int, ...]

    @property
    def text(self) -> str:
        """The bars and their width, as ``▁·█ each bar 4 s``; empty if there is one bar only."""
        if len(self.counts) < 2:
            return ""
        most = max(self.counts)
        bars = "".join(_BARS[-(-8 * each // most) - 1] if each else _NONE for each in self.counts)
        return f"{bars} each bar {self.width}"

    @property
    def width(self) -> str:
        """The length of a period in words, as ``17 min 4 s``."""
        parts, left = [], self.width_s
        for unit, seconds in _UNITS:
            count, left = divmod(left, seconds)
            if count:
                parts.append(f"{count} {unit}")
        return " ".join(parts)
