"""Indexes of patterns as files that every worker maps: those subscribed, of rules, of calls.

They are written once: the image of an index and the table of its patterns; of the subscribed ones
also the table of subscriptions, and that of their groups. A process opens them once and keeps the
last ones that it has opened.
"""

from __future__ import annotations

import hashlib
import mmap
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ... import SubjectTrie, microbus
from ..._core.errors import SubtrieError
from .._readers.log_reader import native
from .accounts import Accounts

if TYPE_CHECKING:
    import pyarrow as pa

# The patterns and servers whose intervals are kept: about 300 bytes each and 16 for each interval.
_KNOWN = 10_000
# The indexes that this process has open, by the name of their first file: those of two runs.
_opened: OrderedDict[str, PatternIndex] = OrderedDict()
_MOST_OPENED = 8
_opening = threading.Lock()

#: The rows of subscriptions that are worked on at once: about 1 KB each.
BLOCK = 65_536

#: Names and contents of the files of an index.
Files = tuple[tuple[str, bytes | memoryview], ...]


class PatternIndex:
    """The patterns, oldest first, and the subscriptions to each.

    Attributes:
        trie: The index; the id of a subscription in it is the number of its pattern.
        patterns: The patterns by number.
        routes: The path after the method by rank, most specific first, of the patterns that are
            Microbus subscriptions; the others have null.
        ranks: The rank of the route of each pattern.
        subscriptions: The table of subscriptions, with the column ``number`` of their pattern.
        groups: Server, account, number of the pattern, and queue of the subscriptions, each once.
    """

    def __init__(
        self,
        image: Any,
        patterns: pa.Table,
        subscriptions: pa.Table | None = None,
        groups: pa.Table | None = None,
    ) -> None:
        self.subscriptions: pa.Table = subscriptions
        self.groups: pa.Table = groups
        self.patterns: pa.Array = _in_one(patterns["pattern"])
        self.trie: Any = SubjectTrie.from_bytes(image, range(len(self.patterns)))
        self.ranks = patterns["rank"].to_numpy()
        self.routes: pa.Array = _in_one(patterns["route"])
        self._active: dict[tuple[int, str, str | None], tuple[Any, Any]] = {}
        self._orders: dict[str, tuple[Any, Any]] = {}

    def matches(self, texts: pa.Array) -> tuple[Any, Any]:
        """Return row and number of the pattern of every match of published subjects, by row.

        A wildcard token of a published subject is text to the broker: only ``*`` and ``>`` match
        it. A subject with an empty token has no matches.
        """
        import numpy as np
        import pyarrow as pa

        rows, numbers, refused = self._looked_up(texts)
        if not len(refused):
            return rows, numbers
        more, of_more, _ = self._looked_up(self.as_text(texts.take(pa.array(refused))))
        rows = np.concatenate([rows, refused[more]])
        order = np.argsort(rows, kind="stable")
        return rows[order], np.concatenate([numbers, of_more])[order]

    def _looked_up(self, texts: pa.Array) -> tuple[Any, Any, Any]:
        """Return the matches of subjects, and the rows that the index refuses."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pa.array(self.trie.match_batch(texts))
        lists = found if pa.types.is_list(found.type) else found.cast(pa.list_(pa.int32()))
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
        refused = pc.indices_nonzero(pc.and_(pc.is_null(lists), pc.is_valid(texts)))
        rows = np.repeat(np.arange(len(texts)), lengths)
        return (
            rows,
            lists.flatten().to_numpy(zero_copy_only=False),
            refused.to_numpy().astype(np.int64),
        )

    def as_text(self, texts: pa.Array) -> pa.Array:
        """Return subjects with a token that is in no pattern in place of each ``*`` and ``>``."""
        import pyarrow as pa

        instead = {"*": self._no_token, ">": self._no_token}
        found = (None if text is None else text.split(".") for text in texts.to_pylist())
        replaced = [
            None if tokens is None else ".".join(instead.get(each, each) for each in tokens)
            for tokens in found
        ]
        return pa.array(replaced, pa.string())

    @cached_property
    def _no_token(self) -> str:
        """A token that is in no pattern."""
        import pyarrow.compute as pc

        token = "**"
        while pc.any(pc.match_substring(self.patterns, token)).as_py():
            token *= 2
        return token

    @cached_property
    def accounts(self) -> Accounts:
        """The accounts that subscribe each pattern."""
        return Accounts(self.groups, len(self.patterns))

    def matches_in(self, texts: pa.Array, accounts: pa.Array) -> tuple[Any, Any]:
        """Return the matches of subjects as ``matches`` does, each with those of its account."""
        rows, numbers = self.matches(texts)
        own = self.accounts.own(rows, numbers, accounts)
        return (rows, numbers) if own is None else (rows[own], numbers[own])

    def nearest(self, texts: pa.Array, account: str | None) -> tuple[pa.Array, pa.Array]:
        """Return the number of the nearest pattern of an account, and the token that differs.

        Both are null for a subject that is null, not valid, or matched.
        """
        import pyarrow as pa

        numbers = self.accounts.patterns_of(account)
        if numbers is None:
            return nearest_of(self.trie, self.as_text(texts))
        trie, _ = _indexed(self.patterns.take(pa.array(numbers)).to_pylist())
        found, places = nearest_of(trie, self.as_text(texts))
        return pa.array(numbers, pa.int32()).take(found), places

    def rows_at(self, server: str, starts: Any) -> Any:
        """Return the rows of subscriptions of a server by the position of their SUB, else -1."""
        import numpy as np

        if server not in self._ranges:
            return np.full(len(starts), -1)
        first, known = self._ranges[server]
        at = np.minimum(np.searchsorted(known, starts), len(known) - 1)
        return np.where(known[at] == starts, at + first, -1)

    def rows_of(self, deliveries: pa.Table) -> Any:
        """Return the row of the subscription by which each was delivered, -1 if not known."""
        import numpy as np

        servers = deliveries["server"].combine_chunks().dictionary_encode()
        codes = servers.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        starts = deliveries["subscription"].fill_null(-1).to_numpy()
        found = np.full(deliveries.num_rows, -1)
        for code, server in enumerate(servers.dictionary.to_pylist()):
            here = codes == code
            found[here] = self.rows_at(server, starts[here])
        return found

    @cached_property
    def _ranges(self) -> dict[str, tuple[int, Any]]:
        """The first row of each server, and the ascending positions of its subscriptions."""
        import numpy as np

        coded = _in_one(self.subscriptions["server"]).dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False)
        starts = self.subscriptions["start"].to_numpy()
        found = {}
        for code, name in enumerate(coded.dictionary.to_pylist()):
            # The table is sorted by server and start.
            rows = np.flatnonzero(codes == code)
            found[name] = (int(rows[0]), starts[rows[0] : rows[-1] + 1])
        return found

    def lived(self, groups: Any, positions: pa.ChunkedArray) -> Any:
        """Return whether a subscription of each group lived right after a position of its log.

        Args:
            groups: The rows of ``groups``.
            positions: A position for each; null is any.
        """
        import numpy as np

        places, starts, ends = self._lives
        rank = np.searchsorted(places, positions.fill_null(0).to_numpy(), side="right")
        asked = groups.astype(np.int64) * (len(places) + 2) + rank
        before = np.searchsorted(starts, asked, side="right")
        found = before > 0
        found[found] = ends[before[found] - 1] > asked[found]
        return found | positions.is_null().to_numpy()

    @cached_property
    def _lives(self) -> tuple[Any, Any, Any]:
        """The places at which subscriptions begin or end, and the lives of those of each group.

        A life is the row of its group and the rank of its place, as one number: the starts,
        ascending, and the last end up to each.
        """
        import numpy as np
        import pyarrow.compute as pc

        rows, keys = self.subscriptions, ["server", "account", "number", "queue"]
        of, own = np.zeros(rows.num_rows, np.int64), np.zeros(self.groups.num_rows, np.int64)
        for name in keys:
            values = pc.unique(self.groups[name])
            for codes, table in ((of, rows), (own, self.groups)):
                codes *= len(values)
                codes += pc.index_in(table[name], value_set=values).to_numpy()
        order = np.argsort(own, kind="stable")
        group = order[np.searchsorted(own[order], of)]
        begins = rows["start"].to_numpy()
        places = np.unique(np.concatenate([begins, rows["end"].drop_null().to_numpy()]))
        length = len(places) + 2
        start = group * length + np.searchsorted(places, begins, side="right")
        ended = np.searchsorted(places, rows["end"].fill_null(0).to_numpy(), side="right")
        ended[rows["end"].is_null().to_numpy()] = len(places) + 1
        by_start = np.argsort(start, kind="stable")
        # The ends of a group are before those of the next one.
        return places, start[by_start], np.maximum.accumulate((group * length + ended)[by_start])

    def was_active(self, number: int, server: str, account: str | None, position: int) -> bool:
        """Return whether an account subscribed a pattern at a position of a log.

        Cost: a binary search; the first call for a server sorts its subscriptions.
        """
        key = (number, server, account)
        if key not in self._active:
            if len(self._active) >= _KNOWN:
                self._active.clear()
            self._active[key] = self._intervals(number, server, account)
        starts, ends = self._active[key]
        before = starts.searchsorted(position)
        return bool(before and ends[before - 1] > position)

    def _intervals(self, number: int, server: str, account: str | None) -> tuple[Any, Any]:
        """Return the starts of the subscriptions to a pattern, and the last end up to each."""
        import numpy as np
        import pyarrow.compute as pc

        if server not in self._ranges:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        first, starts = self._ranges[server]
        if server not in self._orders:
            numbers = self.subscriptions["number"].slice(first, len(starts)).to_numpy()
            order = np.argsort(numbers, kind="stable").astype(np.int32)
            self._orders[server] = (order, numbers[order])
        order, numbers = self._orders[server]
        found = order[numbers.searchsorted(number) : numbers.searchsorted(number, side="right")]
        if account is not None:
            theirs = self.subscriptions["account"].take(found + first)
            found = found[pc.fill_null(pc.equal(theirs, account), True).to_numpy()]
        rows = self.subscriptions["end"].take(found + first)
        ends = rows.fill_null(np.iinfo(np.int64).max).to_numpy()
        return starts[found], np.maximum.accumulate(ends)


def nearest_of(trie: Any, subjects: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """Return the id of the nearest pattern of each subject, and the first token that differs.

    Both are null for a subject that is null, not valid, or matched.
    """
    import numpy as np
    import pyarrow as pa

    try:
        extension = native()
    except RuntimeError:  # the engine in plain Python
        extension = None
    if extension is None or not isinstance(trie, extension.SubjectTrie):
        found = [_explained(trie, text) for text in subjects.to_pylist()]
        return pa.array([i for i, _ in found], pa.int32()), pa.array(
            [t for _, t in found], pa.int32()
        )
    numbers, places = (
        np.frombuffer(each, np.int32) for each in extension.nearest_batch(trie, subjects)
    )
    none = numbers < 0
    return pa.array(numbers, mask=none), pa.array(places, mask=none)


def _explained(trie: Any, text: str | None) -> tuple[int | None, int | None]:
    """Return the nearest pattern of one subject."""
    try:
        nearest = () if text is None else trie.explain(text, limit=1).nearest
    except SubtrieError:
        nearest = ()
    return (nearest[0].subscription.id, nearest[0].differs_at) if nearest else (None, None)


def index_files(subscriptions: pa.Table) -> tuple[Files, pa.Table]:
    """Return the files of the index of the subscribed patterns, and the subscriptions to them.

    Patterns that no server accepts are left out of the index, with their subscriptions.
    """
    import pyarrow.compute as pc

    trie, accepted = _indexed(pc.unique(subscriptions["pattern"]).to_pylist())
    patterns = pattern_table(accepted)
    texts = patterns["pattern"].combine_chunks()
    numbers = pc.index_in(subscriptions["pattern"], value_set=texts)
    subscriptions = subscriptions.append_column("number", numbers)
    if numbers.null_count:
        subscriptions = subscriptions.filter(pc.is_valid(numbers))
    keys = ["server", "account", "number", "queue"]
    groups = subscriptions.select(keys).group_by(keys, use_threads=False).aggregate([])
    return _files(trie, patterns, subscriptions, groups), subscriptions


def pattern_files(patterns: Iterable[str]) -> Files:
    """Return the files of an index of patterns; those that no server accepts are left out."""
    trie, accepted = _indexed(list(dict.fromkeys(patterns)))
    return _files(trie, pattern_table(accepted))


def _files(trie: Any, *tables: pa.Table) -> Files:
    """Return the names and the contents of the files of an index.

    Equal tables give equal names: files that were sent are not sent again.
    """
    parts = [*map(_file_bytes, tables)]
    # Each image has a random hash key, so the name is that of the tables from which it follows.
    whole = hashlib.sha256()
    for part in parts:
        whole.update(hashlib.sha256(part).digest())
    name = f"subtrie-{whole.hexdigest()[:16]}"
    kinds = ("image", "patterns", "subscriptions", "groups")[: len(parts) + 1]
    contents = [trie.to_bytes(), *parts]
    return tuple((f"{name}.{kind}", part) for kind, part in zip(kinds, contents, strict=True))


def pattern_table(patterns: Sequence[str]) -> pa.Table:
    """Return the table of patterns that ``PatternIndex`` takes, in the order of their ids."""
    import pyarrow as pa

    routes = [route_of(pattern) for pattern in patterns]
    order = sorted(range(len(routes)), key=lambda i: _specific(routes[i]))
    ranks = [0] * len(order)
    for rank, number in enumerate(order):
        ranks[number] = rank
    return pa.table(
        {
            "pattern": pa.array(patterns, pa.string()),
            "rank": pa.array(ranks, pa.int64()),
            "route": pa.array([routes[number] for number in order], pa.string()),
        }
    )


def open_index(names: Sequence[str], data: Callable[[str], Any]) -> PatternIndex:
    """Return the index in files of these names, opened on first use in this process.

    Args:
        names: The names of the files.
        data: Returns the bytes of a file.
    """
    key = names[0]
    with _opening:
        if key in _opened:
            _opened.move_to_end(key)
            return _opened[key]
        while len(_opened) >= _MOST_OPENED:
            _opened.popitem(last=False)
        image, *tables = map(data, names)
        _opened[key] = PatternIndex(image, *map(_table, tables))
        if isinstance(image, mmap.mmap):
            release_pages(image)  # the checksum has read it all, and lookups read a part
        return _opened[key]


def _table(data: Any) -> pa.Table:
    """Return the table of an Arrow file that is in memory or mapped, in place."""
    import pyarrow as pa

    return pa.ipc.open_file(pa.py_buffer(data)).read_all()


def release_pages(mapped: mmap.mmap) -> None:
    """Return the pages of a mapped file to the system, which reads them again when needed."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _in_one(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array; a column of one chunk is not copied."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _indexed(patterns: Sequence[str]) -> tuple[Any, list[str]]:
    """Return an index of the patterns that a server accepts, and these patterns."""
    trie: Any = SubjectTrie(dialect="server")
    try:
        trie.update(patterns=patterns, values=[None] * len(patterns))
    except SubtrieError:
        trie = SubjectTrie(dialect="server")
    else:
        return trie, list(patterns)
    accepted = []
    for pattern in patterns:
        try:
            trie.add(pattern, None)
        except SubtrieError:
            continue
        accepted.append(pattern)
    return trie, accepted


def _file_bytes(table: pa.Table) -> memoryview:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return memoryview(sink.getvalue())


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
