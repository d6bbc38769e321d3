"""The reasons of undelivered subjects: the nearest pattern, or an inactive subscription."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .nearest import nearest_of
from .pattern_index import PatternIndex

if TYPE_CHECKING:
    import pyarrow as pa


def explained(
    missed: pa.Table, at: pa.Array, lost: pa.Table, index: PatternIndex, rows: Any, numbers: Any
) -> pa.Table:
    """Add the nearest pattern of each subject, and whether it was subscribed.

    Args:
        missed: The undelivered subjects.
        at: The number of each of them among all subjects.
        lost: Server, subject and position of each message.
        index: The patterns.
        rows: For each match, the number of its subject, ascending.
        numbers: For each match, the number of its pattern.
    """
    import numpy as np
    import pyarrow as pa

    positions: dict[str, list[tuple[str, int]]] = {}
    for server, subject, position in zip(*(c.to_pylist() for c in lost.columns), strict=True):
        positions.setdefault(subject, []).append((server, position))
    place = at.to_numpy(zero_copy_only=False)
    starts, ends = np.searchsorted(rows, place), np.searchsorted(rows, place, side="right")
    near = _nearest(index, missed["subject"].filter(pa.array(starts == ends)))
    nearest: list[str | None] = []
    differs: list[int | None] = []
    inactive: list[bool] = []
    for subject, start, end in zip(missed["subject"].to_pylist(), starts, ends, strict=True):
        matching = [int(n) for n in numbers[start:end]]
        if matching:
            nearest.append(index.patterns[min(matching)].as_py())
            differs.append(None)
            sent = positions.get(subject, ())
            inactive.append(
                not all(any(index.was_active(n, *place) for n in matching) for place in sent)
            )
            continue
        pattern, token = near[subject]
        nearest.append(pattern)
        differs.append(token)
        inactive.append(False)
    added = {"nearest": pa.array(nearest, pa.string()), "differs_at": pa.array(differs, pa.int32()),
             "subscription_inactive": pa.array(inactive, pa.bool_())}  # fmt: skip
    for name, column in added.items():
        missed = missed.append_column(name, column)
    return missed


def _nearest(
    index: PatternIndex, subjects: pa.ChunkedArray
) -> dict[str, tuple[str | None, int | None]]:
    """Return the nearest pattern of each subject, and the token in which it differs."""
    if not len(subjects):
        return {}
    numbers, places = nearest_of(index.trie, index.as_text(subjects))
    names = index.patterns.take(numbers).to_pylist()
    found = zip(names, places.to_pylist(), strict=True)
    return dict(zip(subjects.to_pylist(), found, strict=True))
