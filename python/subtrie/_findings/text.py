"""A finding as one line of text."""

from __future__ import annotations

from .._core.printable import printable
from .finding import Finding

_COLOURS = {"error": "red", "warning": "yellow", "note": "dim"}


def text_line(finding: Finding) -> list[tuple[str, str]]:
    """Return the parts of a line, each with its style.

    As ``FILE:LINE:COLUMN: LEVEL RULE: MESSAGE  example: WITNESS  ▁▃█ each bar 4 s``.
    """
    place = file_first(printable(finding.place))
    more = f"  example: {finding.witness}" if finding.witness else ""
    if finding.rate is not None and finding.rate.text:
        more += f"  {finding.rate.text}"
    return [
        (f"{place}: " if place else "", ""),
        (finding.level, _COLOURS[finding.level]),
        (f" {finding.rule}: {printable(finding.message)}", ""),
        (printable(more), "dim"),
    ]


def file_first(text: str) -> str:
    """Return a line that begins with the name of a file, so that it is not a runner's command.

    A line that begins with ``::`` is a command to the runner of a GitHub Action.
    """
    return f"./{text}" if text.lstrip().startswith("::") else text
