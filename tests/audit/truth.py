"""Compare the result of an audit with the truth of synthetic traffic."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

#: Columns that name a file or a whole-log window, which the truth does not have.
_IGNORED = {"file", "window"}


def read_truth(world: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of the truth."""
    return {
        file.stem: [json.loads(line) for line in file.open(encoding="utf-8")]
        for file in sorted((world / "truth").glob("*.jsonl"))
    }


def differences(
    summary: dict[str, Any], tables: dict[str, Iterable[dict[str, Any]]], world: Path
) -> list[str]:
    """Return how a result differs from the truth: a text for each count and each table."""
    expected = json.loads((world / "truth" / "summary.json").read_text(encoding="utf-8"))
    found = []
    for name in (
        *("lines", "operations", "payloads", "server", "unparseable_lines"),
        *("planes", "ambiguous", "unmatched", "forwarded"),
    ):
        if summary[name] != expected[name]:
            found.append(f"{name}: {summary[name]}, expected {expected[name]}")
    return found + tables_differ(tables, read_truth(world))


def tables_differ(
    tables: dict[str, Iterable[dict[str, Any]]], truth: dict[str, list[dict[str, Any]]]
) -> list[str]:
    """Return how tables differ from those of the truth."""
    found = [f"{name}: missing" for name in truth.keys() - tables.keys()]
    for name in truth.keys() & tables.keys():
        ours, theirs = _normal(tables[name]), _normal(truth[name])
        if ours != theirs:
            more = [row for row in ours if row not in theirs]
            less = [row for row in theirs if row not in ours]
            found.append(
                f"{name}: {len(more)} rows more, such as {more[:2]}; "
                f"{len(less)} rows missing, such as {less[:2]}"
            )
    return found


def _normal(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Return rows as sorted texts, with times as the truth writes them."""
    kept = ({k: v for k, v in row.items() if k not in _IGNORED} for row in rows)
    return sorted(json.dumps(row, sort_keys=True, default=_text) for row in kept)


def _text(value: datetime) -> str:
    return f"{value:%Y-%m-%dT%H:%M:%S.%f}Z"
