"""The leaf nodes that receive messages, by their subscriptions."""

from __future__ import annotations

from .bucket import Bucket, Subjects


class LeafNodes:
    """The leaf nodes that subscribed subjects.

    Args:
        bucket: The subjects and the subscribed patterns.
        subjects: The subjects.
    """

    def __init__(self, bucket: Bucket, subjects: Subjects) -> None:
        import pyarrow.compute as pc

        index, self._subjects = bucket.index, subjects
        rows = index.subscriptions
        rows = rows.filter(pc.match_substring(rows["conn"], "/leaf:"))
        patterns = index.patterns.take(rows["number"].combine_chunks())
        names = pc.coalesce(rows["identity"], rows["conn"])
        columns = (rows["server"], rows["number"], patterns, names, rows["queue"])
        self._by_pattern: dict[tuple[str, int], dict[tuple[str, str, str | None], None]] = {}
        for server, number, *receiver in zip(*(c.to_pylist() for c in columns), strict=True):
            self._by_pattern.setdefault((server, number), {})[tuple(receiver)] = None

    def of(self, key: tuple[str, int]) -> list[tuple[str, str, str | None]]:
        """Return pattern, name and queue of those that subscribed a subject at a server."""
        if not self._by_pattern:
            return []
        server, at = key
        first, end = self._subjects.rows.searchsorted([at, at + 1])
        found: dict[str, tuple[str, str, str | None]] = {}
        for number in self._subjects.numbers[first:end].tolist():
            for receiver in self._by_pattern.get((server, number), ()):
                found.setdefault(receiver[1], receiver)  # it is sent one copy
        return list(found.values())
