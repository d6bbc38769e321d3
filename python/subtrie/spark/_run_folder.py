"""Tables as Parquet files: one file a table, the same bytes for the same rows, seen when complete.

A run writes into a folder of its own beside the place asked for and moves it there at the end, so
that a failed run leaves nothing behind and an earlier result stays until the new one is whole.
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

#: Names a finished run, and is how an earlier result is told from somebody's folder.
MANIFEST = "audit.json"


class NotAResult(ValueError):
    """The output folder holds something else than an earlier result."""


class RunFolder:
    """Where a run writes. ``place`` None means that the result goes when the run does.

    ``tables`` names all tables: a folder that holds anything else is not replaced.
    """

    def __init__(self, place: str | os.PathLike[str] | None, tables: Iterable[str]) -> None:
        self.place = None if place is None else Path(place).absolute()
        self._own = {MANIFEST, *(f"{name}.parquet" for name in tables)}
        if self.place is not None:
            _check(self.place, self._own)
            self.place.parent.mkdir(parents=True, exist_ok=True)
        beside = None if self.place is None else self.place.parent
        self._root = Path(tempfile.mkdtemp(prefix=".subtrie-audit-", dir=beside))
        self.tables = self._root / "tables"
        self.tables.mkdir()

    def stage(self, df: DataFrame, name: str) -> DataFrame:
        """Writes what several tables are made from, and reads it back."""
        path = str(self._root / "stages" / name)
        df.write.parquet(path, compression="zstd")
        return df.sparkSession.read.schema(df.schema).parquet(path)

    def write(self, df: DataFrame, name: str) -> None:
        """Writes a table, sorted by all its columns. One task writes it, spilling to disk."""
        staged = self._root / "parts" / name
        df.repartition(1).sortWithinPartitions(*df.columns).write.parquet(
            str(staged), compression="zstd"
        )
        part = next(path for path in staged.iterdir() if path.suffix == ".parquet")
        part.rename(self.tables / f"{name}.parquet")
        shutil.rmtree(staged)

    def finish(self, manifest: dict[str, Any]) -> None:
        """The run is complete: its tables take the place of an earlier result."""
        (self.tables / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
        shutil.rmtree(self._root / "stages", ignore_errors=True)
        shutil.rmtree(self._root / "parts", ignore_errors=True)
        if self.place is None:
            return
        _check(self.place, self._own)
        if self.place.exists():
            self.place.rename(self._root / "earlier")
        self.tables.rename(self.place)
        self.tables = self.place
        shutil.rmtree(self._root)

    def discard(self) -> None:
        """Removes what the run wrote, a finished result in its place excepted."""
        shutil.rmtree(self._root, ignore_errors=True)


def _check(place: Path, own: set[str]) -> None:
    """Refuses a place that holds more than an earlier result: what is replaced is gone."""
    if not place.exists():
        return
    held = {path.name for path in place.iterdir()} if place.is_dir() else None
    if held is None or not held <= own or (held and MANIFEST not in held):
        raise NotAResult(f"{place} is there and is no result of an audit: name another folder")


def rows_of_table(
    path: str | os.PathLike[str], columns: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """The rows of a table, read a batch at a time."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=4096, columns=columns):
            yield from batch.to_pylist()
