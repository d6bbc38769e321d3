"""Addresses of a column of subjects: only canonical text decodes (A7), the rest has a reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import classify, microbus
from ..address import ReplyAddress, RequestAddress
from ..errors import SubtrieError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: What ``decode`` adds. ``kind`` is ``request``, ``reply``, or null where ``reason`` says why not;
#: ``family`` is what ``classify`` says of the subject.
FIELDS: tuple[tuple[str, str], ...] = (
    ("kind", "string"),
    ("plane", "string"),
    ("port", "int"),
    ("source", "string"),
    ("host", "string"),
    ("slot", "string"),
    ("method", "string"),
    ("path", "string"),
    ("reason", "string"),
    ("family", "string"),
)
_NONE = (None,) * 8


def decode(df: DataFrame, subject: str = "subject") -> DataFrame:
    """The rows of ``df`` with the struct ``address`` (``FIELDS``) of the column ``subject``.

    For a reply ``slot`` is the id of the caller's instance. Nulls in give nulls out. Cost: one pass
    through Python, the strings of ``df`` included: select first what is needed.
    """
    from pyspark.sql.types import IntegerType, StringType, StructField, StructType

    kinds = {"string": StringType(), "int": IntegerType()}
    address = StructType([StructField(name, kinds[kind]) for name, kind in FIELDS])
    schema = StructType([*df.schema.fields, StructField("address", address)])
    place = df.columns.index(subject)

    def decoded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            column = decode_column(batch.column(place))
            yield batch.append_column("address", column)

    return df.mapInArrow(decoded, schema)


def decode_column(subjects: pa.Array) -> pa.StructArray:
    """The addresses of a column of subjects, as a struct of ``FIELDS``."""
    import pyarrow as pa

    rows = [None if text is None else decoded_fields(text) for text in subjects.to_pylist()]
    types = {"string": pa.string(), "int": pa.int32()}
    columns = zip(*(row or (None,) * len(FIELDS) for row in rows), strict=True)
    data: Sequence[Any] = list(columns) or [()] * len(FIELDS)
    return pa.StructArray.from_arrays(
        [pa.array(column, types[kind]) for column, (_, kind) in zip(data, FIELDS, strict=True)],
        names=[name for name, _ in FIELDS],
        mask=pa.array([row is None for row in rows]),
    )


def decoded_fields(subject: str) -> tuple[Any, ...]:
    """The values of ``FIELDS`` for one subject."""
    try:
        address = microbus.decode(subject)
    except SubtrieError as error:
        return (*_NONE, error.reason, _family(subject))
    if isinstance(address, RequestAddress):
        return (
            *("request", address.plane, address.port, address.source, address.host, address.slot),
            *(address.method, address.path, None, "microbus-request"),
        )
    assert isinstance(address, ReplyAddress)
    return (
        *("reply", address.plane, None, address.source, address.host, address.id),
        *(None, None, None, "microbus-reply"),
    )


def plane_of_pattern(pattern: str) -> str | None:
    """The plane of a canonical Microbus subscription, or None."""
    try:
        return microbus.decode_subscription(pattern).plane
    except SubtrieError:
        pass
    # A reply subscription is <plane>.reply._.*.<host>.<id>: with a source in place of the star it
    # is a reply.
    tokens = pattern.split(".")
    if len(tokens) < 4 or tokens[1] != "reply" or tokens[3] != "*":
        return None
    tokens[3] = "x"
    try:
        return microbus.decode(".".join(tokens)).plane
    except SubtrieError:
        return None


def _family(subject: str) -> str:
    try:
        return classify(subject)
    except SubtrieError:
        return "other"
