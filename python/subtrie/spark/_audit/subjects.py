"""The distinct subjects of a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .pattern_index import PatternIndex

if TYPE_CHECKING:
    import pyarrow as pa


class Subjects:
    """Distinct subjects, their addresses, and the patterns that match them.

    Attributes:
        texts: The subjects.
        address: The row of the address of each subject in ``addresses``.
        addresses: The distinct addresses: kind, port, plane, source, host, method, reason.
        request: Which subjects are requests of a known plane.
        reply: Which are replies of one.
    """

    def __init__(
        self,
        subjects: pa.RecordBatch,
        addresses: pa.RecordBatch,
        index: PatternIndex,
        planes: Sequence[str],
    ) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        self.texts = subjects.column("subject")
        self.address = subjects.column("address")
        self.addresses = addresses
        self.index = index
        known = pa.array(list(planes), pa.string())
        canonical = pc.is_in(addresses.column("plane"), value_set=known)
        kind = addresses.column("kind")
        self.kind = kind.take(self.address)
        self.request = pc.and_(canonical, pc.equal(kind, 1)).take(self.address)
        self.reply = pc.and_(canonical, pc.equal(kind, 2)).take(self.address)
        inside = canonical.take(self.address)
        self.malformed, self.other = self._outside(inside, pc.greater(self.kind, 0), known)
        if not len(index.patterns):
            self.rows, self.numbers = np.zeros(0, np.int64), np.zeros(0, np.int32)
            self.rank = pa.nulls(len(self.texts), pa.int64())
            return
        found = pa.array(index.trie.match_batch(self.texts))
        lists = found if pa.types.is_list(found.type) else found.cast(pa.list_(pa.int32()))
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
        self.rows = np.repeat(np.arange(len(self.texts)), lengths)
        self.numbers = lists.flatten().to_numpy(zero_copy_only=False)
        best = np.full(len(self.texts), len(index.patterns), dtype=np.int64)
        np.minimum.at(best, self.rows, index.ranks[self.numbers])
        #: The rank of the most specific route of each subject, null if none matches.
        self.rank = pa.array(best, mask=best == len(index.patterns))

    def _outside(
        self, canonical: pa.Array, address: pa.Array, planes: pa.Array
    ) -> tuple[pa.Array, pa.Array]:
        """Return which subjects begin with a plane and are not an address, and which do not."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        # The plane of an address is its first token: only the other subjects are cut.
        inside = pc.fill_null(canonical, False)
        rest = pc.indices_nonzero(pc.invert(inside))
        firsts = pc.replace_substring_regex(self.texts.take(rest), r"(?s)\..*", "")
        begins = np.array(inside.to_numpy(zero_copy_only=False), dtype=bool)
        begins[rest] = pc.is_in(firsts, value_set=planes).to_numpy(zero_copy_only=False)
        inside = pa.array(begins)
        return pc.and_(pc.invert(address), inside), pc.invert(inside)

    def text(self, name: str) -> pa.Array:
        """Return a part of the address of each subject."""
        return self.addresses.column(name).take(self.address)
