"""What the sources of saved traffic share: which files, what becomes of damage, rows to Arrow.

``mode`` is Spark's own: ``PERMISSIVE`` (the default) gives damage a row whose ``reason`` says what
is wrong and whose other columns are null; ``DROPMALFORMED`` leaves it out; ``FAILFAST`` raises.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from ._log_files import settled
from ._text_encoding import clean

if TYPE_CHECKING:
    import pyarrow as pa

MODES = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")
_BATCH = 4096

#: A column: its name, its Spark type.
Columns = Sequence[tuple[str, str]]
Rows = Iterable[Mapping[str, Any]]


def schema_of(columns: Columns) -> str:
    """The columns as Spark writes them."""
    return ", ".join(f"{name} {kind}" for name, kind in columns)


def paths_of(options: Mapping[str, str]) -> list[str]:
    """The inputs: ``path`` (stars and brackets as a shell has them), or ``paths`` (a JSON list).

    Raises ``FileNotFoundError`` for a pattern that nothing matches, ``ValueError`` without either.
    """
    if "paths" in options:
        given = json.loads(options["paths"])
    elif "path" in options:
        given = [options["path"]]
    else:
        raise ValueError("load() needs a path")
    found: list[str] = []
    for path in map(str, given):
        many = sorted(glob.glob(path)) if glob.has_magic(path) else [path]
        if not many:
            raise FileNotFoundError(f"nothing matches {path}")
        found += map(settled, many)
    return found


def mode_of(options: Mapping[str, str]) -> str:
    """The mode. Raises ``ValueError`` for one that Spark has not."""
    mode = options.get("mode", MODES[0]).upper()
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    return mode


def kept(rows: Rows, mode: str) -> Iterator[Mapping[str, Any]]:
    """The rows that the mode lets through. Raises ``ValueError`` for damage under ``FAILFAST``."""
    for row in rows:
        if row.get("reason") is None or mode == "PERMISSIVE":
            yield row
        elif mode == "FAILFAST":
            raise ValueError(f"{row.get('file')}: {row.get('text') or row['reason']}")


def batches(rows: Rows, columns: Columns, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow: the columns in ``names``, what a row does not have being null."""
    import pyarrow as pa

    types = {
        "int": pa.int32(),
        "bigint": pa.int64(),
        "string": pa.string(),
        "boolean": pa.bool_(),
        "binary": pa.binary(),
        "timestamp": pa.timestamp("us", "UTC"),
        "array<string>": pa.list_(pa.string()),
        "array<struct<name:string,value:string>>": pa.list_(
            pa.struct([("name", pa.string()), ("value", pa.string())])
        ),
    }
    kinds = dict(columns)
    waiting = iter(rows)
    while piece := list(islice(waiting, _BATCH)):
        arrays = [pa.array([row.get(name) for row in piece], types[kinds[name]]) for name in names]
        yield pa.record_batch(arrays, names=list(names))


def spelled(value: Any) -> Any:
    """A text, or a list of texts, with bytes that are no UTF-8 spelled out; others unchanged."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [spelled(item) for item in value]
    return value
