"""Write the tables of a result as Delta or Iceberg tables, where the session has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._schema import TABLE_COLUMNS, TABLES, arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .._audit.pipeline import Audit

_HOW = {
    "delta": "start it with the package of Delta Lake and its SQL extension, on a Spark for which "
    "Delta Lake is published",
    "iceberg": "start it with the Spark runtime of Iceberg and a catalog, on a Spark for which "
    "Iceberg is published",
}


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


def write_lake(spark: SparkSession, result: Audit, lake: str, target: str) -> None:
    """Write every table of a result, in place of those of the same names.

    Args:
        spark: The session.
        result: The result. Its tables pass through the driver.
        lake: ``delta`` or ``iceberg``.
        target: For Delta a directory, in which each table is one; for Iceberg a namespace of a
            catalog (``catalog.namespace``).
    """
    for name, columns in TABLES.items():
        rows = result.columns(name, columns).cast(arrow_schema(TABLE_COLUMNS[name]))
        df = spark.createDataFrame(rows)
        if lake == "delta":
            writer = df.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
            writer.save(f"{target.rstrip('/')}/{name}")
        else:
            df.writeTo(f"{target}.{name}").using("iceberg").createOrReplace()
