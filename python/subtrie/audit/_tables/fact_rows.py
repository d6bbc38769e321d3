"""Facts as the rows that Spark moves: a row for each kind and bucket.

Facts of one kind are an Arrow table. A row holds such a table as the bytes of an Arrow stream, so
its cost does not depend on the number of facts. Facts about one subject are in one bucket, the same
in every process; a bucket comes to one task.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .._schema import arrow_schema
from .fact_kinds import BUCKETED_BY, DRIVEN

if TYPE_CHECKING:
    import pyarrow as pa

#: The rows that Spark moves: the kind and the bucket of facts, their number, and their bytes.
FACT_ROWS: tuple[tuple[str, str], ...] = (
    ("fact", "string"),
    ("bucket", "int"),
    ("rows", "bigint"),
    ("data", "binary"),
)
#: The number of buckets: more of them need less memory at once, and more rows of Spark.
BUCKETS = 64
#: The bucket of facts about whole logs, which the driver reads.
FOR_DRIVER = -1


def fact_rows(parts: Iterable[tuple[str, int, pa.Table]]) -> pa.RecordBatch:
    """Return facts, each with their kind and their bucket, as rows of ``FACT_ROWS``."""
    import pyarrow as pa

    kinds, buckets, tables = list(zip(*parts, strict=True)) or [(), (), ()]
    columns = {
        "fact": pa.array(kinds, pa.string()),
        "bucket": pa.array(buckets, pa.int32()),
        "rows": pa.array([table.num_rows for table in tables], pa.int64()),
        "data": pa.array([stream_bytes(table) for table in tables], pa.binary()),
    }
    return pa.record_batch(columns, schema=arrow_schema(FACT_ROWS))


def rows_in(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, int, int, Any]]:
    """Yield kind, bucket, number and bytes of the facts in each row of ``FACT_ROWS``."""
    for batch in batches:
        columns = (batch.column(name) for name, _ in FACT_ROWS)
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


def in_buckets(kind: str, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Yield the facts of each bucket, and its number."""
    import numpy as np
    import pyarrow as pa

    if not table.num_rows:
        return
    if kind in DRIVEN:
        yield FOR_DRIVER, table
        return
    column = table[BUCKETED_BY.get(kind, "subject")]
    coded = column.combine_chunks().dictionary_encode()
    hashes = [zlib.crc32((text or "").encode()) % BUCKETS for text in coded.dictionary.to_pylist()]
    of_text = pa.array(hashes, pa.int32()).take(coded.indices)
    buckets = of_text.fill_null(0).to_numpy(zero_copy_only=False)
    order = np.argsort(buckets, kind="stable")
    sorted_rows = table.take(pa.array(order))
    numbers, starts = np.unique(buckets[order], return_index=True)
    for number, start, end in zip(numbers, starts, [*starts[1:], len(order)], strict=True):
        yield int(number), sorted_rows.slice(int(start), int(end - start))
