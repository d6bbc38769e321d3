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
        planes: The known planes.
        requests: Which addresses are those of requests of a known plane.
        replies: Which are those of replies of one.
        addressed: Which subjects have such an address.
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
        self.planes = planes
        known = pa.array(list(planes), pa.string())
        canonical = pc.is_in(addresses.column("plane"), value_set=known)
        kind = addresses.column("kind")
        self.kind = kind.take(self.address)
        self.requests = pc.and_(canonical, pc.equal(kind, 1))
        self.replies = pc.and_(canonical, pc.equal(kind, 2))
        self.addressed = pc.or_(self.requests, self.replies).take(self.address)
        if not len(index.patterns):
            self.rows, self.numbers = np.zeros(0, np.int64), np.zeros(0, np.int32)
            self.rank = pa.nulls(len(self.texts), pa.int64())
            return
        self.rows, self.numbers = index.matches(self.texts)
        best = np.full(len(self.texts), len(index.patterns), dtype=np.int64)
        np.minimum.at(best, self.rows, index.ranks[self.numbers])
        #: The rank of the most specific route of each subject, null if none matches.
        self.rank = pa.array(best, mask=best == len(index.patterns))

    def text(self, name: str, at: pa.Array) -> pa.Array:
        """Return a part of the addresses of some subjects."""
        return self.addresses.column(name).take(self.address.take(at))
