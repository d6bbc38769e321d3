"""Match a column of subjects with patterns; each worker builds the index once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from .. import Pattern, SubjectTrie
from .._core.errors import SubtrieError
from ..audit._tables.pattern_index import nearest_of
from ._columns import text_column
from ._sessions.shipped_files import send_file, worker_path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: The columns that ``match`` adds.
ADDED = (("matched", "array<string>"), ("nearest", "string"), ("differs_at", "int"))

# The index of this worker process, by the digest of its patterns.
_opened: dict[str, tuple[Any, list[str]]] = {}


def match(
    df: DataFrame, subscriptions: DataFrame | Iterable[str], subject: str = "subject"
) -> DataFrame:
    """Add the patterns that match each subject, or the nearest pattern.

    The added columns are ``matched`` (array of patterns) and, if that is empty, ``nearest`` and
    ``differs_at`` (the zero-based token in which the nearest pattern differs). A subject that no
    broker accepts has no matches. Cost: the distinct patterns pass through the driver as text, and
    each worker builds an index of them once.

    Args:
        df: The rows.
        subscriptions: The patterns, or a DataFrame with the column ``pattern``. Patterns are
            ordered by its columns ``server`` and ``start`` if it has them, else by text.
        subject: The column of ``df`` with the subjects.

    Raises:
        PatternError: A pattern is not one that nats-server accepts.
        ValueError: A column is missing, or does not hold strings, or a pattern is null.
    """
    from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType

    kinds = {"array<string>": ArrayType(StringType()), "string": StringType(), "int": IntegerType()}
    added = [StructField(name, kinds[kind]) for name, kind in ADDED]
    schema = StructType([*df.schema.fields, *added])
    position = text_column(df, subject)
    patterns = pattern_lines(subscriptions)
    digest = hashlib.sha256(patterns).hexdigest()
    shipped = f"subtrie-{digest[:16]}.patterns"
    send_file(df.sparkSession, shipped, patterns)

    def matched(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Add the columns to each batch."""
        index = _open(digest, lambda: _read_shipped(shipped))
        for batch in batches:
            for name, column in match_column(*index, batch.column(position)).items():
                batch = batch.append_column(name, column)
            yield batch

    return df.mapInArrow(matched, schema)


def pattern_lines(subscriptions: DataFrame | Iterable[str]) -> bytes:
    """Return the distinct patterns, oldest first, one per line.

    Raises:
        PatternError: A pattern is not one that nats-server accepts.
        ValueError: The column ``pattern`` is missing or has a null, or one string was given.
    """
    from pyspark.sql import functions as F

    if isinstance(subscriptions, str):
        raise ValueError("the patterns must be a list of strings or a DataFrame, not one string")
    table = cast("DataFrame", subscriptions)
    if not hasattr(table, "columns"):
        return _lines(dict.fromkeys(subscriptions))  # type: ignore[arg-type]
    text_column(table, "pattern")
    oldest: tuple[str, ...] = tuple(c for c in ("server", "start") if c in table.columns)
    if oldest:
        ranked = table.groupBy("pattern").agg(F.min(F.struct(*oldest)).alias("first"))
        patterns = ranked.orderBy("first", "pattern").select("pattern")
    else:
        patterns = table.select("pattern").distinct().orderBy("pattern")
    listed = [row[0] for row in patterns.toLocalIterator()]
    if None in listed:
        raise ValueError("the column 'pattern' has a row that is null; leave such rows out")
    return _lines(listed)


def _lines(patterns: Iterable[str]) -> bytes:
    """Return patterns that are valid, one a line."""
    return "\n".join(Pattern(text, dialect="server") for text in patterns).encode()


def match_column(trie: Any, patterns: Sequence[str], subjects: pa.Array) -> dict[str, pa.Array]:
    """Return the columns ``matched``, ``nearest`` and ``differs_at`` of a column of subjects.

    Args:
        trie: The index.
        patterns: Its patterns by id.
        subjects: The column. Each distinct subject is looked up once.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pa.array(patterns, pa.string())
    coded = subjects.dictionary_encode()
    distinct = coded.dictionary
    found = trie.match_batch(distinct)
    ids = pa.array(np.frombuffer(found.ids, np.int32))
    offsets = pa.array(np.asarray(found.offsets)).cast(pa.int32())
    numbers, places = nearest_of(trie, distinct)
    columns = {
        "matched": pa.ListArray.from_arrays(offsets, texts.take(ids)),
        "nearest": texts.take(numbers),
        "differs_at": places,
    }
    return {name: pc.take(column, coded.indices) for name, column in columns.items()}


def _read_shipped(name: str) -> bytes:
    """Return a file that the driver sent."""
    with open(worker_path(name), "rb") as file:
        return file.read()


def _open(digest: str, read_patterns: Callable[[], bytes]) -> tuple[Any, list[str]]:
    """Return the index of these patterns, built on first use in this process, and the patterns.

    The index of other patterns is dropped.
    """
    if digest not in _opened:
        _opened.clear()
        trie: Any = SubjectTrie(dialect="server")
        patterns = []
        for pattern in read_patterns().decode().split("\n"):
            try:
                trie.add(pattern, None)
            except SubtrieError:
                continue  # the pattern of a SUB that no broker accepts
            patterns.append(pattern)
        _opened[digest] = (trie, patterns)
    return _opened[digest]
