"""The nearest pattern of subjects that no pattern matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._core.errors import SubtrieError
from .._readers.log_reader import native

if TYPE_CHECKING:
    import pyarrow as pa


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
