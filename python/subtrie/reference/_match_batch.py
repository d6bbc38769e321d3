"""Matching of columns of subjects."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, final

from .._core.display import matches_html, matches_text
from .._core.errors import SubjectError
from ._tree import Entry

# The maximum number of ids that int32 offsets can count.
_MAX_INT32 = 2**31 - 1


@final
class Matches:
    """The subscriptions that match each subject of a column, and an Arrow ``list<int32>``.

    Row ``i`` has ``ids[offsets[i]:offsets[i + 1]]``, in insertion order. A row that is null or not
    a valid subject matches nothing and is null in the Arrow array.
    """

    __slots__ = ("_ids", "_offsets", "_valid", "_values")
    _ids: array[int]
    _offsets: array[int]
    _valid: bytearray
    _values: dict[int, Any]

    def __init__(self) -> None:
        raise TypeError("Matches are created by SubjectTrie.match_batch")

    @classmethod
    def _of(cls, found: list[list[int] | None], values: dict[int, Any]) -> Matches:
        made = object.__new__(cls)
        made._ids = array("i", [number for row in found for number in row or ()])
        made._offsets = array("i" if len(made._ids) <= _MAX_INT32 else "q", [0])
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
        """The index in ``ids`` at which each row begins, and the end of the last one.

        The numbers are int32, or int64 if there are more ids than int32 can count.
        """
        return memoryview(self._offsets).toreadonly()

    @property
    def ids(self) -> memoryview:
        """The subscription ids of all rows, int32."""
        return memoryview(self._ids).toreadonly()

    @property
    def valid(self) -> memoryview:
        """A bitmap of the rows that are valid subjects, least significant bit first."""
        return memoryview(self._valid).toreadonly()

    def values(self, row: int) -> tuple[Any, ...]:
        """Return the values that match a row, in insertion order."""
        row = range(len(self))[row]
        ids = self._ids[self._offsets[row] : self._offsets[row + 1]]
        return tuple(self._values[number] for number in ids)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, key: int, /) -> tuple[Any, ...]:
        return self.values(key)

    def __repr__(self) -> str:
        return matches_text(self)

    def _repr_html_(self) -> str:
        return matches_html(self)

    def __arrow_c_schema__(self) -> Any:
        """Return the Arrow type, ``list<int32>``."""
        import pyarrow as pa

        return self._kind(pa).__arrow_c_schema__()

    def _kind(self, pa: Any) -> Any:
        make = pa.list_ if self._offsets.typecode == "i" else pa.large_list
        return make(pa.int32())

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Return the Arrow array; ``requested_schema`` is ignored, as the interface allows."""
        import pyarrow as pa

        kind = self._kind(pa)
        buffers = [pa.py_buffer(bytes(self._valid)), pa.py_buffer(self._offsets)]
        ids = pa.Array.from_buffers(pa.int32(), len(self._ids), [None, pa.py_buffer(self._ids)])
        made = pa.Array.from_buffers(kind, len(self), buffers, children=[ids])
        exported: tuple[Any, Any] = made.__arrow_c_array__()
        return exported


def matches_of(rows: Iterable[object], ask: Callable[[str], tuple[list[Entry], Any]]) -> Matches:
    """Match every row; ``ask`` returns the matching entries and values that are not loaded yet."""
    found: list[list[int] | None] = []
    values: dict[int, Any] = {}
    lazy_values: Any = None
    for row in rows:
        hits = None
        if isinstance(row, str):
            with suppress(SubjectError):
                hits, lazy_values = ask(row)
        found.append(None if hits is None else [hit.id for hit in hits])
        if lazy_values is None:
            values.update((hit.id, hit.value) for hit in hits or ())
    return Matches._of(found, values if lazy_values is None else lazy_values)
