"""Patterns with their index as a file, which every worker of a session maps."""

from __future__ import annotations

import hashlib
import mmap
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..audit._answers.described import IndexedPatterns, index_image
from ..audit._tables.pattern_index import PatternIndex, pattern_table
from ._sessions.shipped_files import send_file, worker_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The indexes that this process has open, by the names of their files: a few runs of a session.
_opened: OrderedDict[str, Any] = OrderedDict()
_MOST_OPENED = 6


@dataclass(frozen=True)
class ShippedPatterns(IndexedPatterns):
    """Patterns whose index is a file of the workers."""

    index: PatternIndex | None  # type: ignore[assignment]  # opened by each worker
    name: str
    patterns: tuple[str, ...]

    def open(self) -> PatternIndex:
        """Return the index; in a worker."""
        if self.name not in _opened:
            while len(_opened) >= _MOST_OPENED:
                _opened.popitem(last=False)
            with open(worker_path(self.name), "rb") as file:
                image = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            _opened[self.name] = PatternIndex(image, pattern_table(self.patterns))
        return _opened[self.name]  # type: ignore[no-any-return]


def ship_patterns(spark: SparkSession, patterns: Iterable[str]) -> ShippedPatterns:
    """Send an index of patterns to the workers of a session."""
    image, accepted = index_image(patterns)
    name = f"subtrie-answers-{hashlib.sha256(image).hexdigest()[:16]}.image"
    send_file(spark, name, image)
    return ShippedPatterns(None, name, tuple(accepted))
