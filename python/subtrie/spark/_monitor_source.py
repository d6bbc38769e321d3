"""``spark.read.format("nats-monitor")``: saved answers of a server as rows, one a subscription.

The path is a file with what ``/connz?subs=detail``, ``/subsz?subs=1`` or ``/routez?subs=detail``
answered, a folder of such files (``*.json``), or a name with stars. Options: ``mode`` (see
``saved``), ``reveal``. A file is a partition and is read whole: a server answers in pages of 1,024
entries unless asked for more. A file that holds no such answer is damage (``bad json``,
``monitor``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from .._errors import WireError
from ..wire import monitor
from ._file_source import batches, kept, mode_of, paths_of, schema_of, spelled

if TYPE_CHECKING:
    import pyarrow as pa

#: ``endpoint`` is ``connz``, ``subsz`` or ``routez``; ``now`` the server's own time, as it wrote
#: it; ``complete``: is this answer all of it? The rest is ``monitor.SubscriptionRecord``.
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


class Answer(InputPartition):
    """One saved answer."""

    def __init__(self, path: str) -> None:
        self.path = path


class MonitorReader(DataSourceReader):
    """Plans a partition for each file, and reads one."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        self._names = schema.fieldNames()
        self._paths = paths_of(options)
        self._mode = mode_of(options)
        self._reveal = options.get("reveal", "false").lower() == "true"

    def partitions(self) -> Sequence[InputPartition]:
        found: list[InputPartition] = []
        for path in self._paths:
            if os.path.isdir(path):
                found += [Answer(str(file)) for file in sorted(Path(path).glob("*.json"))]
            else:
                os.stat(path)  # a missing file fails here, not in a worker
                found.append(Answer(path))
        if not found:
            raise FileNotFoundError(f"no *.json in {', '.join(self._paths)}")
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        rows = _rows(cast(Answer, partition).path, self._reveal)
        return batches(kept(rows, self._mode), COLUMNS, self._names)


def _rows(path: str, reveal: bool) -> Iterator[dict[str, Any]]:
    try:
        page = monitor.read(path, reveal=reveal)
    except WireError as error:
        yield {"file": path, "reason": error.reason, "text": spelled(str(error))}
        return
    place = {"file": path, "endpoint": page.endpoint, "now": page.now, "complete": page.complete}
    for found in page.subscriptions:
        parts = {field.name: spelled(getattr(found, field.name)) for field in fields(found)}
        yield {**place, **parts}


class MonitorSource(DataSource):
    """The data source ``nats-monitor``."""

    @classmethod
    def name(cls) -> str:
        return "nats-monitor"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        return MonitorReader(schema, dict(self.options))
