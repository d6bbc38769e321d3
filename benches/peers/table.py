"""Print a record as one table: with colours in a terminal, plain in a pipe."""

from __future__ import annotations

import sys
from typing import Any

from rows import Row
from sections import (
    Section,
    batches,
    changes,
    lookups,
    lost,
    memory,
    questions,
    readers,
    wanted,
    yardsticks,
)
from turns import batches_in_turns, caches, codec, images, in_turns, loading, shared, waits

_TURNS = (in_turns, batches_in_turns, caches, loading, shared, codec, images, waits)
_ALONE = (lookups, yardsticks, batches, memory, changes, readers, questions)


def all_sections(rows: list[Row]) -> list[Section]:
    """Return all sections."""
    parts = (*_TURNS, *_ALONE, wanted, lost)
    return [section for part in parts for section in part(rows) if section.lines]


def show(record: dict[str, Any]) -> None:
    """Print all sections, then the notes."""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    head = f"{record['processor']}, {record['cores']} cores, {record['date']}; {versions}"
    sections = all_sections(record["rows"])
    if sys.stdout.isatty():
        _rich(head, sections)
    else:
        print(head)
        for section in sections:
            print(plain(section))
    for note in record["notes"]:
        print(f"not measured: {note}")


def plain(section: Section) -> str:
    """Format a section as text; rows in which another index is faster are marked."""
    lines = [section.columns, *section.lines]
    widths = [max(len(line[n]) for line in lines) for n in range(len(section.columns))]
    left = [not _figures(section, n) for n in range(len(widths))]
    text = ["", f"== {section.title}"]
    for at, line in enumerate(lines):
        cells = [
            cell.ljust(width) if start else cell.rjust(width)
            for cell, width, start in zip(line, widths, left, strict=True)
        ]
        mark = "  <--" if at - 1 in section.lost else ""
        text.append("  ".join(cells).rstrip() + mark)
    return "\n".join(text)


def _figures(section: Section, column: int) -> bool:
    cells = [line[column] for line in section.lines if line[column]]
    return bool(cells) and all(cell[0].isdigit() and "/s" not in cell for cell in cells)


def _rich(head: str, sections: list[Section]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    console.print(head, markup=False, highlight=False)
    for section in sections:
        drawn = Table(title=section.title, title_justify="left", title_style="bold")
        for number, name in enumerate(section.columns):
            drawn.add_column(name, justify="right" if _figures(section, number) else "left")
        for at, line in enumerate(section.lines):
            ours = any(cell.startswith("subtrie") for cell in line[:2])
            style = "red" if at in section.lost else "green" if ours else None
            drawn.add_row(*map(escape, line), style=style)
        console.print(drawn)
