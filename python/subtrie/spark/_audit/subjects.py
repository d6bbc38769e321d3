"""The distinct subjects of a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import microbus
from .pattern_index import PatternIndex

if TYPE_CHECKING:
    import pyarrow as pa


class Subjects:
    """Distinct subjects, their addresses, and the patterns that match them.

    Attributes:
        published: The number of the subject of each row of messages.
        delivered: The number of the subject of each row of deliveries.
    """

    def __init__(
        self,
        published: pa.ChunkedArray,
        delivered: pa.ChunkedArray,
        index: PatternIndex,
        planes: Sequence[str],
    ) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        both = pa.concat_arrays([*published.chunks, *delivered.chunks]).dictionary_encode("encode")
        self.published = both.indices.slice(0, len(published))
        self.delivered = both.indices.slice(len(published))
        self.texts = both.dictionary
        self.index = index
        decoded = pa.array(microbus.decode_batch(self.texts))
        self.columns = {field.name: decoded.field(field.name) for field in decoded.type}
        known = pa.array(list(planes), pa.string())
        self.kind = self.columns["kind"]
        canonical = pc.is_in(self.text("plane"), value_set=known)
        address = pc.greater(self.kind, 0)
        self.request = pc.and_(canonical, pc.equal(self.kind, 1))
        self.reply = pc.and_(canonical, pc.equal(self.kind, 2))
        self.malformed, self.other = self._outside(canonical, address, known)
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
        """Return a part of the address of each subject as a string."""
        import pyarrow as pa

        return self.columns[name].cast(pa.string())
