"""Options, paths, damage modes and Arrow batches of the data sources of saved traffic.

``mode`` is Spark's own: with ``PERMISSIVE`` (the default) damage is a row whose ``reason`` says
what is wrong and whose other columns are null; ``DROPMALFORMED`` omits it; ``FAILFAST`` raises.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from .log_files import resolve_path
from .text_encoding import escape_value

if TYPE_CHECKING:
    import pyarrow as pa

MODES = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")
_BATCH = 4096  # rows of an Arrow batch

#: Columns: the name and the Spark type of each.
Columns = Sequence[tuple[str, str]]
Rows = Iterable[Mapping[str, Any]]


def schema_of(columns: Columns) -> str:
    """Return the columns as a Spark schema string."""
    return ", ".join(f"{name} {kind}" for name, kind in columns)


def lower_keys(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with lower-case names: Spark's are case-insensitive.

    Spark passes a mapping that ignores case, but a copy of it has the names in lower case, so every
    data source looks them up in lower case.
    """
    return {name.lower(): value for name, value in options.items()}


def given_paths(options: Mapping[str, str]) -> list[str]:
    """Return the inputs as they were given: ``path``, or ``paths`` (a JSON list).

    Raises:
        ValueError: Neither option is given.
    """
    if "paths" in options:
        return [str(path) for path in json.loads(options["paths"])]
    if "path" in options:
        return [options["path"]]
    raise ValueError("load() needs a path, as in load('/var/log/nats/*.log')")


def paths_of(options: Mapping[str, str]) -> list[str]:
    """Return the inputs: ``path`` (a path or a shell pattern), or ``paths`` (a JSON list of them).

    Raises:
        FileNotFoundError: No file matches a pattern.
        ValueError: Neither option is given.
    """
    found: list[str] = []
    for path in given_paths(options):
        matching = sorted(glob.glob(path)) if glob.has_magic(path) else [path]
        if not matching:
            raise FileNotFoundError(f"no file matches {path}")
        found += map(resolve_path, matching)
    return found


def mode_of(options: Mapping[str, str]) -> str:
    """Return the mode. Raises ``ValueError`` for an unknown one."""
    mode = options.get("mode", MODES[0]).upper()
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    return mode


def flag(options: Mapping[str, str], name: str, default: str = "false") -> bool:
    """Return whether an option is true.

    Raises:
        ValueError: It is neither ``true`` nor ``false``, in any case.
    """
    text = options.get(name.lower(), default)
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{name} must be true or false, not {text!r}")
    return text.lower() == "true"


def rows_of(options: Mapping[str, str], kinds: Sequence[str]) -> str:
    """Return what the rows are, by default the first kind. Raises ``ValueError`` for another."""
    kind = lower_keys(options).get("rows", kinds[0]).lower()
    if kind not in kinds:
        raise ValueError(f"rows must be one of {', '.join(kinds)}, not {kind!r}")
    return kind


def apply_mode(rows: Rows, mode: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows that the mode keeps. Raises ``ValueError`` for damage under ``FAILFAST``."""
    for row in rows:
        if row.get("reason") is None or mode == "PERMISSIVE":
            yield row
        elif mode == "FAILFAST":
            told = row.get("text") or row.get("_corrupt_record") or row["reason"]
            raise ValueError(escape_value(f"{row.get('file')}: {told}"))


def damage_kept(
    read: Callable[[list[str]], Iterable[pa.RecordBatch]], names: Sequence[str], mode: str
) -> Iterator[pa.RecordBatch]:
    """Yield the events that the mode keeps, with the columns in ``names``.

    Args:
        read: Reads the events, with the columns that it is given.
        names: The columns.
        mode: One of ``MODES``.

    Raises:
        ValueError: A line is damaged under ``FAILFAST``.
    """
    import pyarrow.compute as pc

    needed = names if mode == "PERMISSIVE" else [*names, "reason", "file", "offset"]
    for batch in read(list(dict.fromkeys(needed))):
        if mode != "PERMISSIVE":
            damaged = pc.is_valid(batch.column("reason"))
            if mode == "FAILFAST" and pc.any(damaged).as_py():
                row = batch.filter(damaged).slice(0, 1).to_pylist()[0]
                raise ValueError(f"{row['file']}, byte {row['offset']}: {row['reason']}")
            batch = batch.filter(pc.invert(damaged)).select(list(names))
        yield batch


def to_batches(rows: Rows, columns: Columns, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows as Arrow, with the columns in ``names``; missing values are null.

    Every text of a capture or a snapshot passes here: Arrow refuses lone surrogates, which JSON
    may hold and bytes become.
    """
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
        arrays = [
            pa.array([escape_value(row.get(name)) for row in piece], types[kinds[name]])
            for name in names
        ]
        yield pa.record_batch(arrays, names=list(names))
