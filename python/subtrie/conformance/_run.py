"""Tests an engine with vector files, row by row."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .. import reference
from .._core import engine as _engine
from . import _kinds_connector as kinds_connector
from . import _kinds_grammar as kinds_grammar
from . import _kinds_microbus as kinds_microbus
from . import _kinds_permissions as kinds_permissions
from . import _kinds_trie as kinds_trie
from . import _kinds_wire as kinds_wire
from ._kind import Kind, Row
from ._report import Failure, KindReport, Report

#: The keys whose value may be the kind of a row, in the order of precedence.
_NAMED_BY = ("kind", "op", "conn")

_KINDS: dict[tuple[str, str], Kind] = {
    **{("kind", name): kind for name, kind in kinds_grammar.KINDS.items()},
    **{("kind", name): kind for name, kind in kinds_trie.KINDS.items()},
    **{("kind", name): kind for name, kind in kinds_permissions.KINDS.items()},
    **{("op", name): kind for name, kind in kinds_permissions.OPS.items()},
    **{("op", name): kind for name, kind in kinds_grammar.OPS.items()},
    **{("op", name): kind for name, kind in kinds_trie.OPS.items()},
    **{("op", name): kind for name, kind in kinds_microbus.OPS.items()},
    **{("op", name): kind for name, kind in kinds_connector.OPS.items()},
    **{("conn", name): kind for name, kind in kinds_wire.CONNS.items()},
}

#: The maximum number of characters of an answer in a report.
_SHOWN = 200

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def run(paths: Paths, *, engine: Any = None) -> Report:
    """Ask an engine every question of the vector files and report each kind.

    No row is skipped silently: the report counts rows of unknown kinds and lines that are not rows,
    and is true only without both and without failures.

    Args:
        paths: Files of JSON lines, or directories, of which every ``*.jsonl`` is read recursively.
        engine: None for the engine in use, ``"native"``, ``"reference"``, or a module with the same
            names. Runs with different engines may be concurrent.

    Raises:
        FileNotFoundError: A path does not exist, or a directory has no vectors.
        ImportError: The native extension cannot be imported.

    Example:
        >>> from subtrie import conformance
        >>> report = conformance.run("tests/vectors", engine="reference")  # doctest: +SKIP
    """
    name, module = _engine_of(engine)
    report = Report(name)
    for file in _files(paths):
        report.files += 1
        streams = kinds_connector.RecordedStreams()
        for number, line in enumerate(_lines(file), 1):
            _row(report, module, file.name, number, line, streams)
    return report


def _engine_of(engine: Any) -> tuple[str, Any]:
    if engine is None:
        return _engine.report.name, _engine.module
    if engine == "reference":
        return "reference", reference
    if engine == "native":
        from .. import _subtrie

        return "native", _subtrie
    if isinstance(engine, str):
        raise ValueError(f"engine must be 'native', 'reference' or a module, not {engine!r}")
    return getattr(engine, "__name__", type(engine).__name__), engine


def _files(paths: Paths) -> Iterator[Path]:
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    for path in map(Path, listed):
        if not path.is_dir():
            yield path
            continue
        found = sorted(path.rglob("*.jsonl"))
        if not found:
            raise FileNotFoundError(f"no *.jsonl in {path}")
        yield from found


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as lines:
        yield from lines


def _row(
    report: Report,
    engine: Any,
    file: str,
    number: int,
    line: bytes,
    streams: kinds_connector.RecordedStreams,
) -> None:
    """Test one line and add the result to the report."""
    row = _parsed(line)
    key = next((key for key in _NAMED_BY if isinstance(row, dict) and key in row), None)
    if isinstance(row, str) or key is None:
        why = row if isinstance(row, str) else f"none of the keys {', '.join(_NAMED_BY)}"
        report.unreadable.append(f"{file}:{number}: {why}")
        return
    name, kind = _kind(row, key, streams)
    if kind is None:
        report.unknown[name] = report.unknown.get(name, 0) + 1
        return
    outcome = _judged(kind, engine, row)
    failure = None
    if outcome is not None:
        failure = Failure(file, number, str(row.get("id", "")), *outcome)
    report.kinds.setdefault(name, KindReport()).count(failure)


def _kind(row: Row, key: str, streams: kinds_connector.RecordedStreams) -> tuple[str, Kind | None]:
    """Return the name and the kind of a row; rows of recordings are recognised by their fields."""
    if {"dir", "data"} <= row.keys():
        return "recorded chunk", streams.kind()
    if {"subject", "bytes"} <= row.keys():
        return "recorded message", kinds_connector.MESSAGE
    return str(row[key]), _KINDS.get((key, str(row[key])))


def _parsed(line: bytes) -> Row | str:
    """Return the row, or why the line is not one."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:  # RecursionError: nested too deeply
        return f"not JSON: {error}"
    return row if isinstance(row, dict) else f"not a JSON object but {type(row).__name__}"


def _judged(kind: Kind, engine: Any, row: Row) -> tuple[str, str] | None:
    """Return None for a correct answer, else the expected and the actual one."""
    wanted: Any = None
    try:
        wanted = kind.wanted(row)
        got = kind.answer(engine, row)
        if kind.judge(wanted, got):
            return None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the native engine is a BaseException
        got = f"{type(error).__name__}: {error}"
    return _shown(wanted), _shown(got)


def _shown(answer: Any) -> str:
    text = str(answer) if not isinstance(answer, str) else ascii(answer)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
