"""Findings as a table of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .._core.printable import code, escaped
from .finding import Finding, counted

_HEADINGS = ("place", "level", "rule", "finding", "example")
#: The further columns of an audit, whose findings have no place in a file.
_AUDIT = ("level", "rule", "finding", "count", "example", "first", "last", "over time")


def markdown(findings: Sequence[Finding]) -> str:
    """Return a table of findings, and how many there are."""
    if not findings:
        return "No findings.\n"
    rows = (
        (code(each.place), each.level, each.rule, code(each.message), _code(each.witness))
        for each in findings
    )
    return "\n".join([*table(_HEADINGS, rows), "", summary(findings), ""])


def of_audit(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of a table of findings that are about messages, with counts and times."""
    rows = (
        (
            each.level,
            each.rule,
            escaped(_sentences(each.message, each.why, each.instead)),
            f"{each.count or 0:,}",
            _code(each.witness),
            when(each.first),
            when(each.last),
            (each.rate.text if each.rate else "") or "-",
        )
        for each in findings
    )
    return table(_AUDIT, rows)


def _sentences(*texts: str) -> str:
    """Return texts that are not empty, with one full stop after each but the last."""
    *others, last = filter(None, texts)
    return " ".join([*(f"{each.removesuffix('.')}." for each in others), last])


def summary(findings: Sequence[Finding]) -> str:
    """Return how many findings there are, in all and of each level."""
    return f"{len(findings)} finding{'s' * (len(findings) > 1)}: {counted(findings)}"


def when(time: str | None) -> str:
    """Return a time as a cell of a table."""
    return "-" if time is None else time.replace("T", " ").removesuffix("Z")


def code_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in which every text is inline code."""
    lines = [*table(headings, ([_code(text) for text in row] for row in rows))]
    return "\n".join([*lines, ""]) if len(lines) > 2 else "Nothing to report.\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table; its cells are Markdown."""
    yield f"| {' | '.join(headings)} |"
    yield "|" + "---|" * len(headings)
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _code(text: str | None) -> str:
    return code(text) if text else ""
