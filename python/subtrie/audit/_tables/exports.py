"""Messages that clients of another account received: one exports them, the other imports."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from .bucket import Bucket
from .classified import Classified, columns_of
from .messages_between_servers import Publisher

#: A server, the number of a subject there, and a publisher.
_Publisher = tuple[str, int, Publisher]


class Exports:
    """The messages of other accounts that a subject's subscribers received at a server.

    The log names no imports. Messages were exported if the lines that delivered them are more than
    their own account has.

    Args:
        bucket: The messages and deliveries.
        of: Their subjects.
        weights: For each subject at a server, its publishers with their messages that were
            received.
    """

    def __init__(
        self,
        bucket: Bucket,
        of: Classified,
        weights: Mapping[tuple[str, int], Mapping[_Publisher, int]],
    ) -> None:
        self._weights = weights
        self._exported: set[tuple[str, int]] = set()
        places: dict[str | None, list[int]] = defaultdict(list)
        for at, text in enumerate(of.subjects.texts.to_pylist()):
            places[text].append(at)
        #: The numbers of each subject that several accounts have.
        self._same = {at: found for found in places.values() if len(found) > 1 for at in found}
        if not self._same:
            return
        left: Counter[tuple[str, int]] = Counter()
        for server, at, lines in zip(*columns_of(bucket.publishes, "server", "at", "lines"),
                                     strict=True):  # fmt: skip
            left[server, at] += lines
        for key, publishers in weights.items():
            left[key] += sum(n for (server, *_), n in publishers.items() if server != key[0])
        for server, at, count in zip(*columns_of(bucket.deliveries, "server", "at", "count"),
                                     strict=True):  # fmt: skip
            left[server, at] -= count
        self._exported = {key for key, lines in left.items() if lines > 0}

    def to(self, server: str, at: int) -> Iterator[tuple[_Publisher, int]]:
        """Yield the publishers in other accounts whose messages a subject's clients received."""
        for other in self._same.get(at, ()):
            if other != at and (server, other) in self._exported:
                yield from self._weights.get((server, other), {}).items()
