"""Texts and tables in HTML of results, for notebooks and interpreters.

Every cell is escaped, and control and direction characters are shown as escapes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

#: The most rows that a table shows; it says how many it leaves out.
MAX_ROWS = 50

#: The largest index that is shown as a tree, in subscriptions; of a larger one its size is shown.
MAX_TREE = 200


def table(title: str, headings: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table; None is an empty cell."""
    listed = [[_cell(cell) for cell in row] for row in rows]
    lines = [f"<table><caption>{_cell(title)}</caption>"]
    if names := "".join(f"<th>{_cell(name)}</th>" for name in headings):
        lines.append(f"<thead><tr>{names}</tr></thead>")
    lines.append("<tbody>")
    for row in listed[:MAX_ROWS]:
        cells = "".join(f'<td style="text-align:left">{cell}</td>' for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    lines.append("</tbody></table>")
    if len(listed) > MAX_ROWS:
        lines.append(f"<p>… and {len(listed) - MAX_ROWS:,} more</p>")
    return "".join(lines)


def fields(title: str, values: Iterable[tuple[str, object]]) -> str:
    """Return a table of two columns, with the names of the fields in the first."""
    return table(title, (), values)


def tree_html(trie: Any) -> str:
    """Return an index as a tree; a large one as its size."""
    if len(trie) > MAX_TREE:
        return fields(repr(trie), trie.stats()._asdict().items())
    return f"<pre>{chr(10).join(_cell(line) for line in str(trie).splitlines())}</pre>"


def matches_text(matches: Any) -> str:
    """Return the ``repr`` of the matches of a column: how many rows, and how many match."""
    offsets = matches.offsets
    found = sum(offsets[row] != offsets[row + 1] for row in range(len(matches)))
    rows, values = _number(len(matches), "row"), _number(len(matches.ids), "value")
    return f"<Matches of {rows}: {found} matched, {values}>"


def _number(count: int, of: str) -> str:
    return f"{count} {of}" + ("" if count == 1 else "s")


def matches_html(matches: Any) -> str:
    """Return the first rows of matches, with their values."""
    from reprlib import repr as shortened

    rows = ((row, shortened(matches[row])) for row in range(min(len(matches), MAX_ROWS)))
    return table(matches_text(matches), ("row", "values"), rows)


def batch_text(batch: Any) -> str:
    """Return the ``repr`` of decoded subjects."""
    return f"<Batch of {len(batch)} rows>"


def batch_html(batch: Any) -> str:
    """Return the first rows of decoded subjects, with a column for each part."""
    listed = [batch[row] for row in islice(range(len(batch)), MAX_ROWS)]
    headings = list(next((row for row in listed if row is not None), {}))
    rows = (["" if row is None else row[name] for name in headings] for row in listed)
    return table(batch_text(batch), headings, rows)


def _cell(value: object) -> str:
    """Return a value as escaped text."""
    from html import escape  # loaded in a notebook only

    text = "" if value is None else str(value)
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    return escape(shown)
