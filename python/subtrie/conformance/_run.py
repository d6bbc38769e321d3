"""Runs vector files against an engine, row by row."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .. import _engine, reference
from . import (
    _kinds_connector as kinds_connector,
)
from . import (
    _kinds_grammar as kinds_grammar,
)
from . import (
    _kinds_microbus as kinds_microbus,
)
from . import (
    _kinds_permissions as kinds_permissions,
)
from . import (
    _kinds_trie as kinds_trie,
)
from . import (
    _kinds_wire as kinds_wire,
)
from ._kind import Kind, Row
from ._report import Failure, KindReport, Report

#: The keys by which rows name their kind, in the order they are looked for.
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

#: Longest part of an answer that a failure repeats.
_SHOWN = 200

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def run(paths: Paths, *, engine: Any = None) -> Report:
    """Puts every row of the vector files to an engine and reports, kind by kind.

    ``paths``: files of JSON lines, or directories (every ``*.jsonl`` in them, however deep).
    ``engine``: None for the one in use, ``"native"``, ``"reference"``, or a module with the same
    names. Nothing is skipped in silence: a kind this package does not know stands in ``.unknown``,
    a line that is no row in ``.unreadable``, and the report is truthy only without either and
    without failures. Raises ``FileNotFoundError`` for a path that is not there and a directory
    without vectors, ``ImportError`` for a native engine that does not fit this interpreter.
    """
    name, module = _engine_of(engine)
    report = Report(name)
    for file in _files(paths):
        report.files += 1
        tap = kinds_connector.Tap()
        for number, line in enumerate(_lines(file), 1):
            _row(report, module, file.name, number, line, tap)
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
    tap: kinds_connector.Tap,
) -> None:
    """Reads and judges one line."""
    row = _parsed(line)
    key = next((key for key in _NAMED_BY if isinstance(row, dict) and key in row), None)
    if isinstance(row, str) or key is None:
        why = row if isinstance(row, str) else f"no key of {', '.join(_NAMED_BY)}"
        report.unreadable.append(f"{file}:{number}: {why}")
        return
    name, kind = _kind(row, key, tap)
    if kind is None:
        report.unknown[name] = report.unknown.get(name, 0) + 1
        return
    outcome = _judged(kind, engine, row)
    failure = None
    if outcome is not None:
        failure = Failure(file, number, str(row.get("id", "")), *outcome)
    report.kinds.setdefault(name, KindReport()).count(failure)


def _kind(row: Row, key: str, tap: kinds_connector.Tap) -> tuple[str, Kind | None]:
    """The kind of a row and its name; rows of recordings are known by what they hold."""
    if {"dir", "data"} <= row.keys():
        return "recorded chunk", tap.kind()
    if {"subject", "bytes"} <= row.keys():
        return "recorded message", kinds_connector.MESSAGE
    return str(row[key]), _KINDS.get((key, str(row[key])))


def _parsed(line: bytes) -> Row | str:
    """The row, or why there is none."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:  # the latter: nested too deep to be read
        return f"no JSON: {error}"
    return row if isinstance(row, dict) else f"no JSON object, but {type(row).__name__}"


def _judged(kind: Kind, engine: Any, row: Row) -> tuple[str, str] | None:
    """None for a right answer, else what was wanted and what came."""
    wanted: Any = None
    try:
        wanted = kind.wanted(row)
        got = kind.answer(engine, row)
        if kind.judge(wanted, got):
            return None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of a native engine is no Exception
        got = f"{type(error).__name__}: {error}"
    return _shown(wanted), _shown(got)


def _shown(answer: Any) -> str:
    text = str(answer) if not isinstance(answer, str) else ascii(answer)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
