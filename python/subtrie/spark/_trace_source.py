"""The data source ``nats-trace``: a broker's trace log as rows, read in byte ranges.

Options: ``splitBytes`` (the most bytes that a partition reads, default 32 MiB), ``splits`` (the
fewest partitions of a log, default the number of cores, so that a small log uses all of them), and
in place of a path ``paths`` (a JSON list). A path is a local file, or a URI that ``pyarrow.fs`` can
open. The columns are ``_row_batch.COLUMNS``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ._byte_ranges import ranges
from ._file_source import lower_keys
from ._log_files import log_size, open_log, resolve_path
from ._row_batch import SCHEMA
from ._trace_parser import rows_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: The default of ``splitBytes``: enough lines to amortise the start of a task, few enough to keep
#: all cores busy until the end.
SPLIT_BYTES = 32 * 1024 * 1024


class ByteRange(InputPartition):
    """The lines of one log that begin in ``[start, end)``."""

    def __init__(self, log: int, path: str, start: int, end: int, size: int) -> None:
        self.log = log
        self.path = path
        self.start = start
        self.end = end
        self.size = size  # of the log when the job was planned; later lines are not read


def plan_ranges(paths: Sequence[str], *, at_least: int, target: int) -> list[ByteRange]:
    """Return byte ranges that cover the logs."""
    found = []
    for number, path in enumerate(map(resolve_path, paths)):
        size = log_size(path)
        for start, end in ranges(size, at_least=at_least, target=target):
            found.append(ByteRange(number, path, start, end, size))
    return found or [ByteRange(0, resolve_path(paths[0]), 0, 0, 0)]


def read_range(part: ByteRange, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one byte range as Arrow."""
    with open_log(part.path) as stream:
        for batch in rows_of(stream, part.log, part.start, part.end, part.size):
            yield batch.to_arrow(names)


class TraceSourceReader(DataSourceReader):
    """Plans the byte ranges, and reads one."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        options = lower_keys(options)
        self._names = schema.fieldNames()
        self._paths = [options["path"]] if "path" in options else json.loads(options["paths"])
        self._target = int(options.get("splitbytes") or SPLIT_BYTES)
        self._at_least = int(options.get("splits") or os.cpu_count() or 2)

    def partitions(self) -> Sequence[InputPartition]:
        """Return the byte ranges of all logs."""
        return plan_ranges(self._paths, at_least=self._at_least, target=self._target)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one byte range."""
        return read_range(cast(ByteRange, partition), self._names)


class TraceSource(DataSource):
    """The data source ``nats-trace``."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "nats-trace"

    def schema(self) -> str:
        """Return the columns."""
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of these options."""
        return TraceSourceReader(schema, self.options)


def read_logs(
    spark: SparkSession, paths: Sequence[str], *, split_bytes: int = SPLIT_BYTES
) -> DataFrame:
    """Return the rows of these logs; the column ``log`` is the index of each in ``paths``.

    The rows are those of ``nats-trace``, without the processes that Spark starts to plan a data
    source.
    """
    cores = spark.sparkContext.defaultParallelism
    parts = plan_ranges(paths, at_least=cores, target=split_bytes)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the byte ranges whose numbers are given."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_range(parts[number])

    return spark.range(0, len(parts), 1, len(parts)).mapInArrow(read, SCHEMA)
