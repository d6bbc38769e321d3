"""``spark.read.format("nats-trace")``: a broker's trace log as rows, read in byte ranges.

Options: ``splitBytes`` (the most a partition reads, 32 MiB unless given), ``splits`` (the fewest
partitions of a log, as many as cores unless given); in place of a path, ``paths`` (a JSON list).
A small file is cut as well, so that no core idles.
Columns: ``row_batch.COLUMNS``. A path is a local file, or a URI that ``pyarrow.fs`` can open.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ._byte_ranges import ranges
from ._log_files import open_log, settled, size_of
from ._row_batch import SCHEMA
from ._trace_parser import rows_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SPLIT_BYTES = 32 * 1024 * 1024


class ByteRange(InputPartition):
    """The lines of one log that begin in ``[start, end)``."""

    def __init__(self, log: int, path: str, start: int, end: int, size: int) -> None:
        self.log = log
        self.path = path
        self.start = start
        self.end = end
        self.size = size  # of the whole log when the job was planned: what is appended is not read


def planned(paths: Sequence[str], *, at_least: int, target: int) -> list[ByteRange]:
    """The byte ranges that cover these logs."""
    found = []
    for number, path in enumerate(map(settled, paths)):
        size = size_of(path)
        for start, end in ranges(size, at_least=at_least, target=target):
            found.append(ByteRange(number, path, start, end, size))
    return found or [ByteRange(0, settled(paths[0]), 0, 0, 0)]


def read_range(part: ByteRange, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of one byte range, as Arrow."""
    with open_log(part.path) as stream:
        for batch in rows_of(stream, part.log, part.start, part.end, part.size):
            yield batch.to_arrow(names)


class TraceReader(DataSourceReader):
    """Plans the byte ranges, and reads one."""

    def __init__(self, schema: StructType, options: dict[str, str]) -> None:
        self._names = schema.fieldNames()
        self._paths = [options["path"]] if "path" in options else json.loads(options["paths"])
        self._target = int(options.get("splitBytes") or SPLIT_BYTES)
        self._at_least = int(options.get("splits") or os.cpu_count() or 2)

    def partitions(self) -> Sequence[InputPartition]:
        return planned(self._paths, at_least=self._at_least, target=self._target)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_range(cast(ByteRange, partition), self._names)


class TraceSource(DataSource):
    """The data source ``nats-trace``."""

    @classmethod
    def name(cls) -> str:
        return "nats-trace"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        return TraceReader(schema, dict(self.options))


def read_logs(
    spark: SparkSession, paths: Sequence[str], *, split_bytes: int = SPLIT_BYTES
) -> DataFrame:
    """The rows of these logs; ``log`` counts them in the order given.

    The same as ``nats-trace`` of the session, without the processes Spark starts to plan a source.
    """
    cores = spark.sparkContext.defaultParallelism
    parts = planned(paths, at_least=cores, target=split_bytes)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_range(parts[number])

    return spark.range(0, len(parts), 1, len(parts)).mapInArrow(read, SCHEMA)
