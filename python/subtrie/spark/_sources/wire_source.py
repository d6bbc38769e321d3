"""The data source ``nats-wire``: captured traffic as the table ``events``, or as operations.

The path is a directory or file that ``subtrie tap`` wrote. Rows are events; a capture is then one
partition, because deliveries are matched across connections. ``complete`` (``true``) says that all
clients of the server were connected through the tap, so that messages without a delivery were
undelivered (see ``_capture_events``).

With the option ``rows`` = ``operations``, rows are operations with their headers and payloads; then
the path may also be the bytes of one direction as they were read from a socket, with the option
``conn`` (``client``, ``server_to_client``, ``route``, ``leaf``, ``route_legacy``). ``splits`` is
the number of partitions of a capture (default: the number of cores): each reads every n-th
connection, because a connection must be read in order. With ``reveal`` (``true``) secrets of
CONNECT, JWTs and seeds are not redacted. Each partition reads the capture once and keeps the
unfinished operations of its connections.

``mode`` is that of ``_file_source``.

Damage is a row whose ``reason`` is that of the ``WireError``, or ``torn`` (a stream ends inside an
operation), ``lost`` (bytes that the tap did not record), ``record`` (a damaged record).
"""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ..._core.redaction import redact_bytes, redacted
from ...audit._readers.capture_events import capture_events
from ...audit._readers.file_source import apply_mode, flag, rows_of, schema_of, to_batches
from ...audit._readers.log_files import shown_path
from ...audit._schema import EVENTS
from ...wire import (
    OperationRow,
    StreamError,
    read_capture_operations,
    read_operations,
    read_records,
)
from .._columns import spark_schema
from .file_reader import FileReader

if TYPE_CHECKING:
    import pyarrow as pa

CONNS = ("client", "server_to_client", "route", "leaf", "route_legacy")

#: ``conn`` and ``direction`` (``c2s``, ``s2c``) name the stream, ``pos`` is the offset of the
#: operation in it; ``json`` is the options of INFO and CONNECT; ``payload`` excludes the headers
#: of messages from a server to a client. ``reason`` and ``text`` describe damage.
COLUMNS: tuple[tuple[str, str], ...] = (
    ("file", "string"),
    ("conn", "bigint"),
    ("direction", "string"),
    ("time", "timestamp"),
    ("pos", "bigint"),
    ("op", "string"),
    ("account", "string"),
    ("origin", "string"),
    ("subject", "string"),
    ("reply", "string"),
    ("queue", "string"),
    ("queues", "array<string>"),
    ("sid", "string"),
    ("rsid", "string"),
    ("max", "bigint"),
    ("weight", "bigint"),
    ("header_size", "bigint"),
    ("size", "bigint"),
    ("status", "string"),
    ("headers", "array<struct<name:string,value:string>>"),
    ("payload", "binary"),
    ("json", "string"),
    ("message", "string"),
    ("reason", "string"),
    ("text", "string"),
)
SCHEMA = schema_of(COLUMNS)


class ConnectionShare(InputPartition):
    """Every ``count``-th connection of an input, beginning with ``number``."""

    def __init__(self, path: str, number: int, count: int) -> None:
        self.path = path
        self.number = number
        self.count = count


class WireReader(FileReader):
    """Plans the shares of each capture, and reads one."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        super().__init__(schema, options)
        self._conn = self._options.get("conn")
        if self._conn is not None and self._conn not in CONNS:
            raise ValueError(f"conn must be one of {', '.join(CONNS)}, not {self._conn!r}")
        self._reveal = flag(self._options, "reveal")
        self._splits = int(self._options.get("splits") or os.cpu_count() or 2)
        if self._splits < 1:
            raise ValueError("splits must be at least 1")

    def partitions(self) -> Sequence[InputPartition]:
        """Return the shares of all inputs."""
        count = 1 if self._conn is not None else self._splits
        paths = self._existing_paths()
        return [ConnectionShare(path, number, count) for path in paths for number in range(count)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one share."""
        share = cast(ConnectionShare, partition)
        rows = (self._row(share.path, item) for item in self._items(share))
        return to_batches(apply_mode(rows, self._mode), COLUMNS, self._names)

    def _items(self, share: ConnectionShare) -> Iterator[OperationRow | StreamError]:
        """Yield the operations and parse errors of one partition."""
        path = Path(share.path)
        if self._conn is not None:
            return read_operations(path, conn=self._conn)
        found = read_capture_operations(
            read_records(path), lambda conn: conn % share.count == share.number
        )
        # Damage that belongs to no connection is reported once.
        return (item for item in found if item.conn is not None or share.number == 0)

    def _row(self, path: str, item: OperationRow | StreamError) -> dict[str, Any]:
        """Return the columns of an operation or of damage."""
        stream = {"file": shown_path(path), "conn": item.conn, "direction": item.direction}
        if isinstance(item, StreamError):
            return {**stream, "pos": item.position, "reason": item.reason,
                    "text": item.message}  # fmt: skip
        parts = item.parts if self._reveal else redacted(item.parts)
        row = {**stream, **parts}
        row["pos"] = item.op.offset
        if isinstance(item.time, int):
            row["time"] = item.time // 1000
        if "json" in parts:
            row["json"] = json.dumps(parts["json"])
        if parts.get("headers") is not None:
            row["headers"] = [{"name": name, "value": value} for name, value in row["headers"]]
        if "payload" in self._names and "payload_b64" in parts:
            payload = b64decode(item.parts["payload_b64"])
            row["payload"] = payload if self._reveal else redact_bytes(payload)
        return row


class CapturePartition(InputPartition):
    """One capture, and its number among the inputs."""

    def __init__(self, path: str, number: int) -> None:
        self.path = path
        self.number = number


class CaptureEventsReader(FileReader):
    """Plans a partition for each capture, and reads the events of one."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        super().__init__(schema, options)
        if "conn" in self._options:
            raise ValueError("conn needs rows=operations: bytes of one direction are not events")
        self._complete = flag(self._options, "complete")

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition for each capture."""
        return [
            CapturePartition(path, number) for number, path in enumerate(self._existing_paths())
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one capture."""
        part = cast(CapturePartition, partition)
        rows = capture_events(part.path, part.number, complete=self._complete)
        return to_batches(apply_mode(rows, self._mode), EVENTS, self._names)


class WireSource(DataSource):
    """The data source ``nats-wire``."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "nats-wire"

    def schema(self) -> str:
        """Return the columns."""
        return spark_schema(EVENTS) if self._yields_events() else SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of these options."""
        if self._yields_events():
            return CaptureEventsReader(schema, self.options)
        return WireReader(schema, self.options)

    def _yields_events(self) -> bool:
        return rows_of(self.options, ("events", "operations")) == "events"
