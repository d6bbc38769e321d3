"""The data source ``nats-monitor``: saved monitoring responses as events, or as subscriptions.

The path is a file with a response of ``/connz?subs=detail``, ``/subsz?subs=1`` or
``/routez?subs=detail``, a directory of such files (``*.json``), or a shell pattern. Options:
``mode`` (see ``_file_source``), ``rows`` (``events``, the default: a row for each connection and
subscription; ``subscriptions``: the columns below), ``reveal``. A file is one partition and is read
as a whole: a server sends pages of 1,024 entries by default. A file that is not such a response is
damage (``bad json``, ``monitor``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ..._core.errors import WireError
from ...audit._readers.file_source import apply_mode, flag, rows_of, schema_of, to_batches
from ...audit._readers.log_files import shown_path
from ...audit._readers.snapshot_events import snapshot_events
from ...audit._schema import EVENTS
from ...wire import monitor
from .._columns import spark_schema
from .file_reader import FileReader

if TYPE_CHECKING:
    import pyarrow as pa

#: ``endpoint`` is ``connz``, ``subsz`` or ``routez``; ``now`` the time of the server, as it wrote
#: it; ``complete`` says whether this page is the only one. The rest is
#: ``monitor.SubscriptionRecord``.
COLUMNS: tuple[tuple[str, str], ...] = (
    ("file", "string"),
    ("endpoint", "string"),
    ("now", "string"),
    ("complete", "boolean"),
    ("server", "string"),
    ("kind", "string"),
    ("id", "bigint"),
    ("name", "string"),
    ("user", "string"),
    ("account", "string"),
    ("subject", "string"),
    ("queue", "string"),
    ("sid", "string"),
    ("delivered", "bigint"),
    ("max", "bigint"),
    ("reason", "string"),
    ("text", "string"),
)
SCHEMA = schema_of(COLUMNS)
KINDS = ("events", "subscriptions")


class SnapshotFile(InputPartition):
    """One saved response, and its number among the inputs."""

    def __init__(self, path: str, number: int = 0) -> None:
        self.path = path
        self.number = number


class MonitorReader(FileReader):
    """Plans a partition for each file, and reads one."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        super().__init__(schema, options)
        self._reveal = flag(self._options, "reveal")
        self._kind = rows_of(self._options, KINDS)

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition per file."""
        found: list[str] = []
        for path in self._existing_paths():
            saved = sorted(Path(path).glob("*.json")) if os.path.isdir(path) else [path]
            if not saved:
                raise FileNotFoundError(f"no *.json in {path}")
            found += map(str, saved)
        return [SnapshotFile(path, number) for number, path in enumerate(found)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one file."""
        file = cast(SnapshotFile, partition)
        if self._kind == "events":
            rows = snapshot_events(file.path, file.number)
            return to_batches(apply_mode(rows, self._mode), EVENTS, self._names)
        rows = _rows(file.path, self._reveal)
        return to_batches(apply_mode(rows, self._mode), COLUMNS, self._names)


def _rows(path: str, reveal: bool) -> Iterator[dict[str, Any]]:
    """Yield a row per subscription, or one row with the reason if the file is damaged."""
    try:
        page = monitor.read(path, reveal=reveal)
    except WireError as error:
        yield {"file": shown_path(path), "reason": error.reason, "text": str(error)}
        return
    common = {
        "file": shown_path(path),
        "endpoint": page.endpoint,
        "now": page.now,
        "complete": page.complete,
    }
    for found in page.subscriptions:
        parts = {field.name: getattr(found, field.name) for field in fields(found)}
        yield {**common, **parts}


class MonitorSource(DataSource):
    """The data source ``nats-monitor``."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "nats-monitor"

    def schema(self) -> str:
        """Return the columns."""
        events = rows_of(self.options, KINDS) == "events"
        return spark_schema(EVENTS) if events else SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of these options."""
        return MonitorReader(schema, self.options)
