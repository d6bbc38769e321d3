"""The reader of saved traffic that the data sources extend."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pyspark.sql.datasource import DataSourceReader
from pyspark.sql.types import StructType

from ...audit._readers.file_source import lower_keys, mode_of, paths_of


class FileReader(DataSourceReader):
    """The base of the readers of saved traffic: the columns, the inputs and the mode."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        self._options = lower_keys(options)
        self._names = schema.fieldNames()
        self._paths = paths_of(self._options)
        self._mode = mode_of(self._options)

    def _existing_paths(self) -> list[str]:
        """Return the inputs. One that is missing fails here, not in a worker."""
        for path in self._paths:
            os.stat(path)
        return self._paths
