"""A report as Markdown, for a terminal, a pull request or a wiki."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._core.printable import code, escaped, printable
from .._findings.markdown import of_audit, table, when
from ._content import Column, Report, Section

#: Rows of each table: a reader of Markdown cannot sort or filter, so more are of no use.
_ROWS = 50
_CODE = ("subject",)


def to_markdown(report: Report) -> str:
    """Return a report as Markdown; text from the log is escaped."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from (f"# {escaped(report.title)}", "", f"**{escaped(report.verdict)}**", "")
    yield from _table(
        ("read", "value"),
        [
            (escaped(name), escaped(cell(value, "time" if name in ("first", "last") else "count")))
            for name, value in report.counts.items()
        ],
    )
    if report.findings:
        yield from ("## Findings", "")
        yield from (*of_audit(report.findings), "")
        if report.findings_left_out:
            yield from (f"{report.findings_left_out:,} more findings are not shown.", "")
        yield from ("To see the lines of the log:", "")
        yield from (f"    {each.command}" for each in report.findings)
        yield ""
    for diff in report.diffs:
        yield from (f"## Proposed rules of {escaped(diff.service)}", "")
        yield from (f"    {printable(line)}" for line in diff.lines)
        yield ""
    for section in report.sections:
        yield from _section(section)
    if report.empty:
        yield from (f"Without rows: {', '.join(map(escaped, report.empty))}.", "")
    run = report.run
    digest = run["input_digest"] or "-"
    yield f"Run {run['run']}, subtrie {escaped(run['version'])}, input {digest}."


def _section(section: Section) -> Iterator[str]:
    yield from (f"## {section.title}", "", section.lead, "")
    rows = [
        tuple(
            code(value) if column.kind in _CODE and isinstance(value, str) else escaped(text)
            for value, column, text in _cells(row, section.columns)
        )
        for row in section.rows[:_ROWS]
    ]
    yield from _table(tuple(each.name for each in section.columns), rows)
    if section.total > len(rows):
        yield from (f"{len(rows):,} of {section.total:,} rows.", "")


def _cells(row: list[Any], columns: tuple[Column, ...]) -> Iterator[tuple[Any, Column, str]]:
    for value, column in zip(row, columns, strict=True):
        yield value, column, cell(value, column.kind)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield from (*table([escaped(each) for each in head], rows), "")


def cell(value: Any, kind: str) -> str:
    """Return a value of a table as text."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if kind == "time":
        return when(str(value))
    if kind == "share":
        return f"{value:.1%}"
    if kind == "microseconds":
        return f"{value / 1000:,.2f} ms"
    if kind in ("count", "bytes"):
        return f"{value:,}"
    return str(value)
