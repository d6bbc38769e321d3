"""Decode a column of subjects: canonical text has an address, any other text a reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .. import classify, microbus
from ._columns import text_column

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: The fields that ``decode`` adds. ``kind`` is ``request``, ``reply``, or null if ``reason`` says
#: why the subject is not canonical; ``family`` is the result of ``classify``.
FIELDS: tuple[tuple[str, str], ...] = (
    ("kind", "string"),
    ("plane", "string"),
    ("trust", "string"),
    ("port", "int"),
    ("source", "string"),
    ("host", "string"),
    ("slot", "string"),
    ("method", "string"),
    ("path", "string"),
    ("reason", "string"),
    ("family", "string"),
)


def decode(df: DataFrame, subject: str = "subject") -> DataFrame:
    """Add the struct column ``address``: the decoded subject, or the reason why it is malformed.

    The fields are ``kind``, ``plane``, ``trust``, ``port``, ``source``, ``host``, ``slot``,
    ``method``, ``path``, ``reason`` and ``family``. For a reply, ``slot`` is the id of the caller's
    instance. Null subjects give null addresses. Cost: one pass through Python, with every column of
    ``df``: select the columns you need first.

    Args:
        df: The rows.
        subject: The column with the subjects.

    Raises:
        ValueError: There is no such column, or it does not hold strings.
    """
    from pyspark.sql.types import IntegerType, StringType, StructField, StructType

    kinds = {"string": StringType(), "int": IntegerType()}
    address = StructType([StructField(name, kinds[kind]) for name, kind in FIELDS])
    schema = StructType([*df.schema.fields, StructField("address", address)])
    position = text_column(df, subject)

    def decoded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Add the column to each batch."""
        for batch in batches:
            column = decode_column(batch.column(position))
            yield batch.append_column("address", column)

    return df.mapInArrow(decoded, schema)


def decode_column(subjects: pa.Array) -> pa.StructArray:
    """Return the addresses of subjects as a struct of ``FIELDS``, with one call of the engine."""
    import pyarrow as pa
    import pyarrow.compute as pc

    decoded = pa.array(microbus.decode_batch(subjects))
    # Spark does not accept dictionary arrays; null rows are null in each column.
    columns = dict(zip((f.name for f in decoded.type), decoded.flatten(), strict=True))
    plain = {n: pc.cast(c, pa.string()) for n, c in columns.items() if n not in ("kind", "port")}
    plain["port"] = columns["port"]
    code = columns["kind"]
    neither = pa.scalar(None, pa.string())
    reply = pc.if_else(pc.equal(code, 2), "reply", neither)
    plain["kind"] = pc.if_else(pc.equal(code, 1), "request", reply)
    plain["family"] = _families(subjects, code)
    return pa.StructArray.from_arrays(
        [plain[name] for name, _ in FIELDS], names=[n for n, _ in FIELDS], mask=decoded.is_null()
    )


def _families(subjects: pa.Array, codes: pa.Array) -> pa.Array:
    """Return the class of each subject; the codes of addresses already determine it."""
    import pyarrow as pa

    known = {1: "microbus-request", 2: "microbus-reply"}
    pairs = zip(subjects.to_pylist(), codes.to_pylist(), strict=True)
    return pa.array(
        [known.get(code) or (None if text is None else classify(text)) for text, code in pairs],
        pa.string(),
    )
