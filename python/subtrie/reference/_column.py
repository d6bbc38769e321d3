"""Columns of subjects, from Arrow arrays or iterables, as rows of text.

pyarrow is imported only for Arrow arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .._core.errors import SubjectError
from ._grammar import encoded


class NotText(NamedTuple):
    """A row that is not text: why, where, and the text with replacements."""

    reason: str
    position: int | None = None
    text: str = ""


def rows_of(subjects: Any) -> Iterator[str | NotText | None]:
    """Iterate over an Arrow string array or stream, or an iterable of ``str`` and ``None``."""
    if hasattr(subjects, "__arrow_c_array__") or hasattr(subjects, "__arrow_c_stream__"):
        yield from arrow_rows(subjects)
        return
    wanted = "subjects must be an Arrow string array or an iterable of str"
    if isinstance(subjects, str):
        raise TypeError(f"{wanted}, not a single str")
    if not isinstance(subjects, Iterable):
        raise TypeError(f"{wanted}, not {type(subjects).__name__}")
    for row, subject in enumerate(subjects):
        if subject is not None and not isinstance(subject, str):
            raise TypeError(f"row {row} must be str or None, not {type(subject).__name__}")
        if subject is None or subject.isascii():
            yield subject
            continue
        try:
            encoded(subject, "SubjectError")
        except SubjectError as error:
            yield NotText(error.reason)
        else:
            yield subject


def arrow_rows(subjects: Any) -> Iterator[str | NotText | None]:
    """Iterate over an Arrow string array or stream."""
    import pyarrow as pa

    column = (
        pa.chunked_array([pa.array(subjects)])
        if hasattr(subjects, "__arrow_c_array__")
        else pa.chunked_array(subjects)
    )
    if pa.types.is_null(column.type):  # pyarrow's type of an array that is empty or all null
        yield from [None] * len(column)
        return
    encoded_once = pa.types.is_dictionary(column.type)
    kind = column.type.value_type if encoded_once else column.type
    if not any(is_kind(kind) for is_kind in _text_kinds(pa)):
        raise ValueError(f"a column of subjects must contain strings, not {kind}")
    if encoded_once:
        # pyarrow cannot decode a dictionary of views, so their bytes are copied first.
        flat = pa.large_binary()
        column = pa.chunked_array(
            [
                pa.DictionaryArray.from_arrays(
                    chunk.indices, chunk.dictionary.cast(flat)
                ).dictionary_decode()
                for chunk in column.chunks
            ],
            flat,
        )
    for row in column.cast(pa.large_binary()):
        data = row.as_py()
        try:
            yield None if data is None else data.decode()
        except UnicodeDecodeError as error:
            bad = data[error.start : error.start + 2]
            surrogate = bad[:1] == b"\xed" and b"\xa0" <= bad[1:] <= b"\xbf"
            reason = "surrogate" if surrogate else "utf8"
            yield NotText(reason, error.start, data.decode(errors="replace"))


def _text_kinds(pa: Any) -> tuple[Any, ...]:
    kinds = pa.types
    return (
        kinds.is_string, kinds.is_large_string, kinds.is_string_view,
        kinds.is_binary, kinds.is_large_binary, kinds.is_binary_view,
    )  # fmt: skip
