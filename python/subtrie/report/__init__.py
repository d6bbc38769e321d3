"""The report of an audit: one content, as an HTML page, as Markdown or as JSON.

``read_report(run)`` reads the directory that ``subtrie audit --out`` wrote, without Spark;
``to_html``, ``to_markdown`` and ``to_json`` are three views of it. The same run gives the same
bytes. Needs pyarrow, which the extra ``spark`` contains.
"""

from __future__ import annotations

import json

from .._core.public_names import publish
from .._findings.finding import Finding
from ._content import Report
from ._html import to_html
from ._markdown import to_markdown
from ._read import read_report


def to_json(report: Report) -> str:
    """Return a report as one JSON object, in ASCII."""
    return json.dumps(report.as_dict(), indent=1) + "\n"


__all__ = [
    "Finding",
    "Report",
    "read_report",
    "to_html",
    "to_json",
    "to_markdown",
]

publish(globals())
