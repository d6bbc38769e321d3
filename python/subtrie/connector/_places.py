"""Places of the requests at work: a bound for all of them, and a share for each source.

While there is room every source may take what it needs; when the places are used up, a source that
holds the fewest may go on until it holds as many as the others, so that one source cannot keep all
others out.
"""

from __future__ import annotations

from collections import Counter


class Places:
    """The places of one connector.

    Args:
        most: The number of requests at work, and of those in excess by other sources.
    """

    __slots__ = ("_by_source", "_most", "taken")

    def __init__(self, most: int) -> None:
        if most < 1:
            raise ValueError(f"max_at_work must be at least 1, not {most!r}")
        self._most = most
        self.taken = 0
        self._by_source: Counter[str] = Counter()

    def take(self, source: str) -> bool:
        """Take a place for a request of a source; False if there is none.

        Args:
            source: The verified source.
        """
        own = self._by_source[source]
        if self.taken >= self._most:
            share = self._most // (len(self._by_source) + (0 if own else 1))
            if own >= share or self.taken >= 2 * self._most:
                if not own:
                    del self._by_source[source]
                return False
        self.taken += 1
        self._by_source[source] = own + 1
        return True

    def give(self, source: str) -> None:
        """Give a place back."""
        self.taken = max(self.taken - 1, 0)
        left = self._by_source[source] - 1
        if left > 0:
            self._by_source[source] = left
        else:
            self._by_source.pop(source, None)
