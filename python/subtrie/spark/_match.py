"""Subjects against patterns: the index is shipped to each worker once and opened there once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .. import SubjectTrie
from .._errors import SubtrieError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

# The index this worker process has open, by the digest of its patterns.
_opened: dict[str, Any] = {}


def match(df: DataFrame, subscriptions: DataFrame, subject: str = "subject") -> DataFrame:
    """The rows of ``df`` with who would hear its column ``subject``.

    ``subscriptions`` has a column ``pattern``; patterns are ranked by ``start`` where it has that
    column, else by text. Added: ``matched`` (array of patterns), and where that is empty
    ``nearest`` and ``differs_at`` (the zero-based token in which the nearest pattern differs).
    A subject no broker would carry matches nothing. The patterns pass through the driver, as text.
    """
    from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType

    added = [
        StructField("matched", ArrayType(StringType())),
        StructField("nearest", StringType()),
        StructField("differs_at", IntegerType()),
    ]
    schema = StructType([*df.schema.fields, *added])
    place = df.columns.index(subject)
    patterns = pattern_image(subscriptions)
    digest = hashlib.sha256(patterns).hexdigest()
    image = df.sparkSession.sparkContext.broadcast(patterns)

    def matched(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        trie = _open(digest, lambda: image.value)
        for batch in batches:
            for name, column in match_column(trie, batch.column(place)).items():
                batch = batch.append_column(name, column)
            yield batch

    return df.mapInArrow(matched, schema)


def pattern_image(subscriptions: DataFrame) -> bytes:
    """The distinct patterns, oldest first, as one text with a line each."""
    from pyspark.sql import functions as F

    oldest: tuple[str, ...] = tuple(c for c in ("log", "start") if c in subscriptions.columns)
    if oldest:
        ranked = subscriptions.groupBy("pattern").agg(F.min(F.struct(*oldest)).alias("first"))
        patterns = ranked.orderBy("first", "pattern").select("pattern")
    else:
        patterns = subscriptions.select("pattern").distinct().orderBy("pattern")
    return "\n".join(row[0] for row in patterns.toLocalIterator()).encode()


def match_column(trie: Any, subjects: pa.Array) -> dict[str, pa.Array]:
    """Who would hear each subject of a column: ``matched``, ``nearest``, ``differs_at``."""
    import pyarrow as pa

    matched: list[list[str] | None] = []
    nearest: list[str | None] = []
    differs: list[int | None] = []
    for text in subjects.to_pylist():
        found = None
        if text is not None:
            try:
                found = trie.explain(text)
            except SubtrieError:
                found = None
        if found is None:
            matched.append(None if text is None else [])
            nearest.append(None)
            differs.append(None)
            continue
        matched.append([str(hit.pattern) for hit in found.matches])
        miss = found.nearest[0] if found.nearest else None
        nearest.append(None if miss is None else str(miss.pattern))
        differs.append(None if miss is None else miss.differs_at)
    return {
        "matched": pa.array(matched, pa.list_(pa.string())),
        "nearest": pa.array(nearest, pa.string()),
        "differs_at": pa.array(differs, pa.int32()),
    }


def _open(digest: str, image: Any) -> Any:
    """The index of these patterns, built on first use in this process; an older one is let go."""
    if digest not in _opened:
        _opened.clear()
        trie = SubjectTrie(dialect="server")
        for pattern in image().decode().split("\n"):
            try:
                trie.add(pattern, None)
            except SubtrieError:
                continue  # seen in a SUB, though no broker takes it
        _opened[digest] = trie
    return _opened[digest]
