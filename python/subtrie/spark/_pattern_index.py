"""The index of the patterns of all subscriptions, as two files that every worker maps.

The driver writes them once: the image of the index, and the table of subscriptions. A worker opens
them once and keeps the last ones it has opened.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from typing import TYPE_CHECKING, Any

from .. import SubjectTrie, microbus
from .._errors import SubtrieError

if TYPE_CHECKING:
    import pyarrow as pa

# The files that this process has open, by their digest.
_opened: dict[str, PatternIndex] = {}


class PatternIndex:
    """The patterns, oldest first, and the subscriptions to each.

    Attributes:
        trie: The index; the id of a subscription in it is the number of its pattern.
        patterns: The patterns by number.
        routes: The path of the pattern after the method, if it is a Microbus subscription.
        ranks: The order of the routes, the most specific first.
        subscriptions: The table of subscriptions, with the column ``number`` of their pattern.
    """

    def __init__(self, image: Any, subscriptions: pa.Table) -> None:
        import numpy as np
        import pyarrow.compute as pc

        self.subscriptions = subscriptions
        self.patterns: list[str] = pc.unique(subscriptions["pattern"]).to_pylist()
        self.trie: Any = SubjectTrie.from_bytes(image, range(len(self.patterns)))
        self.routes = [route_of(pattern) for pattern in self.patterns]
        order = sorted(range(len(self.routes)), key=lambda i: _specific(self.routes[i]))
        self.ranks = np.empty(len(order) + 1, dtype=np.int64)
        self.ranks[order] = np.arange(len(order))
        self.by_rank = [self.routes[i] for i in order]

    def spans(self, number: int) -> list[tuple[str, int, int | None]]:
        """Return server, start and end of the subscriptions to a pattern."""
        if not hasattr(self, "_spans"):
            self._spans: dict[int, list[tuple[str, int, int | None]]] = {}
            names = ("number", "server", "start", "end")
            columns = (self.subscriptions[name].to_pylist() for name in names)
            for key, *span in zip(*columns, strict=True):
                self._spans.setdefault(key, []).append(tuple(span))
        return self._spans.get(number, [])


def index_files(subscriptions: pa.Table) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    """Return the names and the contents of the files: the image, and the table.

    Patterns that no server accepts are left out of the index, with their subscriptions.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    distinct = pc.unique(subscriptions["pattern"])
    trie: Any = SubjectTrie(dialect="server")
    accepted = []
    for pattern in distinct.to_pylist():
        try:
            trie.add(pattern, None)
        except SubtrieError:
            continue
        accepted.append(pattern)
    patterns = pa.array(accepted, pa.string())
    subscriptions = subscriptions.filter(pc.is_in(subscriptions["pattern"], value_set=patterns))
    numbers = pc.index_in(subscriptions["pattern"], value_set=patterns)
    table = subscriptions.append_column("number", numbers)
    image = trie.to_bytes()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    rows = sink.getvalue().to_pybytes()
    digest = hashlib.sha256(image + rows).hexdigest()[:16]
    return (f"subtrie-{digest}.image", image), (f"subtrie-{digest}.arrow", rows)


def open_files(image: str, table: str) -> PatternIndex:
    """Return the index in these files, opened on first use in this process."""
    import pyarrow as pa

    key = os.path.basename(image)
    if key not in _opened:
        _opened.clear()
        with open(image, "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        rows = pa.ipc.open_file(pa.memory_map(table)).read_all()
        _opened[key] = PatternIndex(mapped, rows)
    return _opened[key]


def route_of(pattern: str) -> str | None:
    """Return the path of a Microbus subscription as its tokens, or None for another pattern."""
    try:
        microbus.decode_subscription(pattern)
    except SubtrieError:
        return None
    return ".".join(pattern.split(".")[7:])


def _specific(route: str | None) -> tuple[bool, list[tuple[int, str]]]:
    """Return the sort key of a route: literal tokens first, then ``*``, then ``>``."""
    rank = {"*": 1, ">": 2}
    tokens = [] if route is None else route.split(".")
    return route is None, [(rank.get(token, 0), token) for token in tokens]
