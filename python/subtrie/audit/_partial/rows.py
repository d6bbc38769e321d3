"""A partial as rows that another process or a file takes: one for each kind and bucket.

The rows of one kind are an Arrow table. What is moved holds such a table as the bytes of an Arrow
stream, so its cost does not depend on the number of rows. Rows about one subject are in one bucket,
the same in every process.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .._schema import arrow_schema
from .kinds import KINDS

if TYPE_CHECKING:
    import pyarrow as pa

#: What is moved: the kind and the bucket of rows, their number, and their bytes.
PARTIAL_ROWS: tuple[tuple[str, str], ...] = (
    ("kind", "string"),
    ("bucket", "int"),
    ("rows", "bigint"),
    ("data", "binary"),
)
#: The number of buckets: more of them need less memory at once, and more rows to move.
BUCKETS = 64
#: In place of the number of a bucket: the head.
IN_HEAD = -1
#: A kind, a bucket, and its rows.
Piece = tuple[str, int, "pa.Table"]


def bucket_rows(pieces: Iterable[Piece]) -> pa.RecordBatch:
    """Return rows of kinds and buckets as ``PARTIAL_ROWS``."""
    import pyarrow as pa

    kinds, buckets, tables = list(zip(*pieces, strict=True)) or [(), (), ()]
    columns = {
        "kind": pa.array(kinds, pa.string()),
        "bucket": pa.array(buckets, pa.int32()),
        "rows": pa.array([table.num_rows for table in tables], pa.int64()),
        "data": pa.array([stream_bytes(table) for table in tables], pa.binary()),
    }
    return pa.record_batch(columns, schema=arrow_schema(PARTIAL_ROWS))


def rows_in(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, int, int, Any]]:
    """Yield kind, bucket, number and bytes of the rows in each of ``PARTIAL_ROWS``."""
    for batch in batches:
        columns = (batch.column(name) for name, _ in PARTIAL_ROWS)
        for kind, bucket, count, data in zip(*columns, strict=True):
            yield kind.as_py(), bucket.as_py(), count.as_py(), data.as_buffer()


def stream_bytes(table: pa.Table) -> bytes:
    """Return a table as an Arrow stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def batches_of(data: Any) -> pa.RecordBatchReader:
    """Open the bytes of an Arrow stream."""
    import pyarrow as pa

    return pa.ipc.open_stream(data, options=pa.ipc.IpcReadOptions(use_threads=False))


def in_buckets(kind: str, table: pa.Table) -> Iterator[Piece]:
    """Yield the rows of each bucket."""
    import numpy as np
    import pyarrow as pa

    if not table.num_rows:
        return
    by = KINDS[kind].bucketed_by
    if by is None:
        yield kind, IN_HEAD, table
        return
    coded = table[by].combine_chunks().dictionary_encode()
    hashes = [zlib.crc32((text or "").encode()) % BUCKETS for text in coded.dictionary.to_pylist()]
    of_text = pa.array(hashes, pa.int32()).take(coded.indices)
    buckets = of_text.fill_null(0).to_numpy(zero_copy_only=False)
    order = np.argsort(buckets, kind="stable")
    sorted_rows = table.take(pa.array(order))
    numbers, starts = np.unique(buckets[order], return_index=True)
    for number, start, end in zip(numbers, starts, [*starts[1:], len(order)], strict=True):
        yield kind, int(number), sorted_rows.slice(int(start), int(end - start))
