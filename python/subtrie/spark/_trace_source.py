"""The data source ``nats-trace``: trace logs of nats-server as the table ``events``.

The path is a log, a shell pattern, or a directory, or in place of it ``paths`` (a JSON list).
Options: ``splitBytes`` (the size of the ranges in which a log is read, default 32 MiB), and
``mode``: with ``PERMISSIVE``, the default, a line that cannot be parsed is a row with ``reason``
and ``_corrupt_record``; ``DROPMALFORMED`` omits it, and ``FAILFAST`` ends the job. Logs compressed
with gzip or zstd are recognised by their first bytes, and read as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ._file_source import lower_keys, mode_of, paths_of
from ._log_files import log_files
from ._log_reader import SPLIT_BYTES, LogRange, divide, read_range, whole_logs
from ._schema import EVENTS, spark_schema

if TYPE_CHECKING:
    import pyarrow as pa


class RangePartition(InputPartition):
    """One range of a log."""

    def __init__(self, part: LogRange) -> None:
        self.part = part


class TraceSourceReader(DataSourceReader):
    """Plans the ranges, and reads one."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        options = lower_keys(options)
        self._names = schema.fieldNames()
        self._split_bytes = int(options.get("splitbytes") or SPLIT_BYTES)
        if self._split_bytes < 1:
            raise ValueError("splitBytes must be at least 1")
        self._mode = mode_of(options)
        self._paths = paths_of(options)

    def partitions(self) -> Sequence[InputPartition]:
        """Return the ranges of all logs."""
        logs = whole_logs(log_files(self._paths))
        return [RangePartition(p) for log in logs for p in divide(log, self._split_bytes)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one range."""
        import pyarrow.compute as pc

        part = cast(RangePartition, partition).part
        needed = (
            self._names
            if self._mode == "PERMISSIVE"
            else [*self._names, "reason", "file", "offset"]
        )
        for batch in read_range(part, list(dict.fromkeys(needed))):
            if self._mode != "PERMISSIVE":
                damaged = pc.is_valid(batch.column("reason"))
                if self._mode == "FAILFAST" and pc.any(damaged).as_py():
                    row = batch.filter(damaged).slice(0, 1).to_pylist()[0]
                    raise ValueError(f"{row['file']}, byte {row['offset']}: {row['reason']}")
                batch = batch.filter(pc.invert(damaged)).select(self._names)
            yield batch


class TraceSource(DataSource):
    """The data source ``nats-trace``."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "nats-trace"

    def schema(self) -> str:
        """Return the columns."""
        return spark_schema(EVENTS)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of these options."""
        return TraceSourceReader(schema, self.options)
