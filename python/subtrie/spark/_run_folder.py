"""Write tables as Parquet files, one file per table, and publish them when all are complete.

A run writes to a temporary directory next to the output directory, and renames it at the end. A run
that fails leaves no files, and an earlier result stays until the new one is complete.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The file that marks a complete run, and distinguishes an earlier result from other directories.
MANIFEST = "audit.json"


class OutputFolderError(ValueError):
    """The output directory holds something other than an earlier result."""


class RunFolder:
    """The directory of a run.

    Args:
        target: The output directory; None for a temporary result.
        tables: The names of all tables. A directory that holds anything else is not replaced.
    """

    def __init__(self, target: str | os.PathLike[str] | None, tables: Iterable[str]) -> None:
        self.target = None if target is None else Path(target).absolute()
        self._own = {MANIFEST, *(f"{name}.parquet" for name in tables)}
        if self.target is not None:
            _check(self.target, self._own)
            self.target.parent.mkdir(parents=True, exist_ok=True)
        parent = None if self.target is None else self.target.parent
        self._root = Path(tempfile.mkdtemp(prefix=".subtrie-audit-", dir=parent))
        self.tables = self._root / "tables"
        self.tables.mkdir()

    def stage(self, df: DataFrame, name: str) -> DataFrame:
        """Write an intermediate result, and return a DataFrame that reads it."""
        path = str(self._root / "stages" / name)
        df.write.parquet(path, compression="zstd")
        return df.sparkSession.read.schema(df.schema).parquet(path)

    def write(self, df: DataFrame, name: str) -> None:
        """Write a table, sorted by all its columns. One task writes it, spilling to disk."""
        staged = self._root / "parts" / name
        df.repartition(1).sortWithinPartitions(*df.columns).write.parquet(
            str(staged), compression="zstd"
        )
        part = next(path for path in staged.iterdir() if path.suffix == ".parquet")
        part.rename(self.tables / f"{name}.parquet")
        shutil.rmtree(staged)

    def finish(self, manifest: dict[str, Any]) -> None:
        """Write the manifest and replace an earlier result with the tables of this run."""
        (self.tables / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
        shutil.rmtree(self._root / "stages", ignore_errors=True)
        shutil.rmtree(self._root / "parts", ignore_errors=True)
        if self.target is None:
            return
        _check(self.target, self._own)
        if self.target.exists():
            self.target.rename(self._root / "earlier")
        self.tables.rename(self.target)
        self.tables = self.target
        shutil.rmtree(self._root)

    def discard(self) -> None:
        """Remove the files of the run, except a result that was published."""
        shutil.rmtree(self._root, ignore_errors=True)


def _check(target: Path, own: set[str]) -> None:
    """Refuse a directory that holds more than an earlier result, because it would be deleted."""
    if not target.exists():
        return
    names = {path.name for path in target.iterdir()} if target.is_dir() else None
    if names is None or not names <= own or (names and MANIFEST not in names):
        raise OutputFolderError(
            f"{target} exists and is not an audit result; choose another output directory"
        )


def rows_of_table(
    path: str | os.PathLike[str], columns: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Iterate over the rows of a table, reading one batch at a time."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=4096, columns=columns):
            yield from batch.to_pylist()
