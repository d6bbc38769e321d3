"""Many rows at once, validated: those of ``update``, as rows or columns, and those of a pickle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .._core.errors import refusal
from ._column import NotText, arrow_rows
from ._subscription import Subscription, subscribed
from ._tree import Entry
from ._validation import row_parts

Row = tuple[str, Any, str | None]


def rows_given(
    rows: Iterable[Iterable[Any]] | None,
    columns: tuple[Any, Any, Any],
    check_pattern: Callable[[str], str],
    check_queue: Callable[[str], str],
) -> list[Row]:
    """Return the rows of either form, validated."""
    patterns, values, queues = columns
    if rows is None and patterns is not None and values is not None:
        return _rows_of_columns(patterns, values, queues, check_pattern, check_queue)
    if rows is None or any(column is not None for column in columns):
        raise TypeError("update takes rows, or patterns and values with or without queues")
    return [
        (check_pattern(pattern), value, None if queue is None else check_queue(queue))
        for pattern, value, queue in map(row_parts, rows)
    ]


def _rows_of_columns(
    patterns: Any,
    values: Any,
    queues: Any,
    check_pattern: Callable[[str], str],
    check_queue: Callable[[str], str],
) -> list[Row]:
    """Return the rows of the columns; an exception has a note with the row.

    Raises:
        PatternError: A pattern is not valid.
        InvalidName: A queue name is not valid.
        TypeError: A column, a pattern or a queue name has another type.
        ValueError: The columns differ in length.
    """
    given = _items(patterns, "patterns")
    held = _sequence(values, "values")
    names = None if queues is None else _items(queues, "queues")
    for name, other in (("values", held), ("queues", names)):
        if other is not None and len(other) != len(given):
            raise ValueError(
                f"{name} must have as many rows as patterns: {len(given)}, not {len(other)}"
            )
    texts = list(_checked(given, check_pattern, "PatternError", None))
    if names is None:
        return [(text, value, None) for text, value in zip(texts, held, strict=True)]
    valid = _checked(
        names, lambda name: None if name is None else check_queue(name), "InvalidName", "queue"
    )
    return list(zip(texts, held, valid, strict=True))


def _items(texts: Any, name: str) -> tuple[Any, ...]:
    if hasattr(texts, "__arrow_c_array__") or hasattr(texts, "__arrow_c_stream__"):
        return tuple(arrow_rows(texts))
    return _sequence(texts, name)


def _sequence(given: Iterable[Any], name: str) -> tuple[Any, ...]:
    if isinstance(given, str):
        raise TypeError(f"{name} must be a sequence, not a single str")
    return tuple(given)


def _checked(
    texts: tuple[Any, ...], check: Callable[[Any], Any], kind: str, field: str | None
) -> Iterator[Any]:
    for row, text in enumerate(texts):
        try:
            if isinstance(text, NotText):
                raise refusal(kind, text.reason, text.text, text.position, field)
            yield check(text)
        except Exception as error:
            error.add_note(f"row {row}")
            raise


def entries_of(
    rows: Iterable[tuple[Any, ...]],
    following: int,
    check_pattern: Callable[[str], str],
    check_queue: Callable[[str], str],
    dialect: str,
) -> list[Entry]:
    """Return the entries of a pickle, or raise ``ValueError``."""
    validated, last = [], -1
    for handle, pattern, value, queue, number, turn in rows:
        pattern = check_pattern(pattern)
        queue = None if queue is None else check_queue(queue)
        if handle is None:  # the native engine makes a handle when it is asked for
            handle = subscribed(pattern, dialect, value, queue, number)
        if not last < number < following or turn < 0 or not isinstance(handle, Subscription):
            raise ValueError("not the state of a SubjectTrie")
        last = number
        validated.append(Entry(handle, pattern, value, queue, number, turn))
    return validated
