"""Generate ``docs/columns.md``: the columns of all tables, with their types.

With ``--check`` nothing is written, and a page that differs is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from subtrie._cli.audit_tables import _TITLES
from subtrie._core.printable import escaped
from subtrie.audit._partial.kinds import PARTIAL_ROWS
from subtrie.audit._schema import (
    EVENTS,
    RATE_TYPE,
    TABLE_COLUMNS,
    TABLE_KEYS,
    TABLES_VERSION,
    Columns,
    arrow_type,
)
from subtrie.report._sections import _TEXTS
from subtrie.spark._decode import FIELDS
from subtrie.spark._match import ADDED
from subtrie.spark._sources import monitor_source, wire_source

PAGE = Path(__file__).resolve().parent.parent / "docs" / "columns.md"
_WIDTH = 124  # characters of a line

HEAD = f"""# Columns of tables

The columns of each table in their order, with their types: what a row of a table is, is on the
pages of the [audit](audit.md#tables), of its [answers](answers.md#tables) and of [traffic in a
lake](lake.md). The version of the tables of an audit is {TABLES_VERSION}, as in the column `schema`
of `runs`; it changes when a column is renamed, removed or given another meaning.

## Types

The types are those of Spark; Arrow and Parquet have these:

"""

#: Types that only data sources have.
_OF_SOURCES = {
    "array<string>": pa.list_(pa.string()),
    "array<struct<name:string,value:string>>": pa.list_(
        pa.struct([("name", pa.string()), ("value", pa.string())])
    ),
}
#: The rows of data sources and of functions of ``subtrie.spark``.
_SOURCES: dict[str, Columns] = {
    "Events": EVENTS,
    "`nats-trace` with `rows=partials`": PARTIAL_ROWS,
    "`nats-wire` with `rows=operations`": wire_source.COLUMNS,
    "`nats-monitor` with `rows=subscriptions`": monitor_source.COLUMNS,
    "The column `address` of `decode`": FIELDS,
    "The columns that `match` adds": ADDED,
}
_EVENTS = """Events are the rows of `nats-trace`, `nats-wire` and `nats-monitor` without `rows`, and
of the functions `events`, `spans` and `settled`."""


def page() -> str:
    """Return the text of the page."""
    used = {
        kind for columns in (*TABLE_COLUMNS.values(), *_SOURCES.values()) for _, kind in columns
    }
    types = sorted(used, key=lambda kind: (len(kind), kind))
    lines = ["| Spark | Arrow |", "|---|---|"]
    lines += [
        f"| {_shown(kind)} | `{_OF_SOURCES.get(kind) or arrow_type(kind)}` |" for kind in types
    ]
    lines += ["", "## Tables of an audit", "", "Rows are distinct by the columns in bold."]
    for name, columns in TABLE_COLUMNS.items():
        lines += ["", f"### `{name}`", "", *_described(name), *_listed(columns, TABLE_KEYS[name])]
    lines += ["", "## Rows of data sources and functions", "", _EVENTS]
    for name, columns in _SOURCES.items():
        lines += ["", f"### {name}", "", *_listed(columns)]
    return HEAD + "\n".join(lines) + "\n"


def _described(name: str) -> list[str]:
    """Return the title that the command prints, and the title and sentence of the report."""
    shown = f"*{_TITLES[name]}*"
    if name in _TEXTS:
        title, sentence = map(escaped, _TEXTS[name])
        shown += "" if title == _TITLES[name] else f", in the report *{title}*"
        shown += f": {sentence}"
    return [shown, ""]


def _shown(kind: str) -> str:
    return f"rate: `{kind}`" if kind == RATE_TYPE else f"`{kind}`"


def _listed(columns: Columns, keys: Sequence[str] = ()) -> list[str]:
    """Return the lines of a list of columns; none is divided."""
    lines = [""]
    for at, (name, kind) in enumerate(columns, 1):
        shown = "rate" if kind == RATE_TYPE else kind if kind.isalpha() else f"`{kind}`"
        text = f"**`{name}`**" if name in keys else f"`{name}`"
        text += f" {shown}" + ("," if at < len(columns) else "")
        if len(lines[-1]) + 1 + len(text) > _WIDTH:
            lines.append("")
        lines[-1] += f" {text}" if lines[-1] else text
    return lines


if __name__ == "__main__":
    if "--check" in sys.argv:
        raise SystemExit(0 if PAGE.read_text() == page() else f"{PAGE.name} is out of date")
    PAGE.write_text(page())
