"""Write the tables of a result as Delta or Iceberg tables, where the session has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..audit._schema import TABLE_COLUMNS, TABLE_KEYS, TABLES, arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..audit import Run

_HOW = {
    "delta": "start it with the package of Delta Lake and its SQL extension, on a Spark for which "
    "Delta Lake is published",
    "iceberg": "start it with the Spark runtime of Iceberg and a catalog, on a Spark for which "
    "Iceberg is published",
}

_VIEW = "subtrie_rows_to_merge"


def check_lake(spark: SparkSession, lake: str) -> None:
    """Check that a session can write tables of a format.

    Raises:
        ValueError: It cannot; the message says what it needs.
    """
    try:
        _ = spark.read.format(lake).load("/subtrie-no-such-table").schema
    except Exception as error:
        told = str(error)
        # A session that has the format fails only because the table does not exist.
        if "DATA_SOURCE_NOT_FOUND" in told or "ClassNotFound" in told or "NoSuchMethod" in told:
            raise ValueError(f"this session cannot write {lake}: {_HOW[lake]}") from None


def write_lake(
    spark: SparkSession,
    result: Run,
    lake: str,
    target: str,
    *,
    tables: Iterable[str] = tuple(TABLES),
    merge: bool = False,
) -> None:
    """Write tables of a result, in place of those of the same names.

    Args:
        spark: The session.
        result: The result. Its tables pass through the driver.
        lake: ``delta`` or ``iceberg``.
        target: For Delta a directory, in which each table is one; for Iceberg a namespace of a
            catalog (``catalog.namespace``).
        tables: The names of the tables; by default all.
        merge: Keep the rows that are there: a row replaces the one with the same key (the first
            columns of its table, see ``TABLE_KEYS``), else it is added. A table that is missing is
            created.
    """
    for name in tables:
        rows = result.columns(name, TABLES[name]).cast(arrow_schema(TABLE_COLUMNS[name]))
        path = f"{target.rstrip('/')}/{name}"
        table = f"delta.`{path}`" if lake == "delta" else f"{target}.{name}"
        df = spark.createDataFrame(rows)
        if merge and _exists(spark, table):
            if rows.num_rows:
                _merge(df, name, table)
        elif lake == "delta":
            writer = df.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
            writer.save(path)
        else:
            df.writeTo(table).using("iceberg").createOrReplace()


def _exists(spark: SparkSession, table: str) -> bool:
    """Whether a table can be read."""
    from pyspark.errors import AnalysisException

    try:
        _ = spark.table(table).schema
    except AnalysisException:
        return False
    return True


def _merge(df: DataFrame, name: str, table: str) -> None:
    """Replace the rows of a table that have the key of a row, and add the others."""
    spark = df.sparkSession
    # A key may be null, which equals null here.
    same = " AND ".join(f"old.`{key}` <=> new.`{key}`" for key in TABLE_KEYS[name])
    df.createOrReplaceTempView(_VIEW)
    try:
        spark.sql(
            f"MERGE INTO {table} AS old USING {_VIEW} AS new ON {same} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
    finally:
        spark.catalog.dropTempView(_VIEW)
