"""A merge into a table that cannot be merged into leaves the session as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from trace_writer import random_trace

from subtrie.audit import TABLES, audit
from subtrie.spark import write_lake


def test_a_merge_that_is_refused_leaves_no_view(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "nats.log").write_text(random_trace(3))
    with audit([str(tmp_path / "nats.log")]) as result:
        # A table that is there, and is not one of a lake.
        rows = spark.createDataFrame(result.columns("runs", TABLES["runs"]))
        rows.createOrReplaceGlobalTempView("runs")
        before = spark.catalog.listTables()
        try:
            for _ in range(2):
                with pytest.raises(PySparkException, match="MERGE"):
                    write_lake(spark, result, "iceberg", "global_temp", tables=["runs"], merge=True)
                assert spark.catalog.listTables() == before
        finally:
            spark.catalog.dropGlobalTempView("runs")
