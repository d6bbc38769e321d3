"""Whole columns of subjects matched: the answers the native engine gives in one call."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, final

from .._errors import SubjectError
from ._tree import Row

# The most ids that int32 offsets can count.
_MOST = 2**31 - 1


@final
class Matches:
    """What each subject of a column matches: ids of subscriptions, row after row.

    Row ``i`` has ``ids[offsets[i]:offsets[i + 1]]``, in order of insertion. ``valid`` is an Arrow
    bitmap (least bit first): a null or a row that is no subject is marked 0 and matches nothing.
    The C interface gives ``list<int32>``, null where not valid.
    """

    __slots__ = ("_ids", "_offsets", "_valid", "_values")
    _ids: array[int]
    _offsets: array[int]
    _valid: bytearray
    _values: dict[int, Any]

    def __init__(self) -> None:
        raise TypeError("matches are made by SubjectTrie.match_batch")

    @classmethod
    def _of(cls, found: list[list[int] | None], values: dict[int, Any]) -> Matches:
        made = object.__new__(cls)
        made._ids = array("i", [number for row in found for number in row or ()])
        made._offsets = array("i" if len(made._ids) <= _MOST else "q", [0])
        for row in found:
            made._offsets.append(made._offsets[-1] + len(row or ()))
        made._valid = bytearray((len(found) + 7) // 8)
        for index, row in enumerate(found):
            if row is not None:
                made._valid[index // 8] |= 1 << index % 8
        made._values = values
        return made

    @property
    def offsets(self) -> memoryview:
        """Where each row begins in ``ids``: one more number than rows, int32 (int64 where
        the ids outnumber it)."""
        return memoryview(self._offsets).toreadonly()

    @property
    def ids(self) -> memoryview:
        """The subscription ids of all rows, int32."""
        return memoryview(self._ids).toreadonly()

    @property
    def valid(self) -> memoryview:
        """The bitmap of rows that are subjects, least bit first."""
        return memoryview(self._valid).toreadonly()

    def values(self, row: int) -> tuple[Any, ...]:
        """The values that row ``row`` matches, in order of insertion."""
        row = range(len(self))[row]
        ids = self._ids[self._offsets[row] : self._offsets[row + 1]]
        return tuple(self._values[number] for number in ids)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __arrow_c_schema__(self) -> Any:
        """The Arrow type, ``list<int32>``."""
        import pyarrow as pa

        return self._kind(pa).__arrow_c_schema__()

    def _kind(self, pa: Any) -> Any:
        make = pa.list_ if self._offsets.typecode == "i" else pa.large_list
        return make(pa.int32())

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """The Arrow array; ``requested_schema`` is not followed, as the interface allows."""
        import pyarrow as pa

        kind = self._kind(pa)
        buffers = [pa.py_buffer(bytes(self._valid)), pa.py_buffer(self._offsets)]
        ids = pa.Array.from_buffers(pa.int32(), len(self._ids), [None, pa.py_buffer(self._ids)])
        made = pa.Array.from_buffers(kind, len(self), buffers, children=[ids])
        exported: tuple[Any, Any] = made.__arrow_c_array__()
        return exported


def matches_of(rows: Iterable[object], ask: Callable[[str], tuple[list[Row], Any]]) -> Matches:
    """Asks for every row that is a subject: what matches, and where values are that stand apart."""
    found: list[list[int] | None] = []
    values: dict[int, Any] = {}
    apart: Any = None
    for row in rows:
        hits = None
        if isinstance(row, str):
            with suppress(SubjectError):
                hits, apart = ask(row)
        found.append(None if hits is None else [hit.id for hit in hits])
        if apart is None:
            values.update((hit.id, hit.value) for hit in hits or ())
    return Matches._of(found, values if apart is None else apart)
