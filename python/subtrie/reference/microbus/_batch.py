"""Decoding of columns of subjects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, final

from ..._core.address import ReplyAddress
from ..._core.display import batch_html, batch_text
from ..._core.errors import AddressError
from .._column import NotText, rows_of
from ._decode import decode

#: The columns of a batch; all but ``kind``, ``port`` and ``path`` are dictionary-encoded.
COLUMNS = (
    "kind", "plane", "trust", "port", "source", "host", "slot", "method", "path", "reason"
)  # fmt: skip

REQUEST, REPLY, NEITHER = 1, 2, 0


@final
class Batch:
    """Decoded subjects: a sequence of dictionaries, and an Arrow struct.

    ``batch[i]`` has the keys of ``COLUMNS``, or those that were asked for, or is None if the row
    is null.
    """

    __slots__ = ("_fields", "_rows")
    _fields: tuple[str, ...]
    _rows: list[dict[str, Any] | None]

    def __init__(self) -> None:
        raise TypeError("a Batch is created by decode_batch")

    @classmethod
    def _of(cls, rows: list[dict[str, Any] | None], fields: tuple[str, ...]) -> Batch:
        made = object.__new__(cls)
        made._fields = fields
        made._rows = rows
        return made

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: int, /) -> dict[str, Any] | None:
        found = self._rows[key]
        return None if found is None else dict(found)

    def __repr__(self) -> str:
        return batch_text(self)

    def _repr_html_(self) -> str:
        return batch_html(self)

    def __arrow_c_schema__(self) -> Any:
        """Return the Arrow type, a struct."""
        return _batch_type(self._fields).__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Return the Arrow array; ``requested_schema`` is ignored, as the interface allows."""
        import pyarrow as pa

        whole = _batch_type(self._fields)
        columns = [
            pa.array([row and row[field.name] for row in self._rows], _plain(pa, field.type))
            for field in whole
        ]
        columns = [
            column.dictionary_encode() if pa.types.is_dictionary(field.type) else column
            for column, field in zip(columns, whole, strict=True)
        ]
        nulls = pa.array([row is None for row in self._rows], pa.bool_())
        made = pa.StructArray.from_arrays(columns, fields=list(whole), mask=nulls)
        exported: tuple[Any, Any] = made.__arrow_c_array__()
        return exported


def _plain(pa: Any, kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _batch_type(fields: tuple[str, ...]) -> Any:
    import pyarrow as pa

    kinds = {"kind": pa.int8(), "port": pa.int32(), "path": pa.string()}
    names = pa.dictionary(pa.int32(), pa.string())
    return pa.struct([pa.field(name, kinds.get(name, names)) for name in fields])


def decode_batch(subjects: Any, fields: Iterable[str] | None = None) -> Batch:
    """Decode a column of subjects.

    A row is a request (``kind`` 1), a reply (2, with its id in ``slot``), or neither (0, with the
    code in ``reason``; then all other columns are null). A null row stays null.

    Args:
        subjects: An Arrow string array, a stream of them, or an iterable of ``str``.
        fields: The columns to make, in this order; without it all.

    Raises:
        TypeError: It is not a column of text, or ``fields`` is one ``str``.
        ValueError: A field does not exist or is named twice, or none is named.
    """
    names = COLUMNS if fields is None else _chosen(fields)
    rows = [None if row is None else _decoded(row) for row in rows_of(subjects)]
    return Batch._of([row and {name: row[name] for name in names} for row in rows], names)


def _chosen(fields: Iterable[str]) -> tuple[str, ...]:
    """Return the names of fields, each of which is named once."""
    if isinstance(fields, str):
        raise TypeError("fields are several names, not one str")
    known = f"; the fields are {', '.join(COLUMNS)}"
    found: list[str] = []
    for name in fields:
        if name not in COLUMNS:
            raise ValueError(f"no field {name!r}{known}")
        if name in found:
            raise ValueError(f"the field {name!r} twice{known}")
        found.append(str.__str__(name))  # not a subclass, whose str() may be another
    if not found:
        raise ValueError(f"no field at all{known}")
    return tuple(found)


def _decoded(row: str | NotText) -> dict[str, Any]:
    fields: dict[str, Any] = dict.fromkeys(COLUMNS)
    if isinstance(row, NotText):
        return {**fields, "kind": NEITHER, "reason": row.reason}
    try:
        address = decode(row)
    except AddressError as error:
        return {**fields, "kind": NEITHER, "reason": error.reason}
    if isinstance(address, ReplyAddress):
        fields.update(kind=REPLY, trust="reply", plane=address.plane, source=address.source)
        fields.update(host=address.host, slot=address.id)
        return fields
    names = ("plane", "trust", "port", "source", "host", "slot", "method", "path")
    fields.update({name: getattr(address, name) for name in names})
    return {**fields, "kind": REQUEST}
