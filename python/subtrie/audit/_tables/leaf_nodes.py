"""The leaf nodes that receive messages, by their subscriptions."""

from __future__ import annotations

from .._identity import may_be_equal
from .bucket import Bucket, Subjects

#: Pattern, name, queue, user and client of a leaf node.
_Receiver = tuple[str, str, str | None, str | None, str | None]


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
        columns = (rows["server"], rows["number"], rows["account"], patterns, names,
                   *(rows[name] for name in ("queue", "user", "client")))  # fmt: skip
        self._by_pattern: dict[tuple[str, int], dict[_Receiver, str | None]] = {}
        for server, number, account, *receiver in zip(*(c.to_pylist() for c in columns),
                                                      strict=True):  # fmt: skip
            self._by_pattern.setdefault((server, number), {})[*receiver] = account

    def of(self, key: tuple[str, int]) -> list[_Receiver]:
        """Return those that subscribed a subject at a server."""
        if not self._by_pattern:
            return []
        server, at = key
        first, end = self._subjects.rows.searchsorted([at, at + 1])
        account = self._subjects.account[at].as_py()
        found: dict[str, _Receiver] = {}
        for number in self._subjects.numbers[first:end].tolist():
            for receiver, theirs in self._by_pattern.get((server, number), {}).items():
                if may_be_equal(account, theirs):
                    found.setdefault(receiver[1], receiver)  # it is sent one copy
        return list(found.values())
