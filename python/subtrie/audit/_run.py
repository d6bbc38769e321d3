"""The result of an audit."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from ._readers.log_files import shown_path
from ._runs.run_folder import (
    MANIFEST,
    RunFolder,
    file_in,
    read_columns,
    read_manifest,
    rows_of_table,
)
from ._schema import TABLES, TABLES_VERSION

if TYPE_CHECKING:
    import os

    import pyarrow as pa


#: The counts of lines and windows that each result has.
_COUNTS = (
    *("lines", "operations", "payloads", "server", "unparseable_lines"),
    *("ambiguous", "unmatched", "forwarded"),
)


class Run:
    """The result of an audit: its counts, and its tables, each a Parquet file.

    Without an output directory the files are removed when the ``with`` block of this object ends.

    Attributes:
        summary: The counts of lines and windows, and the list of planes.
    """

    summary: dict[str, Any]

    @classmethod
    def of_folder(cls, summary: dict[str, Any], folder: RunFolder) -> Self:
        """Return the result in a folder that has been committed."""
        self = cls.__new__(cls)
        self._set(summary, folder)
        return self

    def _set(self, summary: dict[str, Any], folder: RunFolder) -> None:
        self.summary = summary
        self.folder = folder
        manifest = read_manifest(folder.path)
        self._files = manifest.get("tables", {})
        missing = [name for name in (*_COUNTS, "planes") if name not in summary]
        if missing:
            raise ValueError(
                f"{shown_path(folder.path)}/{MANIFEST} is not the manifest of an audit: "
                f"{missing[0]} is missing"
            )

    def __repr__(self) -> str:
        tables = ", ".join(f"{name}: {entry['rows']}" for name, entry in self._files.items())
        return f"{type(self).__name__}({self.summary['lines']} lines; {tables})"

    def path(self, table: str) -> str:
        """Return the Parquet file of a table of ``TABLES``."""
        return file_in(self.folder.path, self._files[table]["file"])

    def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        return int(self._files[table]["rows"])

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of a table, one batch in memory at a time."""
        return rows_of_table(self.folder.path, self._files[table]["file"], TABLES[table])

    @property
    def counters(self) -> dict[str, int]:
        """The counters of the run: the counts of the summary, and the accepted publishes.

        ``unsettled`` counts those of them of which the input does not tell the deliveries. A log
        that was followed can have ``folded_messages``, on inboxes that are counted together, and
        ``untimed_requests``, which have no latency for that reason.
        """
        counters = json_object(self._record["counters"])
        if not all(type(count) is int for count in counters.values()):
            raise ValueError(f"{self.path('runs')}: the counters are not counts")
        return counters

    def table(self, name: str) -> pa.Table:
        """Return a table of ``TABLES`` as a ``pyarrow.Table``."""
        return self.columns(name, TABLES[name])

    @property
    def _record(self) -> dict[str, Any]:
        """The row of the run."""
        rows = list(itertools.islice(self.rows("runs"), 2))
        if len(rows) != 1 or rows[0]["counters"] is None:
            raise ValueError(f"{self.path('runs')} has not one row about one run")
        return rows[0]

    def columns(self, table: str, names: Sequence[str]) -> pa.Table:
        """Return some columns of a table as a ``pyarrow.Table``."""
        return read_columns(self.folder.path, self._files[table]["file"], names)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.folder.remove()


def open_run(out: str | os.PathLike[str]) -> Run:
    """Return a result that is in a directory.

    Args:
        out: The directory that an audit was given, here or on Spark.

    Raises:
        OSError: There is no result.
        ValueError: Its manifest is damaged, or of a newer version.
    """
    folder = RunFolder(out, only_read=True)
    return Run.of_folder(folder.summary(), folder)


def run_record(
    digest: Callable[[], str] | None, options: Mapping[str, Any], counters: Mapping[str, int]
) -> dict[str, Any]:
    """Return the row of a run.

    Args:
        digest: Returns the digest of the inputs; None for a table of events.
        options: The options that have an effect on the result.
        counters: The counts of lines and windows.
    """
    from .. import __version__

    row = {
        "schema": TABLES_VERSION,
        "input_digest": None if digest is None else digest(),
        "version": __version__,
        "options": json.dumps(options, sort_keys=True),
        "counters": json.dumps(counters, sort_keys=True),
    }
    run = hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:16]
    return {"run": run, **row}


def json_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a column of a run.

    Raises:
        ValueError: The text is something else.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        found = None
    if not isinstance(found, dict):
        raise ValueError("the row of the run has a text that is not a JSON object")
    return found
