"""Data sources that bring the package along, where Spark sends no files.

The process that plans a stream gets no files of the session. What is made here is pickled by value,
as it is local to a function; after ``ship`` it contains the package that was sent, and puts it on
the path if the process has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .ship import shipped_data

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource


def register_source(spark: SparkSession, source: type[DataSource]) -> None:
    """Register a data source; after ``ship``, one that brings the package along."""
    data = shipped_data(spark)
    spark.dataSource.register(source if data is None else _carried_source(source, data))


def _carried_source(source: type[DataSource], data: bytes) -> type[DataSource]:
    """Return a data source that makes the given one where it is used."""
    from pyspark.sql import datasource

    module, name, told, unpack = (
        source.__module__,
        source.__qualname__,
        source.name(),
        _unpacker(data),
    )

    class Carried(datasource.DataSource):
        """A data source whose instances refer to no class of the package."""

        @classmethod
        def name(cls) -> str:
            """Return the name of the format."""
            return told

        def made(self) -> Any:
            """Return the data source."""
            import importlib

            unpack()
            return getattr(importlib.import_module(module), name)(self.options)

        def schema(self) -> Any:
            """Return the schema."""
            return self.made().schema()

        def reader(self, schema: Any) -> Any:
            """Return the reader of a batch."""
            return self.made().reader(schema)

        def streamReader(self, schema: Any) -> Any:
            """Return the reader of a stream."""
            return self.made().streamReader(schema)

    return Carried


def _unpacker(data: bytes) -> Callable[[], None]:
    """Return a function that makes the package importable, from the file that ``ship`` sends."""

    def unpack() -> None:
        """Put the file on the path, unless there is a package."""
        import atexit
        import importlib.util
        import os
        import shutil
        import sys
        import tempfile

        if importlib.util.find_spec("subtrie") is not None:
            return
        folder = tempfile.mkdtemp(prefix="subtrie-carried-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "subtrie.zip")
        with open(path, "wb") as file:
            file.write(data)
        sys.path.insert(0, path)

    return unpack
