"""The data source ``nats-trace`` for ``spark.readStream``: logs that grow and are rotated.

Options, beside those of ``spark.read``: ``complete`` (``true`` says that the logs have ended) and
``failOnDataLoss`` (``false`` goes on where a file was removed before all of it was read). With the
private option ``rows=partials`` the rows are the partials of the audit, with the row ``range``
of each range.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from ...audit._partial.kinds import complete
from ...audit._partial.partial import Partial
from ...audit._partial.parts import Reading, partials_of_part
from ...audit._readers.file_source import damage_kept, flag, given_paths, lower_keys, mode_of
from ...audit._readers.growing_log import advance, blocks, empty_offset, ranges
from ...audit._readers.log_files import resolve_path
from ...audit._readers.log_reader import LogRange, read_range, split_bytes_of

if TYPE_CHECKING:
    import pyarrow as pa

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
except ImportError:  # before Spark 4.2

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Nothing: Spark itself ends such a query."""


class StreamPartition(InputPartition):
    """One range of a log, and the files that it is in."""

    def __init__(self, part: LogRange, files: list[dict[str, Any]]) -> None:
        self.part = part
        self.files = files


class TraceStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Finds how far the logs can be read, and reads a range."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        options = lower_keys(options)
        self._names = schema.fieldNames()
        self._split_bytes = split_bytes_of(options)
        self._mode = mode_of(options)
        self._paths = [resolve_path(path) for path in given_paths(options)]
        self._complete = flag(options, "complete")
        self._strict = flag(options, "failOnDataLoss", "true")
        self._reading = None
        if options.get("rows") == "partials":
            self._reading = Reading(
                window=int(options["window"]) if options.get("window") else None,
                follow=flag(options, "follow"),
                answers=flag(options, "answers"),
                heads=flag(options, "heads"),
            )
        noted = json.loads(options.get("noted") or "[]")
        self._noted = [(digest, inode) for digest, inode in noted]
        self._last: dict[str, Any] | None = None
        self._bound: dict[str, Any] | None = None
        self._available_now = False

    def initialOffset(self) -> dict[str, Any]:
        """Return the offset before the first line."""
        return empty_offset()

    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: object = None
    ) -> dict[str, Any]:
        """Return the offset up to which the logs can be read.

        Spark before 4.2 does not give the start; after a restart the logs are then read from their
        first line on to find it, or it is found when the interrupted batch is repeated.
        """
        if self._bound is not None:
            return self._bound
        begin = start or self._last or empty_offset()
        self._last = advance(
            self._paths,
            begin,
            complete=self._complete,
            strict=self._strict,
            # Later the offsets know the files.
            noted=() if begin["logs"] else self._noted,
        )
        if self._available_now:
            self._bound = self._last
        return self._last

    def prepareForTriggerAvailableNow(self) -> None:
        """Read what there is at the first call of ``latestOffset``, and no more."""
        self._available_now = True

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the ranges between two offsets."""
        self._last = end
        parts = ranges(start, end, self._split_bytes, strict=self._strict)
        return [StreamPartition(part, files) for part, files in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one range."""
        part, files = cast(StreamPartition, partition).part, cast(StreamPartition, partition).files

        def lines() -> Iterator[Any]:
            """Return the bytes from the start of the range on."""
            return blocks(files, part.start, strict=self._strict)

        if self._reading is None:
            yield from damage_kept(
                lambda names: read_range(part, names, blocks=lines()), self._names, self._mode
            )
            return
        for partial in partials_of_part(part, self._reading, lines):
            yield partial.to_rows()
        yield _range_of(part).to_rows()

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: the logs belong to the server."""

    def stop(self) -> None:
        """Do nothing: no file stays open."""


def _range_of(part: LogRange) -> Partial:
    """Return the partial that says that a range of a log was read."""
    import pyarrow as pa

    row = {"server": [part.server], "position": [part.start], "size": [part.end or part.start]}
    found = Partial()
    found.add_list("range", complete("range", pa.table(row)))
    return found
