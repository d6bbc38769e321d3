"""The data source ``nats-trace``: trace logs of nats-server as the table ``events``.

The path is a log, a shell pattern, or a directory, or in place of it ``paths`` (a JSON list).
Options: ``splitBytes`` (the size of the ranges in which a log is read, default 64 MiB), and
``mode``: with ``PERMISSIVE``, the default, a line that cannot be parsed is a row with ``reason``
and ``_corrupt_record``; ``DROPMALFORMED`` omits it, and ``FAILFAST`` ends the job. Logs compressed
with gzip or zstd are recognised by their first bytes, and read as a whole. ``_trace_stream`` has
the reader of ``spark.readStream``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from ...audit._partial.kinds import PARTIAL_ROWS
from ...audit._readers.file_source import damage_kept
from ...audit._readers.log_files import log_files
from ...audit._readers.log_reader import LogRange, divide, read_range, split_bytes_of, whole_logs
from ...audit._schema import EVENTS
from .._columns import spark_schema
from .file_reader import FileReader

if TYPE_CHECKING:
    import pyarrow as pa


class RangePartition(InputPartition):
    """One range of a log."""

    def __init__(self, part: LogRange) -> None:
        self.part = part


class TraceSourceReader(FileReader):
    """Plans the ranges, and reads one."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        super().__init__(schema, options)
        self._split_bytes = split_bytes_of(self._options)

    def partitions(self) -> Sequence[InputPartition]:
        """Return the ranges of all logs."""
        logs = whole_logs(log_files(self._paths))
        return [RangePartition(p) for log in logs for p in divide(log, self._split_bytes)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one range."""
        part = cast(RangePartition, partition).part
        yield from damage_kept(lambda names: read_range(part, names), self._names, self._mode)


class TraceSource(DataSource):
    """The data source ``nats-trace``."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "nats-trace"

    def schema(self) -> str:
        """Return the columns."""
        return spark_schema(PARTIAL_ROWS if self.options.get("rows") == "partials" else EVENTS)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of these options."""
        return TraceSourceReader(schema, self.options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of logs that grow."""
        from .trace_stream import TraceStreamReader

        return TraceStreamReader(schema, self.options)
