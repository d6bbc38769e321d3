"""Tables in HTML for notebooks: what ``_repr_html_`` of the results returns.

Every cell is escaped, and control and direction characters are shown as escapes.
"""

from __future__ import annotations

from collections.abc import Iterable

#: The most rows that a table shows; it says how many it leaves out.
MAX_ROWS = 50


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


def _cell(value: object) -> str:
    """Return a value as escaped text."""
    from html import escape  # loaded in a notebook only

    text = "" if value is None else str(value)
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    return escape(shown)
