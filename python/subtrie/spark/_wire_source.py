"""``spark.read.format("nats-wire")``: captured traffic as rows, one for each operation.

The path is a folder or file that ``subtrie tap`` wrote, or, with the option ``conn`` (``client``,
``server_to_client``, ``route``, ``leaf``, ``route_legacy``), bytes of one direction as they were
read from a socket. Options: ``mode`` (see ``saved``), ``splits`` (partitions of a capture, as many
as cores unless given: each takes every n-th connection, because a connection is read in order),
``reveal`` (``true``: secrets of CONNECT, JWTs and seeds stand as they were sent). Each partition
reads the capture once and keeps the operations that are half-read on its connections.

Damage is a row: ``reason`` in the words of ``WireError``, or ``torn`` (a stream ends in the middle
of an operation), ``lost`` (bytes that the tap did not record), ``record`` (a damaged record).
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

from .._redaction import redact_bytes, redacted
from ..wire import Broken, Row, of_capture, read, records
from ._file_source import batches, kept, mode_of, paths_of, schema_of, spelled

if TYPE_CHECKING:
    import pyarrow as pa

CONNS = ("client", "server_to_client", "route", "leaf", "route_legacy")

#: ``conn`` and ``direction`` (``c2s``, ``s2c``) name the stream, ``pos`` is where in it the
#: operation begins; ``json`` is the options of INFO and CONNECT; ``payload`` includes no headers
#: where a server sends to a client. ``reason`` and ``text`` tell of damage.
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


class Share(InputPartition):
    """Every ``of``-th connection of an input, from ``number``."""

    def __init__(self, path: str, number: int, of: int) -> None:
        self.path = path
        self.number = number
        self.of = of


class WireReader(DataSourceReader):
    """Plans the shares of each capture, and reads one."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        self._names = schema.fieldNames()
        self._paths = paths_of(options)
        self._mode = mode_of(options)
        self._conn = options.get("conn")
        if self._conn is not None and self._conn not in CONNS:
            raise ValueError(f"conn must be one of {', '.join(CONNS)}, not {self._conn!r}")
        self._reveal = options.get("reveal", "false").lower() == "true"
        self._splits = int(options.get("splits") or os.cpu_count() or 2)
        if self._splits < 1:
            raise ValueError("splits must be at least 1")

    def partitions(self) -> Sequence[InputPartition]:
        of = 1 if self._conn is not None else self._splits
        for path in self._paths:
            os.stat(path)  # a missing input fails here, not in a worker
        return [Share(path, number, of) for path in self._paths for number in range(of)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        share = cast(Share, partition)
        rows = (self._row(share.path, item) for item in self._items(share))
        return batches(kept(rows, self._mode), COLUMNS, self._names)

    def _items(self, share: Share) -> Iterator[Row | Broken]:
        path = Path(share.path)
        if self._conn is not None:
            return read(path, conn=self._conn)
        found = of_capture(records(path), lambda conn: conn % share.of == share.number)
        # What belongs to no connection is told once.
        return (item for item in found if item.conn is not None or share.number == 0)

    def _row(self, path: str, item: Row | Broken) -> dict[str, Any]:
        place = {"file": path, "conn": item.conn, "direction": item.direction}
        if isinstance(item, Broken):
            return {**place, "pos": item.position, "reason": item.reason,
                    "text": spelled(item.message)}  # fmt: skip
        parts = item.parts if self._reveal else redacted(item.parts)
        row = {**place, **{name: spelled(value) for name, value in parts.items()}}
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


class WireSource(DataSource):
    """The data source ``nats-wire``."""

    @classmethod
    def name(cls) -> str:
        return "nats-wire"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        return WireReader(schema, dict(self.options))
